"""A number that was computed for each unit: engines hold it in steps, within its range."""

from dataclasses import dataclass

from tacit.core.column import Column, Kind
from tacit.core.keys import Keys
from tacit.plan.ranged import Ranged

MOST_KEYS = 200
"""Whole numbers of a range that is short enough for each to be a group of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Column):
    """A column of such numbers; ``value`` is one, with the range that it never leaves."""

    value: Ranged

    @classmethod
    def of(cls, name: str, value: Ranged) -> "Held":
        """The column that holds ``value``: its kind follows from the steps.

        Example:
            >>> from fractions import Fraction
            >>> from tacit.plan.steps import HeldSteps
            >>> visits = Ranged(HeldSteps("below.visits"), 1, 3, Fraction(1))
            >>> Held.of("below.visits", visits).keys.values
            (1, 2, 3)
        """
        if value.rounding:
            return cls(name, Kind.FLOAT, value=value)
        if value.step != 1:
            return cls(name, Kind.DECIMAL, step=value.step, value=value)
        short = value.high - value.low < MOST_KEYS
        keys = Keys(tuple(range(value.low, value.high + 1))) if short else None
        return cls(name, Kind.INTEGER, keys=keys, value=value)
