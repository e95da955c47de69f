"""Windows over the rows of an answer: totals, running totals, ranks and earlier rows.

Only released values are used, so that windows cost nothing. The interval of a sum of many noisy
cells needs their noise: Gaussian variances add up, which gives a much shorter interval than
adding up the probabilities that one of the cells is wrong. `CellNoise` is the noise of the
cells of a measure. It is used only for cells whose intervals show that they have this noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate, groupby
from math import inf, sqrt
from statistics import NormalDist
from typing import Any

from tacit.core import Interval
from tacit.mechanisms import Gaussian, Mechanism
from tacit.plan import expression as expr
from tacit.query.interval_value import End, IntervalValue, Plain, closed_ends
from tacit.query.intervals import CONFIDENCE

# Noise of sums -------------------------------------------------------------------------------


def error_of_sum(mechanism: Mechanism, many: int) -> Fraction:
    """Return the margin of error of a sum of ``many`` noisy integers, in steps.

    Gaussian noises add up to Gaussian noise of ``many`` times the variance; one step more is
    for the discrete distribution. Of other noises each is within its own margin, with an equal
    part of the probability of error.

    Example:
        >>> error_of_sum(Gaussian(Fraction(100)), 1)
        Fraction(20, 1)
        >>> round(float(error_of_sum(Gaussian(Fraction(100)), 4)), 1)
        40.2
    """
    if many == 1 or not isinstance(mechanism, Gaussian):
        return many * mechanism.error(1 - (1 - CONFIDENCE) / many)
    sure = NormalDist().inv_cdf(float(1 + CONFIDENCE) / 2)
    return Fraction(sure * sqrt(many * mechanism.variance) + 1)


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The noise of the cells of a measure: independent in each of ``cells`` rows.

    Rounding moves the sum of any cells by at most ``rounding``.

    Example:
        >>> noise = CellNoise(Gaussian(Fraction(100)), Fraction(1), Fraction(0), 12)
        >>> [round(float(each), 1) for each in (noise.of_sum(12), 12 * noise.of_each(12))]
        [68.9, 348.0]
    """

    mechanism: Mechanism
    step: Fraction
    rounding: Fraction
    cells: int

    def of_sum(self, many: int) -> Fraction:
        """Return the margin of error of a sum of ``many`` cells that noise has not chosen."""
        return error_of_sum(self.mechanism, many) * self.step + self.rounding

    def of_each(self, many: int) -> Fraction:
        """Return a margin that holds for all of ``many`` cells at once."""
        sure = 1 - (1 - CONFIDENCE) / many
        return self.mechanism.error(sure) * self.step + self.rounding


Noises = Mapping[str, CellNoise]
"""The noise of measures whose cells have it, by name."""


# Windows -------------------------------------------------------------------------------------

SortValue = tuple[Plain, ...]
"""The values of one row by which rows are sorted."""


