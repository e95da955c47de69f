"""Changes of declarations in the text of a project file: people, limits, domains and budgets.

`tacit protect`, `domain` and `budget` make these changes, and so does the first setup over
HTTP. Each function returns a new text, and leaves other declarations and comments as they are.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from tacit.core import RowsProfile
from tacit.errors import InvalidValue, UnknownName
from tacit.project.document import ProjectText

OLD_DOMAIN = frozenset({"bounds", "keys", "complete", "total_profile"})
"""The facts that a new domain of a column replaces, because totals were measured with it."""


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules that an owner gives the rows of a dataset; None and False change nothing.

    ``link`` is a foreign key that leads to the person, as the project file has it.
    """

    unit: str | None = None
    link: Mapping[str, Any] | None = None
    max_groups: int | None = None
    max_rows: int | None = None
    max_rows_in_all: int | None = None
    max_length: str | None = None
    most_rows: int | None = None
    most_rows_source: str | None = None
    min_people: int | None = None
    row_key: str | None = None
    one_row: bool = False
    in_place: bool = False


def protect_dataset(source: ProjectText, dataset: str, rules: RowRules) -> ProjectText:
    """Return the text in which the rows of ``dataset`` have these rules.

    Raise `InvalidValue` or `UnknownName` if a rule is missing, contradicts another, or names a
    column that the dataset does not have.
    """
    check_known(source, "datasets", dataset)
    place = ("datasets", dataset)
    before = source.root().value["datasets"][dataset]
    _check_person(dataset, before, rules)
    linked = (rules.link or {}).get("column")
    named = {"--unit": rules.unit, "--link": linked, "--row-key": rules.row_key}
    _check_columns(dataset, before, named)
    for name, number in (("max_groups", rules.max_groups), ("max_rows", rules.max_rows)):
        if number is None and name not in before:
            raise InvalidValue(
                f"{dataset!r} has no {name} yet. Add --{name.replace('_', '-')}, for example "
                f"`tacit protect {dataset} --max-groups 1 --max-rows 10`."
            )
    if rules.unit is not None:
        source = source.without((*place, "link")).with_value((*place, "unit"), rules.unit)
    elif rules.link is not None:
        source = source.without((*place, "unit"))
        source = source.with_value((*place, "link"), dict(rules.link))
    more = {
        "max_groups": rules.max_groups,
        "max_rows": rules.max_rows,
        "max_rows_in_all": rules.max_rows_in_all,
        "max_length": rules.max_length,
        "min_people": rules.min_people,
        "row_key": rules.row_key,
        "one_row": rules.one_row or None,
        "in_place": rules.in_place or None,
    }
    for name, value in more.items():
        source = source if value is None else source.with_value((*place, name), value)
    if (rules.most_rows is None) != (rules.most_rows_source is None):
        raise InvalidValue(
            "Give both or neither of --most-rows and --most-rows-source, the public fact from "
            "which the number is known."
        )
    if rules.most_rows is not None:
        known = {"rows": rules.most_rows, "source": rules.most_rows_source}
        source = source.with_value((*place, "most_rows"), known)
    return source


def _check_person(dataset: str, before: Mapping[str, Any], rules: RowRules) -> None:
    """Refuse two ways from a row to its person, and none, if the file has none either."""
    if rules.unit is not None and rules.link is not None:
        raise InvalidValue("Declare the person of a row by either --unit or --link, not both.")
    if rules.unit is None and rules.link is None and not {"unit", "link"} & before.keys():
        raise InvalidValue(
            f"{dataset!r} does not say yet which person a row belongs to. Add --unit with the "
            "column that identifies the person, or --link COLUMN=TABLE.COLUMN."
        )


def _check_columns(
    dataset: str, before: Mapping[str, Any], named: Mapping[str, str | None]
) -> None:
    """Refuse an option that names a column that the dataset does not declare."""
    columns = before.get("columns", {})
    for option, name in named.items():
        if name is not None and name not in columns:
            raise UnknownName(
                f"{dataset!r} has no column {name!r}, which {option} names; it has "
                f"{', '.join(columns)}."
            )


def check_known(source: ProjectText, section: str, name: str) -> None:
    """Raise `UnknownName` if ``section`` of the file does not have ``name``."""
    known = source.root().value.get(section, {})
    if name not in known:
        raise UnknownName(f"There is no {name!r} in {section}; there are: {', '.join(known)}.")


def column_facts(source: ProjectText, dataset: str, column: str) -> dict[str, Any]:
    """Return what the file declares about a column; its kind is always among it."""
    check_known(source, "datasets", dataset)
    columns = source.root().value["datasets"][dataset].get("columns", {})
    if column not in columns:
        raise UnknownName(f"{dataset!r} has no column {column!r}; it has {', '.join(columns)}.")
    found = columns[column]
    return found if isinstance(found, dict) else {"kind": found}


def declare_domain(  # noqa: PLR0913, PLR0917 - a column, and what is known about it
    source: ProjectText,
    dataset: str,
    column: str,
    found: Mapping[str, Any],
    provenance: str,
    max_total: str | None = None,
) -> ProjectText:
    """Return the text in which a column has bounds or keys, and where they are known from.

    ``found`` has ``bounds`` or ``keys``, which replace those that the column had.
    """
    facts = column_facts(source, dataset, column)
    facts = {key: value for key, value in facts.items() if key not in OLD_DOMAIN}
    facts |= dict(found) | {"provenance": provenance}
    facts |= {} if max_total is None else {"max_total": max_total}
    return source.with_value(("datasets", dataset, "columns", column), facts)


def limit_rows(source: ProjectText, dataset: str, profile: RowsProfile) -> ProjectText:
    """Return the text in which the limit of rows of ``dataset`` is that of ``profile``.

    Rows within this limit are never too long a vector, and groups then have less noise.
    """
    check_known(source, "datasets", dataset)
    place = ("datasets", dataset)
    for name in ("max_rows", "max_length"):
        source = source.with_value((*place, name), profile.rows)
    return source.with_value((*place, "profile"), asdict(profile))


def set_budget(
    source: ProjectText, population: str, epsilon: str, delta: str | None
) -> ProjectText:
    """Return the text in which the budget of ``population`` is this epsilon and delta."""
    check_known(source, "populations", population)
    new: dict[str, Any] = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    before = source.root().part("populations").part(population).value.get("budget")
    if isinstance(before, dict) and "least" in before:
        new["least"] = before["least"]  # keep the least price, which is a share of the budget
    return source.with_value(("populations", population, "budget"), new)


def parse_known(text: str, *, whole: bool) -> dict[str, Any]:
    """Return the bounds or the keys that an owner wrote, such as ``0..100`` or ``a,b,c``.

    The keys of a column of ``whole`` numbers are numbers.

    Example:
        >>> parse_known("0..100", whole=True), parse_known("a,b", whole=False)
        ({'bounds': ['0', '100']}, {'keys': ['a', 'b']})
    """
    low, dots, high = text.partition("..")
    if dots:
        return {"bounds": [_end(low), _end(high)]}
    keys = text.split(",")
    return {"keys": [int(key) for key in keys] if whole else keys}


def _end(text: str) -> Any:
    """Return ``text`` as a date if it is one, and otherwise unchanged, as a number's text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text
