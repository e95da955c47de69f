"""Where rows come from. Every relation below the top carries the unit of its rows."""

from dataclasses import dataclass

from tacit.core.catalog import RESERVED
from tacit.plan.aggregate import Aggregate
from tacit.plan.expression import Expression

BELOW = RESERVED
"""Where values of units are found: above `PerUnit`, one is called below.name."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a dataset."""

    dataset: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a condition holds."""

    source: "Relation"
    condition: Expression


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of ``source``, each beside those of ``dataset`` that belong to it.

    ``left`` is a column of ``source``, as dataset.column, and ``right`` one of ``dataset``.
    They are the two ends of a declared link, or both name the unit: a row belongs to one unit
    before and after.
    """

    source: "Relation"
    dataset: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class JoinPublic:
    """Rows of ``source``, each beside those of a public table whose ``right`` is its ``left``.

    ``left`` is a column of ``source``, as dataset.column. A row that has none beside it is
    dropped, or stays beside NULLs where the join is ``outer``.
    """

    source: "Relation"
    table: str
    left: str
    right: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class UnitValue:
    """An aggregate of one unit's own rows, under the name of its column."""

    name: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class PerUnit:
    """A row for each unit, and for each group of its rows by ``keys``: aggregates of these.

    ``keys`` are columns of ``source``, as dataset.column; the unit is one without being named.
    Above it there are the unit and the keys under their own names, and the values.
    """

    source: "Relation"
    keys: tuple[str, ...]
    values: tuple[UnitValue, ...]


Relation = Scan | Filter | Join | JoinPublic | PerUnit


def datasets(relation: Relation) -> tuple[str, ...]:
    """The names of the datasets and public tables that ``relation`` reads, in order.

    Example:
        >>> datasets(Filter(Join(Scan("visits"), "patients", "visits.patient", "id"), True))
        ('visits', 'patients')
    """
    match relation:
        case Scan(dataset):
            return (dataset,)
        case Filter(source, _) | PerUnit(source, _, _):
            return datasets(source)
        case Join(source, dataset, _, _) | JoinPublic(source, dataset, _, _, _):
            return (*datasets(source), dataset)


def per_unit_in(relation: Relation) -> PerUnit | None:
    """The rows of units that ``relation`` filters or joins; None where it reads datasets."""
    match relation:
        case Scan():
            return None
        case Filter(source, _) | Join(source, _, _, _) | JoinPublic(source, _, _, _, _):
            return per_unit_in(source)
        case PerUnit():
            return relation


def filters(relation: Relation) -> list[Expression]:
    """The conditions on the rows of ``relation``, from the bottom up; not those of units."""
    match relation:
        case Scan() | PerUnit():
            return []
        case Filter(source, wanted):
            return [*filters(source), wanted]
        case Join(source, _, _, _) | JoinPublic(source, _, _, _, _):
            return filters(source)
