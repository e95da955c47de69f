"""Columns that choices make: a kind, and what is declared of it."""

from datetime import date
from fractions import Fraction

from tacit.audit.synthetic_people import DAYS, Choices
from tacit.core.domain import Bounds, Column, Key, Keys, Kind

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
    Kind.TIMESTAMP: (Bounds.days(DAYS[0], DAYS[2]), Bounds.days(DAYS[1], DAYS[1])),
}
"""Ranges around 0 and away from it, wide and of one point."""

KEYS: dict[Kind, tuple[tuple[Key, ...], ...]] = {
    Kind.TEXT: (("north", "south"), ("it's", "", "NULL"), ("a|b", "a", "b", "Ärztin")),
    Kind.INTEGER: ((1, 2, 3), (0, -1), (2**63 - 1, -(2**63), 7)),
    Kind.DATE: (("2000-02-29", "2024-06-01"),),
}
TOTALS = (Fraction(1, 1000), Fraction(6), Fraction(17, 2), Fraction(150), Fraction(2**41))
"""The most that one person adds to a sum; some are below the bound of a single row."""

STEPS = (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(1, 4))


def column(name: str, choices: Choices) -> Column:
    """A column: sometimes with bounds and keys, and sometimes without."""
    kind = choices.one((*Kind, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.TEXT))
    dated = kind in {Kind.DATE, Kind.TIMESTAMP}
    bounded = kind in BOUNDS and not choices.once_in(2 if dated else 8)
    keyed = kind in KEYS and choices.once_in(3)
    summed = bounded and not dated and choices.once_in(3)
    return Column(
        name,
        kind,
        max_total=choices.one(TOTALS) if summed else None,
        bounds=choices.one(BOUNDS[kind]) if bounded else None,
        keys=Keys(choices.one(KEYS[kind])) if keyed else None,
        step=choices.one(STEPS) if kind is Kind.DECIMAL else None,
    )