@dataclass(frozen=True, slots=True)
class WindowRows:
    """The rows of a window function: arguments, partitions and sort keys, row by row.

    ``sure`` says that noise decides neither the partitions nor the order. ``chosen`` says that
    noise has decided which rows there are, as with HAVING COUNT(*) > 100.
    """

    window: expr.WindowValue
    values: list[IntervalValue]
    partitions: list[tuple[Plain, ...]]
    sort_values: list[SortValue]
    noises: Noises
    sure: bool = True
    chosen: bool = False

    def results(self) -> list[IntervalValue]:
        """Return the value of the window function for each row."""
        found: dict[int, IntervalValue] = {}
        members: dict[tuple[Plain, ...], list[int]] = {}
        for place, partition in enumerate(self.partitions):
            members.setdefault(partition, []).append(place)
        for places in members.values():
            ordered = sort_places(places, self.sort_values, self.window.order)
            found.update(zip(ordered, self._partition(ordered), strict=True))
        made = [found[place] for place in range(len(self.values))]
        return made if self.sure else [_unsure(each, self._doubt) for each in made]

    @property
    def _doubt(self) -> Fraction:
        return max((each.doubt for each in self.values), default=Fraction(0)) or 1 - CONFIDENCE

    def _partition(self, ordered: list[int]) -> list[IntervalValue]:
        """Return the results of the rows of one partition, which are ``ordered``."""
        function, count = self.window.function, len(ordered)
        peers = self._peers(ordered)
        match function:
            case expr.WindowFunction.ROW_NUMBER:
                return [_whole(place + 1) for place in range(count)]
            case expr.WindowFunction.RANK:
                return [_whole(first + 1) for first, _, _ in peers]
            case expr.WindowFunction.DENSE_RANK:
                return [_whole(number + 1) for _, _, number in peers]
            case expr.WindowFunction.EARLIER | expr.WindowFunction.LATER:
                earlier = function is expr.WindowFunction.EARLIER
                away = -self.window.offset if earlier else self.window.offset
                return [
                    self.values[ordered[place + away]]
                    if 0 <= place + away < count
                    else IntervalValue(None)
                    for place in range(count)
                ]
        frames = [self._frame(place, count, peers[place][1]) for place in range(count)]
        cells = [self.values[place] for place in ordered]
        match function:
            case expr.WindowFunction.COUNT:
                there = [cell.value is not None or self.window.part is None for cell in cells]
                before = [0, *accumulate(map(int, there))]
                counts = [before[last] - before[first] for first, last in frames]
                doubt = max((cell.doubt for cell in cells), default=Fraction(0))
                if all(there) and isinstance(self.window.part, expr.Field | None):
                    doubt = Fraction(0)
                # noise may have decided which values are NULL
                return [IntervalValue(Fraction(each), None, doubt) for each in counts]
            case expr.WindowFunction.SUM | expr.WindowFunction.MEAN:
                sums = FrameSums(cells, self._noise_of(cells), chosen=self.chosen)
                mean = function is expr.WindowFunction.MEAN
                return [sums.of(first, last, mean=mean) for first, last in frames]
        return self._extremes(cells, frames)

    def _peers(self, ordered: list[int]) -> list[tuple[int, int, int]]:
        """Return for each row the first row, the end and the number of its equal rows."""
        found: list[tuple[int, int, int]] = []
        grouped = groupby(ordered, key=lambda place: self.sort_values[place])
        for number, (_, same) in enumerate(grouped):
            many, first = len(list(same)), len(found)
            found += [(first, first + many, number)] * many
        return found

    def _frame(self, place: int, count: int, end_of_peers: int) -> tuple[int, int]:
        """Return the first row of a frame, and the row after its last one."""
        if self.window.frame is None:
            return (0, end_of_peers) if self.window.order else (0, count)
        before, after = self.window.frame
        first = 0 if before is None else min(count, max(0, place - before))
        last = count if after is None else min(count, place + after + 1)
        return first, max(first, last)

    def _extremes(
        self, cells: list[IntervalValue], frames: list[tuple[int, int]]
    ) -> list[IntervalValue]:
        """Return the least or the greatest value of each frame.

        If all intervals hold at once, the exact extreme lies between the extremes of the ends.
        """
        noise = self._noise_of(cells)
        if noise is not None:
            margin = noise.of_each(noise.cells)
            cells = [_within(cell, margin) for cell in cells]
        one = partial(
            _extreme, self.window.function is expr.WindowFunction.LEAST, noise is not None
        )
        # each row of a running extreme needs the one before it, and not all rows again
        up = list(accumulate(cells, one))
        down = list(accumulate(reversed(cells), one))[::-1]
        found = []
        for first, last in frames:
            if first == last:
                found.append(IntervalValue(None))
            elif first == 0:
                found.append(up[last - 1])
            elif last == len(cells):
                found.append(down[first])
            else:
                found.append(reduce(one, cells[first:last]))
        return found

    def _noise_of(self, cells: list[IntervalValue]) -> CellNoise | None:
        """Return the noise of distinct cells of one measure; None if it is not known."""
        there = [cell for cell in cells if cell.value is not None]
        named = {cell.cell for cell in there}
        measures = {each[0] for each in named if each is not None}
        if None in named or len(named) != len(there) or len(measures) != 1:
            return None
        return self.noises.get(measures.pop())


def _whole(number: int) -> IntervalValue:
    return IntervalValue(Fraction(number))


def _unsure(found: IntervalValue, doubt: Fraction) -> IntervalValue:
    """Return a value without its interval: noise could have chosen other rows for it."""
    if not isinstance(found.value, int | Fraction):
        return found
    return IntervalValue(found.value, None, found.doubt or doubt)


def _within(cell: IntervalValue, margin: Fraction) -> IntervalValue:
    """Return a cell with another margin for its noise."""
    if cell.value is None:
        return cell
    around = _widen((cell.number - margin, cell.number + margin), cell)
    return replace(cell, interval=closed_ends(*around), counted=None, cell=None)


def _extreme(
    least: bool,  # noqa: FBT001 - the first argument of a partial function
    at_once: bool,  # noqa: FBT001
    one: IntervalValue,
    other: IntervalValue,
) -> IntervalValue:
    """Return the lesser or the greater of two values; doubts add up unless they hold at once.

    If one of them is not shown, although it has an exact number, there is no interval.
    """
    if one.value is None or other.value is None:
        there = other if one.value is None else one
        hidden = one.doubt + other.doubt - there.doubt
        if there.value is None or not hidden:
            return there
        return IntervalValue(there.value, None, there.doubt or hidden)
    choose = min if least else max
    number = choose(one.number, other.number)
    doubt = max(one.doubt, other.doubt) if at_once else one.doubt + other.doubt
    if not doubt:
        return IntervalValue(number)
    ends = choose(one.ends[0], other.ends[0]), choose(one.ends[1], other.ends[1])
    few = max((each.all_but for each in (one, other) if each.all_but), default=None)
    return IntervalValue(number, closed_ends(*ends), doubt, all_but=few)


