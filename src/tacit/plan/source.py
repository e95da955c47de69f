"""The tables that an engine reads, and how rows find their unit."""

from dataclasses import dataclass

from tacit.core.catalog import Catalog
from tacit.core.dataset import Link, UnitColumn
from tacit.errors import InvalidValue
from tacit.plan.of_unit import OfUnit
from tacit.plan.relation import Filter, Join, PerUnit, Relation, Scan, per_unit_in
from tacit.plan.steps import Condition


@dataclass(frozen=True, slots=True)
class Beside:
    """Another table's rows, beside those whose ``left`` equals their ``right``."""

    dataset: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """A row for each unit, and each of its groups by ``keys``, NULL among them.

    Only rows of ``source`` that name a unit and meet ``condition`` count. The columns are the
    unit, the keys, and the values in steps, each under its name.
    """

    source: "Source"
    condition: Condition
    keys: tuple[str, ...]
    values: tuple[tuple[str, OfUnit], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A table, the tables beside it, and the column that names the unit of each joined row.

    Columns are called dataset.column throughout. Where rows were ``gathered`` these are read in
    place of the table, which lies below them.
    """

    dataset: str
    beside: tuple[Beside, ...]
    unit: str
    gathered: Gathered | None = None

    @property
    def datasets(self) -> tuple[str, ...]:
        """All tables, in order."""
        return (self.dataset, *(each.dataset for each in self.beside))


def source_of(relation: Relation, catalog: Catalog) -> Source:
    """The tables that ``relation`` names, and those on the way to the unit.

    Guarantee: every joined row belongs to one unit, and is a function of that unit's rows,
    where the links are what the owner declared. What is gathered is added by
    `tacit.plan.gather`.
    """
    below = per_unit_in(relation)
    if below is not None:
        _not_joined(relation)
        lowest = source_of(below.source, catalog)
        return Source(lowest.dataset, (), lowest.unit)
    first, joins = _joined(relation)
    named = {first, *(join.dataset for join in joins)}
    if len(named) != len(joins) + 1:
        raise InvalidValue("A question joins a dataset once.")
    if len({catalog.dataset(name).population for name in named}) > 1:
        raise InvalidValue("A question joins datasets of one population.")
    beside = tuple(_beside(join, catalog) for join in joins)
    child = first
    while True:
        way = catalog.dataset(child).unit
        if isinstance(way, UnitColumn):
            return Source(first, beside, f"{child}.{way.column}")
        parent = catalog.dataset(way.parent).unit
        if isinstance(parent, UnitColumn) and parent.column == way.parent_column:
            # the link holds the unit itself
            return Source(first, beside, f"{child}.{way.column}")
        if way.parent not in named:
            named.add(way.parent)
            beside = (*beside, _of_link(child, way))
        child = way.parent


def assumptions(source: Source, catalog: Catalog) -> tuple[str, ...]:
    """What the owner says and no engine keeps: that a link leads to one row."""
    found: list[str] = []
    if source.gathered is not None:
        found += assumptions(source.gathered.source, catalog)
    for each in source.beside:
        child, column = each.left.split(".", 1)
        way = catalog.dataset(child).unit
        if isinstance(way, Link) and (way.parent, way.column) == (each.dataset, column):
            if not way.unique_by_constraint:
                found.append(f"{each.right} is unique")
        else:
            found += _reverse(each, catalog)
    return tuple(found)


def _reverse(each: Beside, catalog: Catalog) -> list[str]:
    way = catalog.dataset(each.dataset).unit
    if isinstance(way, Link) and f"{each.dataset}.{way.column}" == each.right:
        return [] if way.unique_by_constraint else [f"{each.left} is unique"]
    return []


def _not_joined(relation: Relation) -> None:
    match relation:
        case Join(_, dataset, _, _):
            raise InvalidValue(
                f"{dataset!r} is joined to the rows of a query below that aggregates; join it "
                "inside that query, and add the columns that you need to its GROUP BY."
            )
        case Filter(source, _):
            _not_joined(source)


def _joined(relation: Relation) -> tuple[str, list[Join]]:
    match relation:
        case Scan(dataset):
            return dataset, []
        case Filter(source, _) | PerUnit(source, _, _):
            return _joined(source)
        case Join(source, _, _, _):
            first, joins = _joined(source)
            return first, [*joins, relation]


def _beside(join: Join, catalog: Catalog) -> Beside:
    """A join that follows a link, in either direction, or equates the unit; no other."""
    child, column = join.left.split(".", 1)
    for one, one_column, other, other_column in (
        (child, column, join.dataset, join.right),
        (join.dataset, join.right, child, column),
    ):
        way = catalog.dataset(one).unit
        if isinstance(way, Link) and (way.column, way.parent, way.parent_column) == (
            one_column,
            other,
            other_column,
        ):
            return Beside(join.dataset, join.left, f"{join.dataset}.{join.right}")
    left, right = catalog.dataset(child).unit, catalog.dataset(join.dataset).unit
    if left == UnitColumn(column) and right == UnitColumn(join.right):
        return Beside(join.dataset, join.left, f"{join.dataset}.{join.right}")
    raise InvalidValue(
        f"{join.left} = {join.dataset}.{join.right} is no declared link, and does not equate "
        "the unit; join along the links that the owner declared."
    )


def _of_link(child: str, way: Link) -> Beside:
    return Beside(way.parent, f"{child}.{way.column}", f"{way.parent}.{way.parent_column}")
