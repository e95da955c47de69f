"""Confidence intervals of means and variances.

A mean is a quotient of two noisy totals, a sum and a count. `Ratio` computes its interval by
Fieller's method. `Spread` does the same for a variance, which combines three noisy totals. Both
take the noise of all totals into account at once, which gives shorter intervals than adding the
errors of each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, hypot, sqrt
from statistics import NormalDist
from typing import Self

from tacit.core import ClosedInterval
from tacit.mechanisms import Gaussian, Mechanism
from tacit.numeric import sqrt_bounds
from tacit.plan import MeanReading, VarianceReading
from tacit.query.quote import Quote

FLOAT_MARGIN = 1e-9
"""Relative margin for the rounding of floats in a square root; the real error is smaller."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The confidence interval of a quotient of two noisy totals.

    ``top_reach`` and ``bottom_reach`` are the margins of error of the two totals.

    Guarantee: if both noises are Gaussian, top - quotient * bottom is Gaussian too, with a
    variance that depends on the quotient; the interval contains the quotients for which this
    difference is within its margin. For other noise, each total is within its own margin, with
    half of the probability of error each. The exact bottom is assumed to be at least 1.
    Reference: Fieller 1954.

    Example:
        >>> noise = Gaussian(Fraction(100))
        >>> low, high = Ratio.of(noise, noise, Fraction("0.95")).interval(500, 1000)
        >>> round(float(low), 3), round(float(high), 3)
        (0.477, 0.523)
    """

    top_reach: Fraction
    bottom_reach: Fraction
    gaussian: bool

    @classmethod
    def of(cls, top: Mechanism, bottom: Mechanism, confidence: Fraction) -> Self:
        """Return the interval rule for the quotient of two released totals."""
        if isinstance(top, Gaussian) and isinstance(bottom, Gaussian):
            sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
            # one step more for each: the distribution of integers is discrete
            one, other = (Fraction(sure * sqrt(part.variance) + 1) for part in (top, bottom))
            return cls(one, other, gaussian=True)
        each = 1 - (1 - confidence) / 2
        return cls(top.error(each), bottom.error(each), gaussian=False)

    def interval(self, top: Fraction | int, bottom: int) -> ClosedInterval | None:
        """Return the interval of the quotient; None if it is unbounded."""
        if bottom <= self.bottom_reach:
            return None
        if self.gaussian:
            return self._fieller(top, bottom)
        ends = [
            (top + side * self.top_reach) / max(bottom + way * self.bottom_reach, Fraction(1))
            for side in (-1, 1)
            for way in (-1, 1)
        ]
        return min(ends), max(ends)

    def _fieller(self, top: Fraction | int, bottom: int) -> ClosedInterval:
        """Return all q with (top - q * bottom)**2 <= top_reach**2 + (q * bottom_reach)**2."""
        noise, below = float(self.top_reach), float(self.bottom_reach)
        over, square = float(top), float(bottom) ** 2 - below**2
        # the discriminant, without its largest terms, which cancel
        root = sqrt((noise * bottom) ** 2 + (over * below) ** 2 - (noise * below) ** 2)
        middle, root = over * float(bottom), root * (1 + FLOAT_MARGIN)
        return Fraction((middle - root) / square), Fraction((middle + root) / square)


@dataclass(frozen=True, slots=True)
class Spread:
    """The confidence interval of a variance from three totals with Gaussian noise.

    ``squares``, ``values`` and ``rows`` are the margins of error of the three totals, in units
    of squares, of values, and of rows.

    Guarantee: at the exact mean, the sum of squares around it, minus variance * count, is
    Gaussian noise whose variance depends on the mean and on the variance. The interval contains
    the variances for which this noise is within its margin, for some mean in the mean's own
    interval. Near the exact mean the squares change little, so that the interval is not much
    longer than for a known mean.
    """

    squares: Fraction
    values: Fraction
    rows: Fraction
    step: Fraction

    @classmethod
    def of(cls, reading: VarianceReading, quote: Quote, confidence: Fraction) -> Self | None:
        """Return the interval rule at this confidence; None if some noise is not Gaussian."""
        sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
        reaches = []
        for place in (reading.squares, reading.mean.total, reading.mean.count):
            mechanism = quote.tallies[place].mechanism
            if not isinstance(mechanism, Gaussian):
                return None
            reaches.append(Fraction(sure * sqrt(mechanism.variance)))
        squares, values, rows = reaches
        return cls(squares * reading.step, values * reading.mean.step, rows, reading.step)

    def interval(
        self, reading: VarianceReading, found: tuple[int, int, int], mean: ClosedInterval
    ) -> ClosedInterval | None:
        """Return the interval of the variance from the three totals and the mean's interval."""
        square, total, count = found
        centre = reading.mean.centre - reading.centre
        low, high = (end - reading.centre for end in mean)
        middle = (total * reading.mean.step + count * centre) / max(count, 1)
        around = square * reading.step + count * (reading.middle - middle**2)
        farthest = max((low - middle) ** 2, (high - middle) ** 2)
        # the amount that a row adds in addition to the variance, for all means in the interval
        near, far = square_range(low - centre, high - centre)
        offset = reading.middle - centre**2
        # in steps of the squares, which fit in floats for bounds of any size
        unit = reading.step
        moved = 2 * max(abs(low), abs(high)) * self.values
        reach = Fraction(hypot(self.squares / unit, moved / unit))
        # one step more for each: the distribution of integers is discrete
        ratio = Ratio(reach + self.step / unit, self.rows + 1, gaussian=True)
        ends = []
        for shift in (near + offset, far + offset):
            for top in (around, around + count * farthest):
                interval = ratio.interval((top - count * shift) / unit, count)
                if interval is None:
                    return None
                ends += [end * unit + shift for end in interval]
        return min(ends), max(ends)


