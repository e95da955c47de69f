"""A part of the units: which fold a unit is in is a function of its own name and a salt."""

from dataclasses import dataclass

from tacit.core import MOST_FAN_OUT, Catalog, Kind, Link, PublicTable, UnitColumn
from tacit.errors import InvalidValue
from tacit.plan.plan import Filter, Join, JoinPublic, PerUnit, Relation, Scan, per_unit_in
from tacit.plan.steps import Condition, Steps


@dataclass(frozen=True, slots=True)
class Fold:
    """The units of one of ``folds`` parts, counted from 0 on, or those ``outside`` of it.

    Guarantee: a unit is in one fold, with all its rows, whoever else is in the table: with it,
    nothing changes inside of other folds, nor outside of its own.

    Example:
        >>> Fold(4, 5).others
        Fold(number=4, folds=5, outside=True)
    """

    number: int
    folds: int
    outside: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.folds or self.folds < 2:  # noqa: PLR2004 - parts
            raise InvalidValue(
                f"There are 2 folds or more, counted from 0 on, and fold {self.number} of "
                f"{self.folds} was given."
            )

    @property
    def others(self) -> "Fold":
        """All units that are not in it."""
        return Fold(self.number, self.folds, not self.outside)


# ------------------------------------------------------------------ of unit
# What engines compute of one unit's own rows: a number in steps, in a range known beforehand.
#
# NULL counts for nothing; a sum, a mean, a least or greatest of nothing is NULL. Sums are of
# numbers below 62 bits, so that 128 bits hold them however many rows a unit has.


@dataclass(frozen=True, slots=True)
class CountOf:
    """The rows where a condition holds, clamped to ``low`` and ``high``."""

    condition: Condition
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum of steps, clamped to ``low`` and ``high``."""

    steps: Steps
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LeastOf:
    """The least number of steps."""

    steps: Steps


@dataclass(frozen=True, slots=True)
class GreatestOf:
    """The greatest number of steps."""

    steps: Steps


@dataclass(frozen=True, slots=True)
class MeanOf:
    """The mean of steps, never below 0, in ``finer`` parts of a step; a half goes up.

    It is counted from ``start`` parts on.
    """

    steps: Steps
    finer: int
    start: int


OfUnit = CountOf | SumOf | LeastOf | GreatestOf | MeanOf


# ------------------------------------------------------------------ source
# The tables that an engine reads, and how rows find their unit.


@dataclass(frozen=True, slots=True)
class Beside:
    """Another table's rows, beside those whose ``left`` equals their ``right``.

    Rows without any stay, beside NULLs, where the join is ``outer``.
    """

    dataset: str
    left: str
    right: str
    outer: bool = False


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
        below = (self.dataset,) if self.gathered is None else self.gathered.source.datasets
        return (*below, *(each.dataset for each in self.beside))


def source_of(relation: Relation, catalog: Catalog) -> Source:
    """The tables that ``relation`` names, and those on the way to the unit.

    Guarantee: every joined row belongs to one unit, and is a function of that unit's rows,
    where the links are what the owner declared. What is gathered is added by
    `tacit.plan.bounding`.
    """
    below = per_unit_in(relation)
    if below is not None:
        lowest = source_of(below.source, catalog)
        public = tuple(_beside_units(join, catalog) for join in _joined(relation)[1])
        return Source(lowest.dataset, public, lowest.unit)
    first, joins = _joined(relation)
    beside = tuple(_beside(join, catalog) for join in joins)
    _in_order(first, beside)
    named = {first, *(each.dataset for each in beside)}
    if len(named) != len(joins) + 1:
        raise InvalidValue("A question joins a table once.")
    private = [name for name in named if not catalog.is_public(name)]
    if len({catalog.dataset(name).population for name in private}) > 1:
        raise InvalidValue("A question joins datasets of one population.")
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


def one_row(source: Source, catalog: Catalog) -> bool:
    """Whether each unit has one row: it was gathered so, or the owner says so of the table."""
    if source.beside:
        return False  # a row may be beside many
    if source.gathered is not None:
        return not source.gathered.keys
    way = catalog.dataset(source.dataset).unit
    return isinstance(way, UnitColumn) and way.one_row


def assumptions(source: Source, catalog: Catalog) -> tuple[str, ...]:
    """What the owner says and neither an engine nor a copy keeps.

    That each unit has one row, that a link leads to one row, or that a table is about nobody.
    """
    found: list[str] = []
    if source.gathered is None:
        found += _in_place(source, catalog)
        found += _by_plugins(source, catalog)
    unit = catalog.dataset(source.dataset).unit
    kept = isinstance(unit, UnitColumn) and unit.unique_by_constraint
    kept = kept or _kept_by_copy(source.unit, catalog)
    if source.gathered is None and one_row(source, catalog) and not kept:
        found.append(f"{source.unit} is unique")
    if source.gathered is not None:
        found += assumptions(source.gathered.source, catalog)
    for each in source.beside:
        if catalog.is_public(each.dataset):
            found.append(f"{each.dataset} is about nobody")
            continue
        child, column = each.left.split(".", 1)
        way = catalog.dataset(child).unit
        if isinstance(way, Link) and (way.parent, way.column) == (each.dataset, column):
            if not way.unique_by_constraint and not _kept_by_copy(each.right, catalog):
                found.append(f"{each.right} is unique")
        else:
            found += _reverse(each, catalog)
    return tuple(found)


def _in_place(source: Source, catalog: Catalog) -> list[str]:
    """What is assumed of tables that the owner serves in place, and not from a copy."""
    names = dict.fromkeys((source.dataset, *(each.dataset for each in source.beside)))
    return [
        f"no question about {name}, which is read in place, fails, or takes longer, by one "
        "person's row"
        for name in names
        if not catalog.is_public(name) and catalog.dataset(name).in_place
    ]


def _by_plugins(source: Source, catalog: Catalog) -> list[str]:
    """What is assumed of engines that are not Tacit's own."""
    names = dict.fromkeys((source.dataset, *(each.dataset for each in source.beside)))
    return [
        f"the plug-in {plugin}, which reads {name}, keeps the contract of an engine"
        for name in names
        if (plugin := catalog.table(name).location.plugin) is not None
    ]


