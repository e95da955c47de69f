"""A setup as its pages show it: steps, the person of each table, limits in words, columns.

The input is the draft of ``GET /v1/setup/draft``, and what a visitor has typed into a form that
was refused, which is shown again. The output is what templates show.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.server.console.catalogue_words import limits_in_words
from tacit.server.console.link_drawing import LinkDrawing, link_drawings

Json = Mapping[str, Any]

STEPS = (
    ("database", "Database"),
    ("people", "People"),
    ("limits", "Limits"),
    ("columns", "Columns"),
    ("budget", "Budget"),
    ("apply", "Apply"),
)
"""The steps in their order: the name in an address, and the one that people read."""

ADVISED = "bounds"
"""The step of the API's advice about columns."""

PERSON = "person"
"""The value of a field for a column that names the person, and leads to no other table."""

UNIT = "person"
MOST_TABLES = 8
"""The most tables on a page; others are found by their names."""

MOST_COLUMNS = 100
"""The most columns of a table on a page, because a form has at most 1,000 fields."""

MOST_PARENTS = 500
"""The most columns to which a link can lead in a form; else those of protected tables."""


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step in the row of steps: its place, and whether it is done."""

    at: str
    name: str
    path: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An entry of a list from which one is chosen."""

    value: str
    text: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class PersonFields:
    """The fields that say which person each row of a table belongs to."""

    name: str
    about: str
    columns: tuple[ListEntry, ...]
    means: tuple[ListEntry, ...]


