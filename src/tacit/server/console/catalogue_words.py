"""The catalogue in words: what is declared about each column, and what the limits leave out.

The input is the JSON of ``GET /v1/datasets``, and the output is what a template shows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

Json = Mapping[str, Any]

DAYS = {"date", "timestamp"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

MOST_KEYS = 8
"""The keys of a column that are shown at once; a disclosure shows the others."""

MOST_KEYS_IN_ALL = 500

SOURCES = {
    "public": ("good", "Known outside the tables, so it tells nothing about anyone."),
    "policy": ("accent", "A rule the owner set without looking at the data."),
    "estimated": ("accent", "Measured with noise from the data, and paid for."),
    "link only": ("", "It links tables or names the person. No value of it is ever released."),
    "not declared": (
        "warn",
        "Nobody declared its values. Groups by it need a delta and leave out rare values.",
    ),
    "any value": ("", "True and false are known for every column of truths."),
}
"""The sources of what is known about a column: the look of the badge, and its explanation."""


@dataclass(frozen=True, slots=True)
class ColumnShown:
    """A row of the table of columns."""

    name: str
    kind: str
    declared: str
    more_keys: tuple[str, ...]
    source: str
    look: str
    explained: str


@dataclass(frozen=True, slots=True)
class TableShown:
    """A table of the catalogue, with its limits in words."""

    name: str
    about: str
    columns: tuple[ColumnShown, ...]
    limits: tuple[str, ...]
    is_public: bool


def day_in_words(text: str, *, with_year: bool = True) -> str:
    """Return a day for people, or the text itself if it is not a day.

    Example:
        >>> day_in_words("2026-01-31"), day_in_words("2026-01-31", with_year=False)
        ('31 Jan 2026', '31 Jan')
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {MONTHS[day.month - 1]}" + (f" {day.year}" if with_year else "")


def figure(text: str) -> str:
    """Return a number, which is given as text, with its thousands separated.

    Example:
        >>> figure("-1234567.50"), figure("1/3"), figure("12")
        ('-1,234,567.50', '1/3', '12')
    """
    if not re.fullmatch(r"-?\d+(\.\d+)?", text):
        return text
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if whole != "-0" else text


def plural(noun: str) -> str:
    """Return the plural of an English noun, as "such as 3 wards" needs it.

    Example:
        >>> plural("ward"), plural("city"), plural("class"), plural("day"), plural("person")
        ('wards', 'cities', 'classes', 'days', 'people')
    """
    if noun == "person":
        return "people"
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search("(s|x|z|ch|sh)$", noun) else f"{noun}s"


def a(noun: str) -> str:
    """Return a noun with its article, as a sentence begins.

    Example:
        >>> a("person"), a("employee")
        ('A person', 'An employee')
    """
    return f"An {noun}" if noun[:1].lower() in {*"aeio"} else f"A {noun}"


def is_noun(name: str) -> bool:
    """Return whether the name of a column can stand in a sentence as a noun."""
    return re.fullmatch("[a-z][a-z_]{1,29}", name) is not None


def tables_in_words(catalog: Json) -> tuple[TableShown, ...]:
    """Return the tables of the catalogue ``catalog``: private ones first, in their order."""
    units = {each["name"]: each["unit"] for each in catalog["populations"]}
    links = _linking_columns(catalog)
    private = (
        TableShown(
            each["name"],
            _about(each, units[each["population"]]),
            tuple(_column(column, each, links) for column in each["columns"]),
            tuple(limits_in_words(each, units[each["population"]])),
            is_public=False,
        )
        for each in catalog["datasets"]
    )
    public = (
        TableShown(
            each["name"],
            "A public table: its rows say nothing about anyone, and cost nothing.",
            tuple(_column(column, each, links) for column in each["columns"]),
            tuple(_public_limits(each)),
            is_public=True,
        )
        for each in catalog["public"]
    )
    return (*private, *public)