def _reverse(each: Beside, catalog: Catalog) -> list[str]:
    way = catalog.dataset(each.dataset).unit
    if isinstance(way, Link) and f"{each.dataset}.{way.column}" == each.right:
        kept = way.unique_by_constraint or _kept_by_copy(each.left, catalog)
        return [] if kept else [f"{each.left} is unique"]
    return []


def _kept_by_copy(named: str, catalog: Catalog) -> bool:
    """Whether the table's copy, which is read in its place, holds each value in one row."""
    dataset, column = named.split(".", 1)
    copy = catalog.dataset(dataset).copy
    return copy is not None and column in copy.unique


def _joined(relation: Relation) -> tuple[str, list[Join | JoinPublic]]:
    """The table that a relation begins with, and the joins above it; of units, only these."""
    match relation:
        case Scan(dataset):
            return dataset, []
        case PerUnit():
            return "", []
        case Filter(source, _):
            return _joined(source)
        case Join(source, _, _, _) | JoinPublic(source, _, _, _, _):
            first, joins = _joined(source)
            return first, [*joins, relation]


def _in_order(first: str, beside: tuple[Beside, ...]) -> None:
    """Refuse a join by a column of a table that is not there yet."""
    there = {first}
    for each in beside:
        if each.left.partition(".")[0] not in there:
            raise InvalidValue(
                f"{each.dataset!r} is joined by {each.left}, whose table is not joined before."
            )
        there.add(each.dataset)


def _beside_units(join: Join | JoinPublic, catalog: Catalog) -> Beside:
    """A public table beside rows of units; no other."""
    if isinstance(join, Join):
        raise InvalidValue(
            f"{join.dataset!r} is joined to the rows of a query below that aggregates; join it "
            "inside that query, and add the columns that you need to its GROUP BY."
        )
    return _beside(join, catalog)


def _beside(join: Join | JoinPublic, catalog: Catalog) -> Beside:
    """A join that follows a link, in either direction, equates the unit, or is public."""
    if isinstance(join, JoinPublic):
        _check_lookup(join, catalog)
        return Beside(join.table, join.left, f"{join.table}.{join.right}", join.outer)
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


def _check_lookup(join: JoinPublic, catalog: Catalog) -> None:
    """Refuse a public join that could make more rows of one row than its owner has declared."""
    table = catalog.table(join.table) if catalog.is_public(join.table) else None
    if not isinstance(table, PublicTable):
        raise InvalidValue(f"{join.table!r} is no public table.")
    if join.right not in table.lookup:
        known = ", ".join(table.lookup) or "none"
        raise InvalidValue(
            f"{join.table!r} is not joined by {join.right!r}: its declared lookup columns are: "
            f"{known}. Where each value stands in few rows, its owner can declare it: "
            f'[public.{join.table}] lookup = ["{join.right}"], and fan_out = 2 where a value '
            f"stands in 2 rows; {MOST_FAN_OUT} is the most."
        )


def _of_link(child: str, way: Link) -> Beside:
    return Beside(way.parent, f"{child}.{way.column}", f"{way.parent}.{way.parent_column}")


# ------------------------------------------------------------------ row key
# What tells the rows of a unit apart, where every table says so.


def row_keys(source: Source, catalog: Catalog) -> tuple[tuple[str, Kind], ...]:
    """The columns that tell joined rows of a unit apart; none where a table has no such one.

    Rows beside public ones, and rows that were gathered, have none.
    """
    if source.gathered is not None or any(map(catalog.is_public, source.datasets)):
        return ()
    found = []
    for name in source.datasets:
        dataset = catalog.dataset(name)
        if dataset.row_key is None:
            return ()
        found.append((f"{name}.{dataset.row_key}", dataset.schema[dataset.row_key].kind))
    return tuple(found)