@dataclass(frozen=True, slots=True)
class LimitFields:
    """The fields of the limits of a table, and what they say in words."""

    name: str
    words: tuple[str, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ColumnFields:
    """The fields of the bounds or the keys of a column, and of where they are known from."""

    name: str
    kind: str
    takes: str
    texts: Mapping[str, str]


def path_of_step(at: str) -> str:
    """Return the path of the page of a step.

    Example:
        >>> path_of_step("database"), path_of_step("limits")
        ('/connect', '/connect/limits')
    """
    return "/connect" if at == STEPS[0][0] else f"/connect/{at}"


def neighbours_of(at: str) -> tuple[str, str]:
    """Return the paths of the steps before and after a step, which are empty at an end.

    Example:
        >>> neighbours_of("people"), neighbours_of("apply")[1]
        (('/connect', '/connect/limits'), '')
    """
    names = [name for name, _ in STEPS]
    place = names.index(at)
    before = path_of_step(names[place - 1]) if place else ""
    after = path_of_step(names[place + 1]) if place + 1 < len(names) else ""
    return before, after


def steps_of(draft: Json | None) -> list[StepShown]:
    """Return the steps, and which of them are done."""
    missing = (
        {"people", "budget"} if draft is None else {each["step"] for each in draft["missing"]}
    )
    has_people = "people" not in missing
    done = {
        "database": draft is not None,
        "people": has_people,
        "limits": has_people,
        "columns": has_people and draft is not None and not draft["advice"],
        "budget": "budget" not in missing,
        "apply": False,
    }
    return [StepShown(at, name, path_of_step(at), done[at]) for at, name in STEPS]


def protected_tables(draft: Json) -> list[Json]:
    """Return the tables that have a person."""
    return [each for each in draft["tables"] if each["declared"] is not None]


def find_tables(tables: Sequence[Json], wanted: str) -> tuple[list[Json], list[str]]:
    """Return the tables of a page, whose names have ``wanted``, and the names of the others."""
    found = [each for each in tables if wanted.casefold() in each["name"].casefold()]
    return found[:MOST_TABLES], [each["name"] for each in found[MOST_TABLES:]]


# ------------------------------------------------------------------ people


def drawing_of(draft: Json) -> LinkDrawing | None:
    """Return the drawing of the protected tables and their links; None if there is none."""
    tables = [
        {
            "name": each["name"],
            "population": draft["population"],
            "max_groups": each["declared"]["max_groups"],
            "max_rows": each["declared"]["max_rows"],
            **_way_of(each["declared"]),
        }
        for each in protected_tables(draft)
    ]
    people = [{"name": draft["population"], "unit": UNIT}]
    return link_drawings({"populations": people, "datasets": tables})[0] if tables else None


def _way_of(declared: Json) -> Json:
    """Return how a row leads to its person, as the catalogue has it."""
    if "unit" in declared:
        return {"unit": {"column": declared["unit"]}}
    return {"link": declared["link"]}


def link_value(table: str, column: str) -> str:
    """Return the value of a choice that leads to a row of another table.

    Example:
        >>> link_value("a.b", "id")
        '["a.b", "id"]'
    """
    return json.dumps([table, column], ensure_ascii=False)


def person_fields(draft: Json, tables: Sequence[Json], typed: Json) -> list[PersonFields]:
    """Return the fields of the tables of a page."""
    parents = _parents(draft, tables)
    return [_person_field(each, parents, fields_of(typed, "table", each)) for each in tables]


def fields_of(typed: Json, kind: str, thing: Json) -> dict[str, str]:
    """Return the fields that were typed about a table or a column, without their number.

    Example:
        >>> fields_of(
        ...     {"table-2": "stays", "rows-2": "5", "rows-1": "7"}, "table", {"name": "stays"}
        ... )
        {'table': 'stays', 'rows': '5'}
    """
    name = thing["name"]
    found = [
        each for each, text in typed.items() if each.startswith(f"{kind}-") and text == name
    ]
    if not found:
        return {}
    ending = found[0].removeprefix(kind)
    return {
        each.removesuffix(ending): text for each, text in typed.items() if each.endswith(ending)
    }


def _parents(draft: Json, tables: Sequence[Json]) -> list[tuple[str, str]]:
    """Return the columns to which a link may lead: of this page, or of protected tables."""
    named = {each["name"] for each in tables}
    protected = protected_tables(draft)
    here = [each for each in draft["tables"] if each in protected or each["name"] in named]
    every, fewer = (
        [(each["name"], column["name"]) for each in some for column in each["columns"]]
        for some in (here, protected)
    )
    return every if len(every) <= MOST_PARENTS else fewer[:MOST_PARENTS]


def _person_field(table: Json, parents: Sequence[tuple[str, str]], typed: Json) -> PersonFields:
    column, means = way_in_fields(table["declared"])
    column, means = typed.get("column", column), typed.get("means", means)
    names = [each["name"] for each in table["columns"]]
    links = [(link_value(*each), each) for each in parents if each[0] != table["name"]]
    return PersonFields(
        table["name"],
        ", ".join(names[:MOST_COLUMNS]),
        (
            ListEntry("", "no column: leave this table out", not column),
            *(ListEntry(each, each, each == column) for each in names),
        ),
        (
            ListEntry(PERSON, "the person", means == PERSON),
            *(
                ListEntry(value, f"a row of {parent}, by its {by}", value == means)
                for value, (parent, by) in links
            ),
        ),
    )


def way_in_fields(declared: Json | None) -> tuple[str, str]:
    """Return what the fields of a table have at first: its column, and what this one says.

    Example:
        >>> way_in_fields(None), way_in_fields({"unit": "id"})
        (('', 'person'), ('id', 'person'))
    """
    if declared is None:
        return "", PERSON
    if "unit" in declared:
        return declared["unit"], PERSON
    link = declared["link"]
    return link["column"], link_value(link["parent"], link["parent_column"])


# ------------------------------------------------------------------ limits


LIMITS = ("max_groups", "max_rows", "most_rows", "most_rows_source", "min_people")
"""The fields of the limits of a table, as the API names them."""


def limit_texts(declared: Json) -> dict[str, str]:
    """Return the limits of a table as texts of fields."""
    most = declared.get("most_rows") or {}
    found = {**declared, "most_rows": most.get("rows"), "most_rows_source": most.get("source")}
    return {name: "" if found.get(name) is None else str(found[name]) for name in LIMITS}


def limit_fields(tables: Sequence[Json], typed: Json) -> Iterator[LimitFields]:
    """Yield the fields of the limits of each table, and what is declared now, in words."""
    for each in tables:
        declared = each["declared"]
        known = {"max_rows_in_all": None, **declared, "name": each["name"]}
        known["columns"] = [
            {"name": column["name"], "kind": column["kind"], "keys": column["keys"]}
            for column in each["columns"]
            if "keys" in column
        ]
        given = fields_of(typed, "table", each)
        texts = {name: given.get(name, text) for name, text in limit_texts(declared).items()}
        rows = declared["max_groups"] * declared["max_rows"]
        count = (
            f"1 row of {each['name']} counts"
            if rows == 1
            else f"{rows:,} rows of {each['name']} count"
        )
        words = (f"At most {count} for one {UNIT}.", *limits_in_words(known, UNIT))
        yield LimitFields(each["name"], words, texts)


# ------------------------------------------------------------------ columns


def open_columns(table: Json) -> int:
    """Return how many columns of a table have no bounds or keys, and could have them."""
    return sum(
        each["takes"] is not None and not {"bounds", "keys"} & each.keys()
        for each in table["columns"]
    )


def column_texts(column: Json) -> dict[str, str]:
    """Return what is declared about a column as texts of fields: keys are a line each."""
    low, high = column.get("bounds", ("", ""))
    keys = "\n".join(str(each) for each in column.get("keys", ()))
    return {"low": low, "high": high, "keys": keys, "from": column.get("provenance", "")}


def column_fields(table: Json, typed: Json) -> list[ColumnFields]:
    """Return the fields of the columns that can have bounds or keys."""
    found = [each for each in table["columns"] if each["takes"] is not None][:MOST_COLUMNS]
    return [
        ColumnFields(
            each["name"],
            each["kind"],
            each["takes"],
            column_texts(each) | fields_of(typed, "column", each),
        )
        for each in found
    ]
