"""Means and variances from centred sums and counts, over the rows that a unit keeps."""

from collections.abc import Callable

from tacit.plan.ranged import ROOM, Ranged
from tacit.plan.reading import MeanReading, VarianceReading
from tacit.plan.steps import CaseSteps, NotSo, StepsAreNull, WholeSteps
from tacit.plan.tally import KeptTally, Tally

Place = Callable[[Tally], int]
"""Where a tally stands among those of a question; it is added where it is missing."""


def mean(value: Ranged, max_rows: int, place: Place) -> MeanReading:
    """A mean from a centred sum and a count: centring halves what one unit can move."""
    centre = (value.low + value.high) // 2
    there = NotSo(StepsAreNull(value.steps))
    counted = CaseSteps(((there, WholeSteps(1)),), WholeSteps(0))
    return MeanReading(
        total=place(_kept(value.above(centre), max_rows)),
        count=place(KeptTally(counted, 0, max_rows)),
        centre=centre * value.step,
        step=value.step,
        low=value.low * value.step,
        high=value.high * value.step,
        rounding=value.rounding,
    )


def variance(
    value: Ranged, max_rows: int, place: Place, *, sample: bool, root: bool
) -> VarianceReading:
    """A variance from the mean's tallies and the squares around a centre.

    The squares too are centred on the middle of their range, which halves what one unit moves.
    Where they would not fit 62 bits, they are taken on a coarser grid.
    """
    coarse = _coarse(value.above(value.low), max_rows)
    centre = (coarse.low + coarse.high) // 2
    offset = coarse.above(centre)
    farthest = max(-offset.low, offset.high) ** 2
    square = Ranged((offset * offset).steps, 0, farthest, offset.step**2)
    middle = farthest // 2
    away = offset.size
    return VarianceReading(
        mean=mean(value, max_rows, place),
        squares=place(_kept(square.above(middle), max_rows)),
        centre=value.low * value.step + centre * coarse.step,
        middle=middle * square.step,
        step=square.step,
        rounding=coarse.rounding * (2 * away + coarse.rounding),
        sample=sample,
        root=root,
    )


def _kept(value: Ranged, max_rows: int) -> KeptTally:
    low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
    return KeptTally(Ranged(value.steps, low, high, value.step).steps, low, high)


def _coarse(value: Ranged, max_rows: int) -> Ranged:
    """``value``, never below 0, in the finest steps whose squares fit."""
    times = 0
    while max_rows * ((value.high >> times) // 2 + 2) ** 2 >= ROOM:
        times += 1
    return value.halved(times)
