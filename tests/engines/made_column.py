"""Columns that choices make: a kind, what is declared of it, and cells that are hard for it."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, nan, nextafter

from choices import Choices

from tacit.core.bounds import Bounds
from tacit.core.column import Column, Kind
from tacit.core.day import day_of
from tacit.core.keys import Key, Keys
from tacit.engines.meaning import Cell

DAYS = (date(1999, 12, 31), date(2000, 2, 29), date(2024, 6, 1), date.min, date.max)

BOUNDS: dict[Kind, tuple[Bounds, ...]] = {
    Kind.INTEGER: (
        *(Bounds.of(0, 120), Bounds.of(-5, 5), Bounds.of(3, 9), Bounds.of(-9, -2)),
        *(Bounds.of(7, 7), Bounds.of(0, 10**6), Bounds.of(-(2**40), 2**40), Bounds.of(0, 0)),
    ),
    Kind.DECIMAL: (
        *(Bounds.of("-10.5", "99.99"), Bounds.of(0, 1), Bounds.of(5, 5)),
        *(Bounds.of(-100, "-0.01"), Bounds.of("0.004", "0.006"), Bounds.of(-(10**6), 10**6)),
    ),
    Kind.FLOAT: (
        *(Bounds.of("-0.1", 100), Bounds.of(0, 1), Bounds.of("0.25", "0.25")),
        *(Bounds.of(-(10**6), 10**6), Bounds.of(-3, "-0.3"), Bounds.of("1e-9", "2e-9")),
    ),
    Kind.DATE: (
        *(Bounds.days(DAYS[0], DAYS[2]), Bounds.days(DAYS[1], DAYS[1])),
        Bounds.days(date(1969, 12, 30), date(1970, 1, 5)),
    ),
}
"""Ranges around 0 and away from it, wide and of one point."""

KEYS: dict[Kind, tuple[tuple[Key, ...], ...]] = {
    Kind.TEXT: (("north", "south"), ("it's", "", "NULL"), ("a|b", "a", "b", "Ärztin")),
    Kind.INTEGER: ((1, 2, 3), (0, -1), (2**63 - 1, -(2**63), 7)),
    Kind.DATE: (("2000-02-29", "2024-06-01"),),
}
STEPS = (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(1, 4))

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


def column(name: str, choices: Choices) -> Column:
    """A column: sometimes with bounds and keys, and sometimes without."""
    kind = choices.one((*Kind, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.TEXT))
    bounded = kind in BOUNDS and not choices.once_in(2 if kind is Kind.DATE else 8)
    keyed = kind in KEYS and choices.once_in(3)
    return Column(
        name,
        kind,
        bounds=choices.one(BOUNDS[kind]) if bounded else None,
        keys=Keys(choices.one(KEYS[kind])) if keyed else None,
        step=choices.one(STEPS) if kind is Kind.DECIMAL else None,
    )


def any_cell(column: Column, choices: Choices) -> Cell:
    """An ordinary cell, one that is declared, NULL, or one that is hard."""
    which = choices.below(8)
    if which == 0:
        return None
    if which == 1:
        return choices.one(EXTREME[column.kind])
    near = declared(column) if which < 4 else ()
    return choices.one(near or ORDINARY[column.kind])


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
