"""Cells that are hard for whoever bounds, casts, compares or sums them."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from math import inf, nan, nextafter

from tacit.audit.choices import Choices
from tacit.core.bounds import Bounds
from tacit.core.column import Column, Kind
from tacit.core.day import day_of
from tacit.engines.meaning import Cell

DAYS = (date(1999, 12, 31), date(2000, 2, 29), date(2024, 6, 1), date.min, date.max)

ORDINARY: dict[Kind, tuple[Cell, ...]] = {
    Kind.BOOLEAN: (True, False),
    Kind.INTEGER: (*range(-3, 10), 17, 18, 40, 99, 120),
    Kind.DECIMAL: tuple(map(Decimal, ("0", "1.25", "-10.50", "99.99", "0.01", "5", "17.5"))),
    Kind.FLOAT: (0.0, 1.0, 0.5, 17.5, 99.9, -0.05, 0.1, 1 / 3),
    Kind.TEXT: ("north", "south", "it's", "", "NULL", "a|b", "a", "b", "Ärztin", "elsewhere"),
    Kind.DATE: DAYS[:3],
    Kind.TIMESTAMP: tuple(datetime(2000, 2, 29, hour) for hour in (0, 1, 23)),  # noqa: DTZ001
}
EXTREME: dict[Kind, tuple[Cell, ...]] = {
    Kind.BOOLEAN: (True,),
    Kind.INTEGER: (2**63 - 1, -(2**63), 2**53 + 1, 2**62),
    Kind.DECIMAL: (Decimal("9999999999999999.99"), Decimal("-9999999999999999.99")),
    Kind.FLOAT: (nan, inf, -inf, -0.0, 1.7976931348623157e308, -1e308, 5e-324, 2.0**63),
    Kind.TEXT: ("x" * 3000, "\n", "e\u0301", "😀", "|", "%", "\\", "--", "\u202e", "İ"),
    Kind.DATE: DAYS[3:],
    Kind.TIMESTAMP: (
        datetime(1, 1, 2),  # noqa: DTZ001
        datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
    ),
}


def any_cell(column: Column, choices: Choices) -> Cell:
    """An ordinary cell, one that is declared, NULL, or one that is hard."""
    none, hard, near = 0, 1, (2, 3)
    which = choices.below(8)
    if which == none:
        return None
    if which == hard:
        return choices.one(EXTREME[column.kind])
    cells = declared(column) if which in near else ()
    return choices.one(cells or ORDINARY[column.kind])


def declared(column: Column) -> tuple[Cell, ...]:
    """The keys of a column, or the ends of its bounds and what lies close to them."""
    if column.keys is not None:
        dated = column.kind is Kind.DATE
        return tuple(date.fromisoformat(str(k)) if dated else k for k in column.keys.values)
    return () if column.bounds is None else _near(column.kind, column.bounds)


def _near(kind: Kind, bounds: Bounds) -> tuple[Cell, ...]:
    """The ends of an interval, and what lies close to them."""
    ends = bounds.lower, bounds.upper
    match kind:
        case Kind.DECIMAL:
            hundredths = [round(end * 100) + more for end in ends for more in (-1, 0, 1)]
            return tuple(Decimal(f"{whole}e-2") for whole in hundredths)
        case Kind.FLOAT:
            near = [float(end) for end in ends]
            return (*near, *(nextafter(end, way) for end in near for way in (-inf, inf)))
    whole = [int(end) + more for end in ends for more in (-1, 0, 1)]
    return tuple(map(day_of, whole)) if kind is Kind.DATE else tuple(whole)


def own_cell(kind: Kind, place: int) -> Cell:
    """A cell that only one row has."""
    match kind:
        case Kind.TEXT:
            return f"own {place}"
        case Kind.INTEGER:
            return 10**9 + place
        case Kind.DATE:
            return date(1950, 1, 1) + timedelta(days=place)
    return None
