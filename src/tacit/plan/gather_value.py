"""Which number an aggregate of one unit's rows is, and the range that it never leaves."""

from fractions import Fraction

from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.aggregate import (
    Aggregate,
    CountRows,
    CountValues,
    Greatest,
    Least,
    Mean,
    Sum,
)
from tacit.plan.of_unit import CountOf, GreatestOf, LeastOf, MeanOf, OfUnit, SumOf
from tacit.plan.on_grid import number
from tacit.plan.ranged import ROOM, Ranged
from tacit.plan.read import present
from tacit.plan.steps import Known, WholeSteps

FINE = 34
"""Bits of the range of a mean, at least: its rounding is then as small as that of floats."""

SHAPE = WholeSteps(None)
"""What stands for the steps where only their range is told."""


def gather_value(aggregate: Aggregate, schema: Schema, max_rows: int) -> tuple[OfUnit, Ranged]:
    """What an engine computes for ``aggregate``, and its range, with no steps of its own.

    The range follows from public facts: ``max_rows``, beyond which counts and sums are clamped,
    and the bounds of columns.
    """
    match aggregate:
        case CountRows():
            # a unit that has a row here has at least one
            return CountOf(Known(True), 1, max_rows), Ranged(SHAPE, 1, max_rows, Fraction(1))
        case CountValues(argument):
            made = CountOf(present(argument, schema), 0, max_rows)
            return made, Ranged(SHAPE, 0, max_rows, Fraction(1))
        case Sum(argument):
            value = number(argument, schema)
            low, high = (
                min(value.low, value.low * max_rows),
                max(value.high, value.high * max_rows),
            )
            rounding = value.rounding * max_rows
            ranged = Ranged(SHAPE, low, high, value.step, rounding)
            return SumOf(value.steps, low, high), ranged
        case Least(argument):
            value = number(argument, schema)
            return LeastOf(value.steps), value
        case Greatest(argument):
            value = number(argument, schema)
            return GreatestOf(value.steps), value
        case Mean(argument):
            return _mean(number(argument, schema))
    raise InvalidValue(
        "Of one unit's rows there are COUNT(*), COUNT(x), SUM, AVG, MIN and MAX."
    )


def _mean(value: Ranged) -> tuple[MeanOf, Ranged]:
    """A mean rounded to parts of a step, as many as there is room for."""
    wide = (value.high - value.low).bit_length()
    room = ROOM.bit_length() - 1 - max(abs(value.low), abs(value.high)).bit_length()
    finer = 2 ** max(0, min(FINE - wide, room))
    low, high, step = value.low * finer, value.high * finer, value.step / finer
    made = MeanOf(value.above(value.low).steps, finer, low)
    return made, Ranged(SHAPE, low, high, step, value.rounding + step / 2)