def _linking_columns(catalog: Json) -> set[tuple[str, str]]:
    """Return the columns, by table and name, that link tables or name the person."""
    found: set[tuple[str, str]] = set()
    for each in catalog["datasets"]:
        if "unit" in each:
            found.add((each["name"], each["unit"]["column"]))
        else:
            link = each["link"]
            found |= {(each["name"], link["column"]), (link["parent"], link["parent_column"])}
    return found


def _about(table: Json, unit: str) -> str:
    if "unit" in table:
        column = table["unit"]["column"]
        return f"About each {unit} of {table['population']}, whom the column {column} names."
    link = table["link"]
    return f"About each {unit} of {table['population']}, through the table {link['parent']}."


# ------------------------------------------------------------------ columns


def _column(column: Json, table: Json, links: set[tuple[str, str]]) -> ColumnShown:
    source = _source(column, is_link=(table["name"], column["name"]) in links)
    declared, more = _declaration_of(column, table, source)
    look, explained = SOURCES.get(source, ("", ""))
    kind = column["kind"]
    if "step" in column:
        kind = f"{kind}, steps of {figure(column['step'])}"
    if "zone" in column:
        kind = f"{kind}, local time of {column['zone']}"
    return ColumnShown(column["name"], kind, declared, more, source, look, explained)


def _source(column: Json, *, is_link: bool) -> str:
    if "keys" in column:
        return str(column["keys_are"])
    if "bounds" in column:
        return str(column["bounds"][2])
    if is_link:
        return "link only"
    return "any value" if column["kind"] == "boolean" else "not declared"


def _declaration_of(column: Json, table: Json, source: str) -> tuple[str, tuple[str, ...]]:
    """Return what is declared about a column, and the keys for which there is no room."""
    found = list(_role_of(column["name"], table))
    more: tuple[str, ...] = ()
    if "bounds" in column:
        found.append(range_in_words(column))
    if "keys" in column:
        keys = [str(each) for each in column["keys"]]
        found.append(", ".join(keys[:MOST_KEYS]))
        more = tuple(keys[MOST_KEYS:MOST_KEYS_IN_ALL])
        if column.get("keys_complete"):
            found.append("no other value occurs")
    if not found and source == "link only":
        found.append("other tables link to it")
    elif not found:
        unknown = "values unknown" if column["kind"] in {"text", *DAYS} else "no bounds"
        found.append("true or false" if column["kind"] == "boolean" else unknown)
    return "; ".join(found), more


def _role_of(name: str, table: Json) -> Iterator[str]:
    if table.get("unit", {}).get("column") == name:
        yield "names the person"
    link = table.get("link")
    if link is not None and link["column"] == name:
        yield f"→ {link['parent']}.{link['parent_column']}"
    if table.get("row_key") == name:
        yield "tells rows apart"
    if name in table.get("lookup", ()):
        yield "joins this table"


def range_in_words(column: Json) -> str:
    """Return the bounds of a column; those of days are shown as days.

    Example:
        >>> range_in_words({"kind": "date", "bounds": ["2026-01-01", "2026-12-31", "public"]})
        '1 Jan to 31 Dec 2026'
        >>> range_in_words({"kind": "integer", "bounds": ["0", "250000", "policy"]})
        '0 to 250,000'
        >>> range_in_words({"kind": "integer", "bounds": ["1900", "2026", "public"]})
        '1900 to 2026'
    """
    lower, upper, _ = column["bounds"]
    if column["kind"] in DAYS:
        first = day_in_words(lower, with_year=lower[:4] != upper[:4])
        return f"{first} to {day_in_words(upper)}"
    return f"{_bound(lower, column)} to {_bound(upper, column)}"


def _bound(text: str, column: Json) -> str:
    """Return an end of bounds; a column of years has no thousands to separate."""
    ends = column["bounds"][:2]
    years = column["kind"] == "integer" and all(re.fullmatch("1[5-9]..|20..", e) for e in ends)
    return text if years else figure(text)


# ------------------------------------------------------------------ limits


