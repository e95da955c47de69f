"""The contribution limits of joined rows, whichever table a question names first.

A limit that an owner declares is about the rows of one table. A joined row has one row of each
of its tables, and most of these follow from the others: a visit has one patient. The limits of
a question are those of the table, or the few tables, whose rows determine the whole joined row,
so that the order in which a join is written does not change its answer.

The limits only decide which rows count. Engines enforce them, so that privacy does not depend
on whether they describe the data.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod

from tacit.core import Catalog, Kind, Limits, Link, PublicTable, UnitColumn
from tacit.plan.source import Source, TableLimit
from tacit.plan.steps import AllOf


def limits_of(source: Source, catalog: Catalog) -> Limits:
    """Return the limits of the joined rows of ``source``, which has no subquery.

    They are the limits of the table whose rows determine the joined row. If two tables do, such
    as visits and prescriptions that are joined by their patient, a unit can have every pair of
    its rows, and the limits are multiplied. A public table does not change them.

    A LEFT JOIN from a parent with at most p rows to a table with at most c has at most
    p + c - 1 joined rows: each of the c rows once, and a row for each parent without one, which
    are at most p - 1 unless c is 0. With one row for each unit in the parent, the limit is c.
    Semi-joins only remove rows, and do not change the limits.

    Example:
        >>> from tacit.core import Column, Dataset, Epoch, Kind, Location, Population
        >>> from tacit.core import PrivacyUnit, Schema
        >>> from tacit.plan.source import JoinedTable
        >>> def table(name, unit, limits):
        ...     columns = Schema((Column("id", Kind.INTEGER), Column("patient", Kind.INTEGER)))
        ...     place, epoch = Location("clinic", (name,)), Epoch("1")
        ...     return Dataset(name, "all", columns, unit, limits, place, epoch)
        >>> people = table("people", UnitColumn("id"), Limits(1, 1))
        >>> visits = table("visits", Link("patient", "people", "id"), Limits(3, 5))
        >>> catalog = Catalog((Population("all", PrivacyUnit("person")),), (people, visits))
        >>> joined = JoinedTable("visits", "people.id", "visits.patient")
        >>> limits_of(Source("people", (joined,), "people.id"), catalog)
        Limits(max_groups=3, max_rows=5, max_rows_in_all=None, max_length=None)
    """
    factors, _ = _factors(source, catalog)
    found = [_either([_limits_of_table(name, catalog) for name in part]) for part in factors]
    in_all = _product([limits.max_rows_in_all for limits in found if limits != ONE])
    return Limits(
        prod(limits.max_groups for limits in found),
        prod(limits.max_rows for limits in found),
        None if in_all is None else int(in_all),
        _product([limits.max_length for limits in found if limits != ONE]),
    )


def _either(found: list[Limits]) -> Limits:
    """Return the limits of rows of which each has a row of one of several tables."""
    # a table with one row for each unit adds a row only where the others have none
    found = [each for each in found if each != ONE] or [ONE]
    if len(found) == 1:
        return found[0]
    in_all = [each.max_rows_in_all for each in found if each.max_rows_in_all is not None]
    lengths = [each.max_length for each in found if each.max_length is not None]
    less = len(found) - 1
    return Limits(
        sum(each.max_groups for each in found) - less,
        sum(each.max_rows for each in found) - less,
        sum(in_all) - less if len(in_all) == len(found) else None,
        # by the triangle inequality
        sum(lengths, Fraction(0)) if len(lengths) == len(found) else None,
    )


def _product(parts: Sequence[Fraction | int | None]) -> Fraction | None:
    """Return the product of limits that all tables have; None if one of them has none."""
    known = [part for part in parts if part is not None]
    return Fraction(prod(known)) if known and len(known) == len(parts) else None


def determining_tables(source: Source, catalog: Catalog) -> tuple[tuple[str, ...], int]:
    """Return the tables whose rows determine a joined row, and how often public rows repeat it.

    A row of a table that has a link determines the row of its parent. A row of a table that is
    joined by the unit determines none of the others. After a LEFT JOIN from a parent, a row of
    the parent, or of the joined table, determines the joined row; both are returned.
    """
    factors, times = _factors(source, catalog)
    return tuple(name for part in factors for name in part), times


def _factors(source: Source, catalog: Catalog) -> tuple[list[tuple[str, ...]], int]:
    """Return the determining tables; the rows of tables in one tuple add, others multiply."""
    found: list[tuple[str, ...]] = [(source.dataset,)]
    times = 1
    for each in source.beside:
        table = catalog.table(each.dataset)
        if isinstance(table, PublicTable):
            times *= table.fan_out
            continue
        child = each.left.partition(".")[0]
        if _follows(child, each.left, each.dataset, each.right, catalog):
            continue
        part = next((part for part in found if part[-1] == child), ())
        if _follows(each.dataset, each.right, child, each.left, catalog) and part:
            found.remove(part)
            kept = each.outer and _has_many(child, catalog)
            found.append((*part, each.dataset) if kept else (each.dataset,))
        else:
            found.append((each.dataset,))
    return found, times


def limits_before_join(source: Source, catalog: Catalog) -> tuple[TableLimit, ...]:
    """Return the limits of tables before they are joined, without conditions; often none.

    Where the rows of two tables determine a joined row, a unit with n rows of one and m of the
    other has n * m joined rows. A limit on joined rows would come too late: one person could
    make a statement as slow, or as large, as they like. Each table is therefore limited first,
    to its own limits: all rows of a unit that can count in its own table. Tables with one row
    for each unit cannot multiply.
    """
    factors, _ = _factors(source, catalog)
    many = [part for part in factors if any(_has_many(name, catalog) for name in part)]
    if len(many) < 2:  # noqa: PLR2004 - two tables
        return ()
    private = [name for name in source.joined if not catalog.is_public(name)]
    return tuple(_table_limit(name, catalog) for name in private if _has_many(name, catalog))


def _has_many(name: str, catalog: Catalog) -> bool:
    way = catalog.dataset(name).unit
    return not (isinstance(way, UnitColumn) and way.one_row)


def _table_limit(name: str, catalog: Catalog) -> TableLimit:
    dataset = catalog.dataset(name)
    limits, by = dataset.limits, f"{name}.{dataset.unit.column}"
    most = limits.max_groups * limits.max_rows
    if limits.max_rows_in_all is not None:
        most = min(most, limits.max_rows_in_all)
    order = [each.name for each in dataset.schema.columns if each.kind in HASHED]
    if dataset.row_key is not None and dataset.schema[dataset.row_key].kind in HASHED:
        order = [dataset.row_key]
    names = (by, *(f"{name}.{column}" for column in order))
    return TableLimit(name, by, most, AllOf(()), tuple(dict.fromkeys(names)))


HASHED = {Kind.TEXT, Kind.INTEGER}
"""Kinds of columns that engines hash in the same way."""


def groups_of(owners: Iterable[str], source: Source, catalog: Catalog) -> int:
    """Return the most groups of one unit, where ``owners`` are the tables of the group keys.

    A unit has as many groups as the tables of the keys allow. If a key is a column of the
    unit's own table, such as the city of a patient, a unit has one value of it. A column of a
    public table counts for the table whose rows look it up.
    """
    looked_up = {
        each.dataset: each.left.partition(".")[0]
        for each in source.beside
        if catalog.is_public(each.dataset)
    }
    found = set()
    for owner in owners:
        name = owner
        while name in looked_up:
            name = looked_up[name]
        found.add(name)
    return prod(_limits_of_table(name, catalog).max_groups for name in found)


ONE = Limits(1, 1)
"""The limits of a table that has one row for each unit."""


def _limits_of_table(name: str, catalog: Catalog) -> Limits:
    dataset = catalog.dataset(name)
    way = dataset.unit
    return ONE if isinstance(way, UnitColumn) and way.one_row else dataset.limits


def _follows(child: str, left: str, parent: str, right: str, catalog: Catalog) -> bool:
    """Return whether a join goes along the declared link of ``child`` to ``parent``."""
    way = catalog.table(child)
    if isinstance(way, PublicTable) or not isinstance(way.unit, Link):
        return False
    ends = f"{child}.{way.unit.column}", f"{way.unit.parent}.{way.unit.parent_column}"
    return ends == (left, right) and way.unit.parent == parent