def square_range(low: Fraction, high: Fraction) -> ClosedInterval:
    """Return the least and the greatest square of a number between ``low`` and ``high``.

    Example:
        >>> square_range(Fraction(-1), Fraction(2))
        (Fraction(0, 1), Fraction(4, 1))
    """
    squares = low**2, high**2
    return (Fraction(0) if low <= 0 <= high else min(squares)), max(squares)


# Values with their intervals -----------------------------------------------------------------

Found = tuple[Fraction, ClosedInterval]
"""A released value and its interval."""

DIGITS = 20
"""Number of decimal digits of a square root."""


def means(
    reading: MeanReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Found]:
    """Yield the mean of each group and an interval with the given confidence."""
    ratio = _over_count(reading.total, reading, quote, confidence)
    for total, count in zip(released[reading.total], released[reading.count], strict=True):
        value = _inside(reading, reading.centre + total * reading.step / max(count, 1))
        found = ratio.interval(total, count)
        if found is None:
            yield value, (reading.low - reading.rounding, reading.high + reading.rounding)
            continue
        # the exact mean may lie beyond a bound that is not a float, by at most the rounding
        low, high = (_inside(reading, reading.centre + end * reading.step) for end in found)
        yield value, (min(value, low - reading.rounding), max(value, high + reading.rounding))


FEW = Fraction(1, 1000)
"""Probability that a mean has fewer rows than `least_rows`."""


def least_rows(
    reading: MeanReading, quote: Quote, released: list[list[int]]
) -> tuple[int, ...]:
    """Return the least number of rows of each mean, which is right with all but `FEW`."""
    # the error is on either side with half of the probability
    reach = quote.tallies[reading.count].error(1 - 2 * FEW)
    return tuple(max(0, ceil(count - reach)) for count in released[reading.count])


def variances(
    reading: VarianceReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Found]:
    """Yield the variance of each group, or its square root, and an interval.

    The interval is correct if those of the mean, of the squares and, for a sample, of the count
    are. Most of the allowed probability of error is given to the squares, because they
    determine the length of the interval.
    """
    aside = (1 - confidence) / 5
    rest = confidence + (2 if reading.sample else 1) * aside
    mean = reading.mean
    spread = Spread.of(reading, quote, rest)
    ratio = _over_count(reading.squares, mean, quote, rest)
    below = quote.tallies[mean.count].error(1 - aside)
    totals = (released[place] for place in (reading.squares, mean.total, mean.count))
    centred = means(mean, quote, released, 1 - aside)
    for found, (middle, reach) in zip(zip(*totals, strict=True), centred, strict=True):
        square, _, count = found
        value = square * reading.step / max(count, 1) + reading.middle
        value -= (middle - reading.centre) ** 2
        if spread is None:
            interval = _combine(reading, ratio.interval(square, count), reach)
        else:
            interval = spread.interval(reading, found, reach)
        low, high = interval or (Fraction(0), _most(reading))
        low, high = low - reading.rounding, high + reading.rounding
        if reading.sample:
            value *= sample_factor(Fraction(count))
            high *= sample_factor(count - below)
        yield _clamp(reading, value, (low, high))


def _combine(
    reading: VarianceReading, squares: ClosedInterval | None, mean: ClosedInterval
) -> ClosedInterval | None:
    """Return the interval of the variance from those of the mean square and of the mean."""
    if squares is None:
        return None
    near, far = square_range(mean[0] - reading.centre, mean[1] - reading.centre)
    low, high = (end * reading.step + reading.middle for end in squares)
    return low - far, high - near


def _over_count(top: int, mean: MeanReading, quote: Quote, confidence: Fraction) -> Ratio:
    above, count = quote.tallies[top].mechanism, quote.tallies[mean.count].mechanism
    return Ratio.of(above, count, confidence)


def _inside(reading: MeanReading, value: Fraction) -> Fraction:
    return min(max(value, reading.low), reading.high)


def sample_factor(count: Fraction) -> Fraction:
    """Return n / (n - 1), which turns a population variance into a sample variance; n >= 2."""
    rows = max(count, Fraction(2))
    return rows / (rows - 1)


def _most(reading: VarianceReading) -> Fraction:
    """Return the largest variance within the bounds: half of the rows are at each bound."""
    most = (reading.mean.high - reading.mean.low) ** 2 / 4
    return 2 * most if reading.sample else most


def _clamp(reading: VarianceReading, value: Fraction, interval: ClosedInterval) -> Found:
    """Return a variance, or its root, and its interval, clamped to the possible range."""
    most = _most(reading)
    low, value, high = (
        min(max(part, Fraction(0)), most) for part in (interval[0], value, interval[1])
    )
    low, high = min(low, value), max(high, value)
    if not reading.root:
        return value, (low, high)
    ends = sqrt_bounds(low, DIGITS)[0], sqrt_bounds(high, DIGITS)[1]
    return sqrt_bounds(value, DIGITS)[0], ends
