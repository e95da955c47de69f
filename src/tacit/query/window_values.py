"""Windows over the rows of an answer: totals, running totals, ranks and earlier rows.

Only released values are used, so that windows cost nothing. The interval of a sum of many noisy
cells needs their noise: Gaussian variances add up, which gives a much shorter interval than
adding up the probabilities that one of the cells is wrong. `CellNoise` is the noise of the
cells of a measure. It is used only for cells whose intervals show that they have this noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
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
        known: dict[tuple[int, int], IntervalValue] = {}
        for first, last in frames:
            if (first, last) not in known:
                known[first, last] = self._aggregate(ordered[first:last])
        return [known[frame] for frame in frames]

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
        first = 0 if before is None else max(0, place - before)
        last = count if after is None else min(count, place + after + 1)
        return first, max(first, last)

    def _aggregate(self, places: list[int]) -> IntervalValue:
        cells = [self.values[place] for place in places]
        there = [cell for cell in cells if cell.value is not None]
        match self.window.function:
            case expr.WindowFunction.COUNT:
                return _whole(len(there) if self.window.part is not None else len(cells))
            case expr.WindowFunction.SUM:
                return self._sum(cells, there)
            case expr.WindowFunction.MEAN:
                return self._sum(cells, there) / IntervalValue(Fraction(len(there)))
        return self._extreme(cells, there)

    def _sum(self, cells: list[IntervalValue], there: list[IntervalValue]) -> IntervalValue:
        if not there:
            return IntervalValue(None)
        noise = self._noise_of(there)
        total = there[0]
        if noise is None:
            for cell in there[1:]:
                total += cell
            return _without_missing(total, cells)
        many = len(there)
        margin = many * noise.of_each(noise.cells) if self.chosen else noise.of_sum(many)
        number = sum((cell.number for cell in there), Fraction(0))
        around: tuple[End, End] = (number - margin, number + margin)
        for cell in there:
            around = _widen(around, cell)
        found = IntervalValue(
            number,
            closed_ends(*around),
            max(cell.doubt for cell in there),
            all_but=max((cell.all_but for cell in there if cell.all_but), default=None),
        )
        return _without_missing(found, cells)

    def _extreme(self, cells: list[IntervalValue], there: list[IntervalValue]) -> IntervalValue:
        """Return the least or the greatest value, with an interval of the exact one.

        If all intervals hold at once, the exact extreme lies between the extremes of the ends.
        """
        if not there:
            return IntervalValue(None)
        choose = min if self.window.function is expr.WindowFunction.LEAST else max
        number = choose(cell.number for cell in there)
        doubt = sum((cell.doubt for cell in there), Fraction(0))
        if not doubt:
            return IntervalValue(number)
        noise = self._noise_of(there)
        around = [cell.ends for cell in there]
        if noise is not None:
            margin = noise.of_each(noise.cells if self.chosen else len(there))
            around = [
                _widen((cell.number - margin, cell.number + margin), cell) for cell in there
            ]
            doubt = max(cell.doubt for cell in there)
        ends = choose(each[0] for each in around), choose(each[1] for each in around)
        few = max((cell.all_but for cell in there if cell.all_but), default=None)
        found = IntervalValue(number, closed_ends(*ends), doubt, all_but=few)
        return _without_missing(found, cells)

    def _noise_of(self, cells: list[IntervalValue]) -> CellNoise | None:
        """Return the noise of distinct cells of one measure; None if it is not known."""
        named = {cell.cell for cell in cells}
        measures = {each[0] for each in named if each is not None}
        if None in named or len(named) != len(cells) or len(measures) != 1:
            return None
        return self.noises.get(measures.pop())


def _whole(number: int) -> IntervalValue:
    return IntervalValue(Fraction(number))


def _unsure(found: IntervalValue, doubt: Fraction) -> IntervalValue:
    """Return a value without its interval: noise could have chosen other rows for it."""
    if not isinstance(found.value, int | Fraction):
        return found
    return IntervalValue(found.value, None, found.doubt or doubt)


def _without_missing(found: IntervalValue, cells: list[IntervalValue]) -> IntervalValue:
    """Return a value without interval if a noisy cell is not shown: it has an exact number."""
    hidden = [cell.doubt for cell in cells if cell.value is None and cell.doubt]
    return IntervalValue(found.value, None, found.doubt or hidden[0]) if hidden else found


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
