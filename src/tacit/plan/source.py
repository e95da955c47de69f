"""The source of a question's rows: tables, joins, and the column that identifies the unit.

`source_of` checks each join against the owner's declarations and adds the tables that lead to
the privacy unit, so that every joined row belongs to exactly one unit. `assumptions` lists the
declarations on which this depends and which Tacit cannot enforce. `Fold` is a part of the units
for cross-validation.
"""

from dataclasses import dataclass

from tacit.core import Catalog, Kind, Link, UnitColumn
from tacit.errors import InternalError, InvalidValue
from tacit.plan.allowed_joins import check_join, check_semi_joins, unit_column
from tacit.plan.plan import (
    Filter,
    Join,
    JoinPublic,
    LeftJoin,
    PerUnit,
    Relation,
    Scan,
    Semi,
    per_unit_in,
    semi_joins,
)
from tacit.plan.steps import AllOf, Condition, Steps


@dataclass(frozen=True, slots=True)
class Fold:
    """Fold ``number`` (from 0) of ``folds`` folds of the units, or all units ``outside`` of it.

    The fold of a unit is a function of the unit's identifier and a salt.

    Guarantee: a unit is in exactly one fold, with all of its rows, independently of the other
    units in the table. Adding or removing a unit changes only its own fold, and the complements
    of the other folds.

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
                "There must be at least 2 folds, which are numbered from 0; fold "
                f"{self.number} of {self.folds} was given."
            )

    @property
    def others(self) -> "Fold":
        """The complement of the fold: all other units."""
        return Fold(self.number, self.folds, not self.outside)


# Aggregates over the rows of one unit --------------------------------------------------------
#
# Engines compute these in steps of a grid, in a range that is known in advance. NULL is
# ignored; a sum, a mean, a minimum or a maximum of no values is NULL. Summands have at most 62
# bits, so that a sum fits in 128 bits for any number of rows.


@dataclass(frozen=True, slots=True)
class CountOf:
    """The number of rows for which a condition is true, clamped to ``low`` and ``high``."""

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
    """The mean of steps that are at least 0, rounded to 1/``finer`` of a step; halves go up.

    ``start`` is added to the result.
    """

    steps: Steps
    finer: int
    start: int


UnitAggregate = CountOf | SumOf | LeastOf | GreatestOf | MeanOf


# Tables and joins ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """A joined table: its rows are joined on ``left`` = ``right``.

    Rows of the tables before it without a match are dropped, or are kept with NULLs if the
    join is ``outer``.
    """

    dataset: str
    left: str
    right: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class UnitAggregation:
    """Rows that are aggregated per unit: one row for each unit and group of ``keys``.

    NULL is a key like any other. Only rows of ``source`` whose unit is not NULL and for which
    ``condition`` is true count. The columns are the unit, the keys, and the named values, in
    steps.
    """

    source: "Source"
    condition: Condition
    keys: tuple[str, ...]
    values: tuple[tuple[str, UnitAggregate], ...]


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """Rows of ``source`` that decide which rows of another source are kept.

    Only rows whose unit is not NULL and for which ``condition`` is true count. A row of the
    other source has a match if the two columns of each pair of ``on`` are equal; the first pair
    are the units. It is kept if it has a match, or, if the semi-join is ``anti``, if it has
    none. A column that is NULL has no match.

    Guarantee: whether a row is kept is a function of the rows of its own unit, because the
    units are equated. No row is added, so that the limits of the kept rows stay the same.
    """

    source: "Source"
    condition: Condition
    on: tuple[tuple[str, str], ...]
    anti: bool


@dataclass(frozen=True, slots=True)
class TableLimit:
    """The most rows of a table that take part in a join: ``most`` for each value of ``by``.

    ``by`` is the column, dataset.column, that leads from the rows to their unit. Only rows for
    which ``condition`` is true count; it is about columns of this table. Which rows are kept is
    decided by a hash of the columns ``order``, and then by all columns of the row.

    Guarantee: the kept rows of a unit are a function of its own rows and a salt. Where rows of
    two tables meet, the number of joined rows of a unit is at most the product of the limits,
    whatever the tables contain, so that a join takes no time and memory beyond that.
    """

    dataset: str
    by: str
    most: int
    condition: Condition
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A table, the tables that are joined to it, and the column of the unit of a joined row.

    Columns are called dataset.column throughout. If ``gathered`` is set, its aggregated rows
    are read, and ``dataset`` is the table from which they were computed. Joined rows are kept
    if all semi-joins, ``semis``, keep them. Tables that are ``limited`` are limited before they
    are joined.
    """

    dataset: str
    beside: tuple[JoinedTable, ...]
    unit: str
    gathered: UnitAggregation | None = None
    semis: tuple[SemiJoin, ...] = ()
    limited: tuple[TableLimit, ...] = ()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of all tables that are read; those of semi-joins come last."""
        below = (self.dataset,) if self.gathered is None else self.gathered.source.datasets
        joined = (*below, *(each.dataset for each in self.beside))
        inside = (name for each in self.semis for name in each.source.datasets)
        return (*joined, *(name for name in dict.fromkeys(inside) if name not in joined))

    @property
    def joined(self) -> tuple[str, ...]:
        """The names of the tables whose columns a joined row has, in the order of the joins."""
        return (self.dataset, *(each.dataset for each in self.beside))


def source_of(relation: Relation, catalog: Catalog) -> Source:
    """Return the tables of ``relation``, with those that are needed to find the unit.

    A row may identify its unit only through links to parent tables; tables on this path that
    the question does not name are joined in addition. `tacit.plan.bounding` fills in
    ``gathered`` and the conditions of ``semis``.

    Guarantee: every joined row belongs to one unit and is a function of that unit's rows,
    provided that the links are as the owner declared them.
    """
    below = per_unit_in(relation)
    if below is not None:
        lowest = source_of(below.source, catalog)
        public = tuple(_join_to_units(join, catalog) for join in _first_and_joins(relation)[1])
        columns = (lowest.unit, *below.keys)
        semis = _semi_sources(relation, lowest.unit, lowest.dataset, columns, catalog)
        return Source(lowest.dataset, public, lowest.unit, semis=semis)
    first, joins = _first_and_joins(relation)
    beside = tuple(_checked_join(join, catalog) for join in joins)
    _check_join_order(first, beside)
    named = {first, *(each.dataset for each in beside)}
    if len(named) != len(joins) + 1:
        raise InvalidValue(
            "A question can join a table only once. Leave the second join of the same table "
            "out."
        )
    private = [name for name in named if not catalog.is_public(name)]
    if len({catalog.dataset(name).population for name in private}) > 1:
        raise InvalidValue(
            "A question can join only datasets of one population. Ask about each population "
            "separately."
        )
    columns = tuple(
        f"{name}.{column}" for name in named for column in catalog.table(name).schema.names
    )
    child = first
    while (held := unit_column(catalog.dataset(child), catalog)) is None:
        way = catalog.dataset(child).unit
        if not isinstance(way, Link):
            raise InternalError("A dataset without a unit column must have a link.")
        if way.parent not in named:
            named.add(way.parent)
            beside = (*beside, _join_along_link(child, way))
        child = way.parent
    unit = f"{child}.{held}"
    semis = _semi_sources(relation, unit, first, columns, catalog)
    return Source(first, beside, unit, semis=semis)


def _semi_sources(
    relation: Relation, unit: str, dataset: str, columns: tuple[str, ...], catalog: Catalog
) -> tuple[SemiJoin, ...]:
    """Return the semi-joins of the rows of a relation, without their conditions.

    ``unit`` identifies the unit of the rows, which have the ``columns``.
    """
    found = semi_joins(relation)
    check_semi_joins(found, catalog)
    made = []
    for semi in found:
        inner = source_of(semi.below, catalog)
        below = per_unit_in(semi.below)
        _check_one_population(dataset, inner.dataset, catalog)
        for left, right in semi.on:
            if left not in columns:
                raise InvalidValue(
                    f"The rows of this question have no column {left}; join its table, or add "
                    "the column to the GROUP BY of its subquery."
                )
            if below is not None and right not in {inner.unit, *below.keys}:
                raise InvalidValue(
                    f"{right} is not in the GROUP BY of its subselect; add it there."
                )
        pairs = dict.fromkeys([(unit, inner.unit), *semi.on])
        made.append(SemiJoin(inner, AllOf(()), tuple(pairs), semi.anti))
    return tuple(made)


def _check_one_population(one: str, other: str, catalog: Catalog) -> None:
    if catalog.dataset(one).population != catalog.dataset(other).population:
        raise InvalidValue(
            "A subselect can read only datasets of the population of its question. Ask about "
            "each population separately."
        )


def complete_columns(source: Source, catalog: Catalog) -> tuple[str, ...]:
    """Return the columns, dataset.column, of which every joined row has a listed key.

    The owner has declared it of the rows of a table. An outer join adds rows in which the
    columns of its table are NULL, and a subquery computes other rows; both have none.

    Guarantee: a question that groups by such a column loses no row by it, so that its groups
    together are all rows of the question without it.
    """
    if source.gathered is not None:
        return ()
    outer = {each.dataset for each in source.beside if each.outer}
    return tuple(
        f"{name}.{column.name}"
        for name in source.joined
        if name not in outer
        for column in catalog.table(name).schema.columns
        if column.keys is not None and column.keys.complete
    )


def columns_of_units(source: Source, catalog: Catalog) -> frozenset[str]:
    """Return the columns that have as many distinct values as there are units.

    They are the unit, the columns that a join equates with it, and the columns that a link
    equates with the key of a table which has one row for each unit: then a unit has one key,
    and by the link's declaration a key has one unit. A count of units has the same exact value
    as the count of their distinct values, and less noise.
    """
    if source.gathered is not None:
        return frozenset({source.unit})
    pairs = [(each.left, each.right) for each in source.beside if not each.outer]
    ends = {end for pair in pairs for end in pair}
    found = {source.unit} | {end for end in ends if _is_key_of_units(end, catalog)}
    for _ in pairs:
        found |= {end for pair in pairs if found & set(pair) for end in pair}
    return frozenset(found)


def _is_key_of_units(named: str, catalog: Catalog) -> bool:
    """Return whether a column is the end of a link to a table with one row for each unit."""
    table, _, column = named.partition(".")
    if catalog.is_public(table):
        return False
    way = catalog.dataset(table).unit
    linked = any(
        isinstance(each.unit, Link)
        and (each.unit.parent, each.unit.parent_column) == (table, column)
        for each in catalog.datasets
    )
    return isinstance(way, UnitColumn) and way.one_row and linked


def one_row(source: Source, catalog: Catalog) -> bool:
    """Return whether each unit has at most one row, by aggregation or by declaration."""
    if source.beside:
        return False  # a join can match one row with many
    if source.gathered is not None:
        return not source.gathered.keys
    way = catalog.dataset(source.dataset).unit
    return isinstance(way, UnitColumn) and way.one_row


def assumptions(source: Source, catalog: Catalog) -> tuple[str, ...]:
    """Return the owner's declarations on which the guarantee depends and nothing enforces.

    They say that each unit has one row, that a link leads to one row, that a public table
    contains no personal data, or that a table that is read in place does not cause failures or
    delays. A constraint of the database or a prepared copy enforces uniqueness; then the
    declaration is not listed.
    """
    unit = catalog.dataset(source.dataset).unit
    enforced = isinstance(unit, UnitColumn) and unit.unique_by_constraint
    enforced = enforced or _unique_in_copy(source.unit, catalog)
    alone = source.gathered is None and one_row(source, catalog) and not enforced
    found = _about_tables(source, catalog)
    if alone:
        found.append(f"{source.unit} is unique")
    found += _about_joins(source, catalog)
    return tuple(dict.fromkeys(found) if source.semis else found)


def _about_tables(source: Source, catalog: Catalog) -> list[str]:
    """Return the assumptions about each table of ``source`` by itself."""
    if source.gathered is not None:
        return []
    return [*_in_place(source, catalog), *_by_plugins(source, catalog)]


def _about_joins(source: Source, catalog: Catalog) -> list[str]:
    """Return the assumptions about subqueries, joins and semi-joins of ``source``.

    A semi-join only asks whether a row exists, so that its rows need not be unique; but the
    links that lead from them to their unit must be as declared.
    """
    found: list[str] = []
    if source.gathered is not None:
        found += assumptions(source.gathered.source, catalog)
    for each in source.beside:
        if catalog.is_public(each.dataset):
            found.append(f"{each.dataset} contains no personal data")
            continue
        child, column = each.left.split(".", 1)
        way = catalog.dataset(child).unit
        if isinstance(way, Link) and (way.parent, way.column) == (each.dataset, column):
            if not way.unique_by_constraint and not _unique_in_copy(each.right, catalog):
                found.append(f"{each.right} is unique")
        else:
            found += _reverse_link(each, catalog)
    for semi in source.semis:
        found += [*_about_tables(semi.source, catalog), *_about_joins(semi.source, catalog)]
    return found


def _in_place(source: Source, catalog: Catalog) -> list[str]:
    """Return the assumptions about tables that are read in place and not from a copy."""
    names = dict.fromkeys((source.dataset, *(each.dataset for each in source.beside)))
    return [
        f"no query on {name}, which is read in place, fails or takes longer because of one "
        "person's rows"
        for name in names
        if not catalog.is_public(name) and catalog.dataset(name).in_place
    ]


def _by_plugins(source: Source, catalog: Catalog) -> list[str]:
    """Return the assumptions about engines that plug-ins bring."""
    names = dict.fromkeys((source.dataset, *(each.dataset for each in source.beside)))
    return [
        f"the plug-in {plugin}, which reads {name}, keeps the contract of an engine"
        for name in names
        if (plugin := catalog.table(name).location.plugin) is not None
    ]


def _reverse_link(each: JoinedTable, catalog: Catalog) -> list[str]:
    """Return the assumption about a join from a parent table to a table that links to it."""
    way = catalog.dataset(each.dataset).unit
    if not isinstance(way, Link):
        return []
    ends = f"{way.parent}.{way.parent_column}", f"{each.dataset}.{way.column}"
    if ends == (each.left, each.right):
        enforced = way.unique_by_constraint or _unique_in_copy(each.left, catalog)
        return [] if enforced else [f"{each.left} is unique"]
    return []


def _unique_in_copy(named: str, catalog: Catalog) -> bool:
    """Return whether the table has a prepared copy in which the column's values are unique."""
    dataset, column = named.split(".", 1)
    copy = catalog.dataset(dataset).copy
    return copy is not None and column in copy.unique


