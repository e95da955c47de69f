"""The joins and semi-joins that a question may contain.

Two rows may meet only if they belong to the same person by the owner's declarations. An
equation of two columns shows this if it follows a declared link in either direction, if both
columns identify the unit, or if both are links to one column of one parent table. Public tables
belong to nobody and are looked up by declared columns. All other joins are refused here, before
a question is priced.
"""

from collections.abc import Sequence

from tacit.core import MOST_FAN_OUT, Catalog, Dataset, Link, PublicTable, UnitColumn
from tacit.errors import InvalidValue
from tacit.plan.plan import Join, JoinPublic, LeftJoin, Semi, every_semi

MOST_SEMI_JOINS = 8
"""Largest number of semi-joins of one question; each of them reads a table once more."""


# Rows of one person --------------------------------------------------------------------------


def unit_column(dataset: Dataset, catalog: Catalog) -> str | None:
    """Return the column of ``dataset`` that contains the unit's identifier; None if none does.

    It is the declared unit column, or a link to the unit column of the parent table.
    """
    way = dataset.unit
    if isinstance(way, UnitColumn):
        return way.column
    parent = catalog.dataset(way.parent).unit
    held = isinstance(parent, UnitColumn) and parent.column == way.parent_column
    return way.column if held else None


def same_person(left: str, right: str, catalog: Catalog) -> bool:
    """Return whether rows in which ``left`` equals ``right`` belong to one person.

    Both are columns of datasets, written dataset.column. The owner's declarations say so; links
    are believed, as everywhere.

    Example:
        >>> from tacit.core import Column, Epoch, Kind, Limits, Location, Population
        >>> from tacit.core import PrivacyUnit, Schema
        >>> def table(name, unit):
        ...     columns = Schema((Column("id", Kind.INTEGER), Column("patient", Kind.INTEGER)))
        ...     place, epoch = Location("clinic", (name,)), Epoch("1")
        ...     return Dataset(name, "all", columns, unit, Limits(1, 1), place, epoch)
        >>> people = table("people", UnitColumn("id"))
        >>> visits = table("visits", Link("patient", "people", "id"))
        >>> bills = table("bills", Link("patient", "people", "id"))
        >>> everybody = (Population("all", PrivacyUnit("person")),)
        >>> catalog = Catalog(everybody, (people, visits, bills))
        >>> same_person("visits.patient", "people.id", catalog)
        True
        >>> same_person("visits.patient", "bills.patient", catalog)
        True
        >>> same_person("visits.id", "bills.id", catalog)
        False
    """
    one, other = (_ends(name, catalog) for name in (left, right))
    if one is None or other is None:
        return False
    (table, column), (other_table, other_column) = one, other
    return (
        _is_link(table, column, other_table.name, other_column)
        or _is_link(other_table, other_column, table.name, column)
        or _both_units(one, other, catalog)
        or _one_parent(one, other)
    )


def _ends(name: str, catalog: Catalog) -> tuple[Dataset, str] | None:
    """Return the dataset and the column of a name; None for a column of another table."""
    table, _, column = name.partition(".")
    found = next((each for each in catalog.datasets if each.name == table), None)
    return None if found is None else (found, column)


def _is_link(child: Dataset, column: str, parent: str, parent_column: str) -> bool:
    way = child.unit
    return isinstance(way, Link) and (way.column, way.parent, way.parent_column) == (
        column,
        parent,
        parent_column,
    )


def _both_units(one: tuple[Dataset, str], other: tuple[Dataset, str], catalog: Catalog) -> bool:
    return all(unit_column(table, catalog) == column for table, column in (one, other))


def _one_parent(one: tuple[Dataset, str], other: tuple[Dataset, str]) -> bool:
    """Return whether both columns are links to one column of one parent table."""
    ways = [table.unit for table, column in (one, other) if table.unit.column == column]
    parents = {(w.parent, w.parent_column) for w in ways if isinstance(w, Link)}
    return len(parents) == 1 and all(isinstance(w, Link) for w in ways) and len(ways) == 2  # noqa: PLR2004 - both


# Joins ---------------------------------------------------------------------------------------


def check_join(join: Join | LeftJoin | JoinPublic, catalog: Catalog) -> None:
    """Refuse a join of rows that may be of two people, and a look-up that is not declared."""
    if isinstance(join, JoinPublic):
        _check_lookup(join, catalog)
    elif not same_person(join.left, f"{join.dataset}.{join.right}", catalog):
        raise InvalidValue(
            f"{join.left} = {join.dataset}.{join.right} is not a declared link and does not "
            "equate the unit; join along the links that the owner declared"
            f"{_suggestion(join.left.partition('.')[0], join.dataset, catalog)}."
        )


def check_semi_joins(found: Sequence[Semi], catalog: Catalog) -> None:
    """Refuse semi-joins whose equations do not show that both rows belong to one person."""
    for semi in found:
        equated = any(same_person(left, right, catalog) for left, right in semi.on)
        if not semi.on:
            raise InvalidValue(
                "The rows of a subselect must belong to the person of the outer row; equate "
                "the unit or a declared link in its WHERE."
            )
        if not equated:
            left, right = semi.on[0]
            raise InvalidValue(
                f"{left} = {right} is not a declared link and does not equate the unit, so "
                "that the row of a subselect could belong to another person; add to its WHERE "
                "a declared link or the unit"
                f"{_suggestion(left.partition('.')[0], right.partition('.')[0], catalog)}."
            )
    if _count(found) > MOST_SEMI_JOINS:
        raise InvalidValue(
            f"A question can have at most {MOST_SEMI_JOINS} conditions with EXISTS or IN "
            "(SELECT ...). Ask several questions."
        )


def _count(found: Sequence[Semi]) -> int:
    return sum(1 + _count(every_semi(semi.below)) for semi in found)


def equation(one: str, other: str, catalog: Catalog) -> tuple[str, str] | None:
    """Return two columns whose equation joins rows of one person; None if there are none."""
    for left in _columns(one, catalog):
        for right in _columns(other, catalog):
            if same_person(left, right, catalog):
                return left, right
    return None


def _columns(name: str, catalog: Catalog) -> list[str]:
    found = [each for each in catalog.datasets if each.name == name]
    return [f"{name}.{column}" for each in found for column in each.schema.names]


def _suggestion(one: str, other: str, catalog: Catalog) -> str:
    found = equation(one, other, catalog)
    return "" if found is None else f", such as {' = '.join(found)}"


def _check_lookup(join: JoinPublic, catalog: Catalog) -> None:
    """Refuse a public join by a column for which no fan-out is declared.

    Without a declared fan-out, one row could become any number of joined rows.
    """
    table = catalog.table(join.table) if catalog.is_public(join.table) else None
    if not isinstance(table, PublicTable):
        raise InvalidValue(
            f"{join.table!r} is not a public table. Join a dataset along its declared link."
        )
    if join.right not in table.lookup:
        known = ", ".join(table.lookup) or "none"
        raise InvalidValue(
            f"{join.table!r} cannot be joined by {join.right!r}; its declared lookup columns "
            f"are: {known}. If each value occurs in few rows, the owner can declare the "
            f'column: [public.{join.table}] lookup = ["{join.right}"], with fan_out = 2 if a '
            f"value occurs in 2 rows; {MOST_FAN_OUT} is the most."
        )