def limits_in_words(table: Json, unit: str) -> Iterator[str]:
    """Yield sentences about what of a person counts, and what is known beyond it.

    Example:
        >>> told = {"name": "visits", "max_groups": 3, "max_rows": 5, "max_rows_in_all": None}
        >>> told["columns"] = [{"name": "ward", "kind": "text", "keys": ["a", "b"]}]
        >>> for sentence in limits_in_words(told, "person"):
        ...     print(sentence)
        A person counts in at most 3 groups of an answer, such as 3 wards.
        In each group, at most 5 of their rows count.
    """
    yield from _limit_sentences(table, unit)
    yield from _clamps(table["columns"])
    yield from _fact_sentences(table, unit)


def _limit_sentences(table: Json, unit: str) -> Iterator[str]:
    groups, rows = table["max_groups"], table["max_rows"]
    if groups == rows == 1:
        yield f"{a(unit)} counts once in an answer."
    else:
        some = "1 group" if groups == 1 else f"{groups:,} groups"
        yield f"{a(unit)} counts in at most {some} of an answer{_such_as(table, groups)}."
        count = "row counts" if rows == 1 else "rows count"
        yield f"In each group, at most {rows:,} of their {count}."
    in_all, length = table["max_rows_in_all"], table.get("max_length")
    if in_all is not None:
        yield f"Of all of their rows, at most {in_all:,} are read."
    if length is not None:
        yield (
            "The squares of their numbers of rows in groups add up to at most the square of "
            f"{figure(length)}."
        )


def _such_as(table: Json, groups: int) -> str:
    """Return an example of groups, if a column has keys and a name that is a plain noun."""
    names = [each["name"] for each in table["columns"] if "keys" in each]
    noun = next((each for each in names if is_noun(each)), None)
    if noun is None:
        return ""
    shown = noun.replace("_", " ")
    return f", such as 1 {shown}" if groups == 1 else f", such as {groups:,} {plural(shown)}"


def _clamps(columns: Sequence[Json]) -> Iterator[str]:
    """Yield what values count beyond bounds that a person's value may exceed."""
    for each in columns:
        name = each["name"]
        if "bounds" in each and each["bounds"][2] != "public":
            yield _clamp(each)
        if "max_total" in each:
            total = figure(each["max_total"])
            yield f"In a sum of {name}, at most {total} of one person counts in a group."
        if (profile := each.get("total_profile")) is not None:
            yield (
                f"Measured with noise: at most {_people_have(profile['people'])} a total of "
                f"{name} above {figure(profile['amount'])}."
            )


def _people_have(count: int) -> str:
    return "1 person has" if count == 1 else f"{count:,} people have"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _clamp(column: Json) -> str:
    name, (lower, upper, _) = column["name"], column["bounds"]
    noun = name.replace("_", " ") if is_noun(name) else f"value of {name}"
    if column["kind"] in DAYS:
        first, last = day_in_words(lower), day_in_words(upper)
        return f"{a(noun)} after {last} counts as {last}, and one before {first} as {first}."
    low, high = _bound(lower, column), _bound(upper, column)
    return f"{a(noun)} above {high} counts as {high}, and one below {low} as {low}."


def _fact_sentences(table: Json, unit: str) -> Iterator[str]:
    """Yield what is known about the rows that limits leave out."""
    if (least := table.get("min_people")) is not None:
        yield f"A group that may have fewer than {least:,} people is left empty."
    if (most := table.get("most_rows")) is not None:
        yield f"No {unit} has more than {_rows(most['rows'])}: {most['source']}."
    if (profile := table.get("profile")) is not None:
        yield (
            f"Measured with noise: at most {_people_have(profile['people'])} more than "
            f"{_rows(profile['rows'])}."
        )
    if (tail := table.get("tail")) is not None:
        yield (
            f"Assumed: beyond {_rows(tail['beyond'])}, people have at most {tail['rows']} more "
            f"on average ({tail['source']})."
        )


def _public_limits(table: Json) -> Iterator[str]:
    if not (columns := table.get("lookup")):
        yield "It can be asked alone. No column joins it to other tables."
        return
    rows = _rows(table["fan_out"])
    yield f"It can be joined by {', '.join(columns)}; each value has at most {rows}."