AnyJoin = Join | LeftJoin | JoinPublic


def _first_and_joins(relation: Relation) -> tuple[str, list[AnyJoin]]:
    """Return the first table of a relation and its joins; "" if a subquery comes first."""
    match relation:
        case Scan(dataset):
            return dataset, []
        case PerUnit():
            return "", []
        case Filter(source, _) | Semi(source, _, _, _):
            return _first_and_joins(source)
        case Join(source, _, _, _) | LeftJoin(source, _, _, _) | JoinPublic(source, _, _, _, _):
            first, joins = _first_and_joins(source)
            return first, [*joins, relation]


def _check_join_order(first: str, beside: tuple[JoinedTable, ...]) -> None:
    """Refuse a join by a column of a table that is joined later."""
    there = {first}
    for each in beside:
        if each.left.partition(".")[0] not in there:
            raise InvalidValue(
                f"{each.dataset!r} is joined by {each.left}, but the table of that column is "
                "not joined before it; change the order of the joins."
            )
        there.add(each.dataset)


def _join_to_units(join: AnyJoin, catalog: Catalog) -> JoinedTable:
    """Return the join of a public table to aggregated rows of units; refuse other tables."""
    if not isinstance(join, JoinPublic):
        raise InvalidValue(
            f"{join.dataset!r} is joined to a subquery that aggregates; join it inside that "
            "subquery, and add the columns that you need to its GROUP BY."
        )
    return _checked_join(join, catalog)


def _checked_join(join: AnyJoin, catalog: Catalog) -> JoinedTable:
    """Return a join that is allowed; refuse any other."""
    check_join(join, catalog)
    if isinstance(join, JoinPublic):
        return JoinedTable(join.table, join.left, f"{join.table}.{join.right}", join.outer)
    outer = isinstance(join, LeftJoin)
    return JoinedTable(join.dataset, join.left, f"{join.dataset}.{join.right}", outer)


def _join_along_link(child: str, way: Link) -> JoinedTable:
    return JoinedTable(way.parent, f"{child}.{way.column}", f"{way.parent}.{way.parent_column}")


# Row keys ------------------------------------------------------------------------------------


def row_keys(source: Source, catalog: Catalog) -> tuple[tuple[str, Kind], ...]:
    """Return the columns that together identify a joined row within its unit.

    The result is empty if a table has no declared row key, if a public table is joined, or if
    the rows are aggregated.
    """
    if source.gathered is not None or any(map(catalog.is_public, source.joined)):
        return ()
    found = []
    for name in source.joined:
        dataset = catalog.dataset(name)
        if dataset.row_key is None:
            return ()
        found.append((f"{name}.{dataset.row_key}", dataset.schema[dataset.row_key].kind))
    return tuple(found)