class FrameSums:
    """Sums of consecutive cells, each from the sums of all cells before two places.

    With ``noise``, the margin of a sum is that of the noises together; if noise has ``chosen``
    the cells, it is that of all cells at once. Without, margins and doubts add up.
    """

    def __init__(
        self, cells: list[IntervalValue], noise: CellNoise | None, *, chosen: bool
    ) -> None:
        self._noise, self._chosen = noise, chosen
        there = [cell for cell in cells if cell.value is not None]
        self._most_doubt = max((cell.doubt for cell in cells), default=Fraction(0))
        self._all_but = max((cell.all_but for cell in there if cell.all_but), default=None)
        zero = Fraction(0)
        rows = [_parts_of_sum(cell, noised=noise is not None) for cell in cells]
        self._before = [(zero,) * len(NAMES)]
        for row in rows:
            sums = zip(self._before[-1], row, strict=True)
            self._before.append(tuple(one + other for one, other in sums))

    def of(self, first: int, last: int, *, mean: bool) -> IntervalValue:
        """Return the sum or the mean of the cells from ``first`` up to before ``last``."""
        pairs = zip(self._before[last], self._before[first], strict=True)
        part = dict(zip(NAMES, (one - other for one, other in pairs), strict=True))
        many = int(part["many"])
        if not many:
            return IntervalValue(None)
        total = self._sum(part, many)
        return total / IntervalValue(Fraction(many)) if mean else total

    def _sum(self, part: dict[str, Fraction], many: int) -> IntervalValue:
        number = part["number"]
        doubt = part["doubt"] if self._noise is None else self._most_doubt
        if part["hidden"]:
            return IntervalValue(number, None, doubt or self._most_doubt)
        if not doubt:
            return IntervalValue(number)
        margin = Fraction(0)
        if self._noise is not None:
            every = many * self._noise.of_each(self._noise.cells)
            margin = every if self._chosen else self._noise.of_sum(many)
        low = None if part["open_low"] else number - part["below"] - margin
        high = None if part["open_high"] else number + part["above"] + margin
        around = None if low is None and high is None else (low, high)
        return IntervalValue(number, around, doubt, all_but=self._all_but)


NAMES = ("number", "many", "hidden", "doubt", "open_low", "below", "open_high", "above")
"""The amounts of a cell that are added up; see `FrameSums`."""


def _parts_of_sum(cell: IntervalValue, *, noised: bool) -> tuple[Fraction, ...]:
    """Return what a cell adds to a sum: its number, and how far its interval reaches.

    If the noise is known, only what limits can have left out is counted here.
    """
    zero, one = Fraction(0), Fraction(1)
    if cell.value is None:
        hidden = one if cell.doubt else zero
        return (zero, zero, hidden, cell.doubt, zero, zero, zero, zero)
    number = cell.number
    low, high = _widen((number, number), cell) if noised else cell.ends
    below = zero if isinstance(low, float) else number - low
    above = zero if isinstance(high, float) else high - number
    opened = (one if isinstance(end, float) else zero for end in (low, high))
    open_low, open_high = opened
    return (number, one, zero, cell.doubt, open_low, below, open_high, above)


def _widen(around: tuple[End, End], cell: IntervalValue) -> tuple[End, End]:
    """Return an interval of noise, wider by what limits can have left out of ``cell``."""
    low, high = cell.ends
    noise: Interval | None = cell.counted or cell.interval
    if noise is None or noise[0] is None or noise[1] is None:
        return -inf, inf
    return around[0] - (noise[0] - low), around[1] + (high - noise[1])


# Sorting -------------------------------------------------------------------------------------


def sort_places(
    places: list[int], values: list[SortValue], keys: tuple[expr.SortKey, ...]
) -> list[int]:
    """Return ``places`` sorted by the values of their rows; equal rows keep their order.

    Example:
        >>> by = (expr.SortKey(expr.Field("n"), descending=True),)
        >>> sort_places([0, 1, 2], [(None,), (Fraction(1),), (Fraction(2),)], by)
        [2, 1, 0]
    """
    for number in reversed(range(len(keys))):
        key = keys[number]

        def value_at(place: int, number: int = number) -> Any:
            return values[place][number]

        empty = [place for place in places if value_at(place) is None]
        full = [place for place in places if value_at(place) is not None]
        full = sorted(full, key=value_at, reverse=key.descending)
        places = empty + full if key.nulls_first else full + empty
    return places
