"""Confidence intervals of covariances, correlations and regressions.

A covariance combines four noisy totals. `CommonSpread` computes its interval as `Spread` does
for a variance. A correlation and a regression are computed from intervals of covariances,
variances and means, each of which has a part of the probability of error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Self

from tacit.core import ClosedInterval
from tacit.errors import InternalError
from tacit.mechanisms import Gaussian
from tacit.numeric import sqrt_bounds
from tacit.plan import MeanReading, PairFunction, PairReading, VarianceReading
from tacit.query.mean_intervals import (
    DIGITS,
    Found,
    Ratio,
    means,
    sample_factor,
    square_range,
    variances,
)
from tacit.query.quote import Quote


@dataclass(frozen=True, slots=True)
class CommonSpread:
    """The confidence interval of a covariance from four noisy totals.

    ``product``, ``x`` and ``y`` are the margins of error of the three sums, and ``rows`` is
    that of the count. All numbers are in steps of the tallies, which fit in floats for bounds
    of any size.

    Guarantee: let a and b be the exact means, as distances from the centres. Then the sum of
    products minus a times the sum of y and b times the sum of x is exactly the count times
    (covariance - a * b). Its noise has a known margin for every a and b, and a quotient with a
    noisy count has the interval of `Ratio`. The interval contains the results for all means in
    their own intervals: the ends of a `Ratio` grow with its top, the upper one is convex in it
    and the lower one concave, so that the extremes are at the ends of these intervals.

    Reference: Fieller 1954, for the quotient.
    """

    product: Fraction
    x: Fraction
    y: Fraction
    rows: Fraction
    gaussian: bool

    @classmethod
    def of(cls, reading: PairReading, quote: Quote, confidence: Fraction) -> Self:
        """Return the interval rule at this confidence."""
        places = (reading.product, reading.x.total, reading.y.total, reading.x.count)
        found = [quote.tallies[place].mechanism for place in places]
        gaussian = all(isinstance(each, Gaussian) for each in found)
        if gaussian:
            sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
            # one step more for each: the distribution of integers is discrete
            reaches = [
                Fraction(sure * sqrt(each.variance) + 1)
                for each in found
                if isinstance(each, Gaussian)
            ]
        else:
            reaches = [each.error(1 - (1 - confidence) / len(found)) for each in found]
        product, x, y, rows = reaches
        return cls(product, x, y, rows, gaussian)

    def interval(
        self, estimate: Fraction, count: int, x: "CentredMean", y: "CentredMean"
    ) -> ClosedInterval | None:
        """Return the interval of the covariance around its estimate; None if unbounded."""
        farthest = [max(abs(mean.low), abs(mean.high)) for mean in (x, y)]
        parts = self.product, farthest[0] * self.y, farthest[1] * self.x
        reach = sum(parts, Fraction(0))
        if self.gaussian:
            reach = sqrt_bounds(sum((part**2 for part in parts), Fraction(0)), DIGITS)[1]
        ratio = Ratio(reach, self.rows, self.gaussian)
        shifts = _products((x.low, x.high), (y.low, y.high))
        errors = _products(
            (x.low - x.estimate, x.high - x.estimate), (y.low - y.estimate, y.high - y.estimate)
        )
        ends = []
        for shift in shifts:
            for error in errors:
                found = ratio.interval(count * (estimate + error - shift), count)
                if found is None:
                    return None
                ends += [end + shift for end in found]
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True)
class CentredMean:
    """An estimated mean and its interval, as distances from the centre in steps."""

    estimate: Fraction
    low: Fraction
    high: Fraction


Maybe = tuple[Fraction | None, ClosedInterval | None]
"""A value and its interval; both are None where a divisor cannot be distinguished from 0."""


def pair_statistics(
    reading: PairReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Maybe]:
    """Yield a statistic of two numbers for each group, with an interval.

    The probability of error is divided equally among the parts: a covariance, variances, and
    means. If all of them are within their intervals, the statistic is within its own. Where the
    interval of a variance reaches 0, a correlation or a regression is None.
    """
    function, doubt = reading.function, 1 - confidence
    match function:
        case PairFunction.COVARIANCE | PairFunction.SAMPLE_COVARIANCE:
            yield from covariances(reading, quote, released, confidence)
        case PairFunction.SLOPE:
            yield from _slopes(reading, quote, released, 1 - doubt / 2)
        case PairFunction.INTERCEPT:
            each = 1 - doubt / 4
            slopes = _slopes(reading, quote, released, each)
            x = means(reading.x, quote, released, each)
            y = means(reading.y, quote, released, each)
            for slope, over, under in zip(slopes, y, x, strict=True):
                yield _intercept(slope, over, under)
        case PairFunction.CORRELATION | PairFunction.DETERMINATION:
            each = 1 - doubt / 3
            parts = (
                covariances(reading, quote, released, each),
                _spreads(reading.x_variance, quote, released, each),
                _spreads(reading.y_variance, quote, released, each),
            )
            for covariance, one, other in zip(*parts, strict=True):
                value, around = _correlation(covariance, one, other)
                if function is PairFunction.CORRELATION or value is None or around is None:
                    yield value, around
                else:
                    yield value**2, square_range(*around)


def covariances(
    reading: PairReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Found]:
    """Yield the covariance of each group and an interval.

    Most of the allowed probability of error is given to the products, as in `variances`.
    """
    sample = reading.function is PairFunction.SAMPLE_COVARIANCE
    aside = (1 - confidence) / 10
    noise = CommonSpread.of(reading, quote, confidence + (3 if sample else 2) * aside)
    below = quote.tallies[reading.x.count].error(1 - aside)
    most, rounding = _largest_covariance(reading)
    places = (reading.product, reading.x.total, reading.y.total, reading.x.count)
    totals = zip(*(released[place] for place in places), strict=True)
    x_means = means(reading.x, quote, released, 1 - aside)
    y_means = means(reading.y, quote, released, 1 - aside)
    for found, (_, x_around), (_, y_around) in zip(totals, x_means, y_means, strict=True):
        product, x_total, y_total, count = found
        rows = max(count, 1)
        x = _centred_mean(reading.x, x_total, rows, x_around)
        y = _centred_mean(reading.y, y_total, rows, y_around)
        value = Fraction(product, rows) - x.estimate * y.estimate
        ends = noise.interval(value, count, x, y)
        low, high = (-most, most) if ends is None else (end * reading.step for end in ends)
        low, high = max(low, -most) - rounding, min(high, most) + rounding
        value = min(max(value * reading.step, -most), most)
        if sample:
            value *= sample_factor(Fraction(count))
            factor = sample_factor(count - below)
            low, high = min(low, low * factor), max(high, high * factor)
        yield value, (min(low, value), max(high, value))


def _centred_mean(
    reading: MeanReading, total: int, rows: int, around: ClosedInterval
) -> CentredMean:
    low, high = ((end - reading.centre) / reading.step for end in around)
    return CentredMean(Fraction(total, rows), low, high)


def _largest_covariance(reading: PairReading) -> ClosedInterval:
    """Return the largest covariance within the bounds, and how far rounding can move it.

    A covariance is at most the product of the standard deviations, which are at most half a
    range each.
    """
    x, y = ((each.high - each.low) / 2 for each in (reading.x, reading.y))
    one, other = reading.x.rounding, reading.y.rounding
    return x * y, one * y + other * x + one * other


def _spreads(
    reading: VarianceReading | None,
    quote: Quote,
    released: list[list[int]],
    confidence: Fraction,
) -> Iterator[Found]:
    if reading is None:
        raise InternalError("This statistic of two numbers needs a variance.")
    return variances(reading, quote, released, confidence)


def _slopes(
    reading: PairReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Maybe]:
    """Yield covariance / variance of x; each of the two has the given confidence."""
    tops = covariances(reading, quote, released, confidence)
    bottoms = _spreads(reading.x_variance, quote, released, confidence)
    for (top, above), (bottom, below) in zip(tops, bottoms, strict=True):
        if below[0] <= 0:
            yield None, None
            continue
        value, ends = top / bottom, _products(above, (1 / below[1], 1 / below[0]))
        yield value, (min(ends), max(ends))


def _intercept(slope: Maybe, y: Found, x: Found) -> Maybe:
    """Return the mean of y minus the slope times the mean of x."""
    value, around = slope
    if value is None or around is None:
        return None, None
    ends = _products(around, x[1])
    return y[0] - value * x[0], (y[1][0] - max(ends), y[1][1] - min(ends))


def _correlation(covariance: Found, one: Found, other: Found) -> Maybe:
    """Return covariance / sqrt(variance * variance), within -1 and 1."""
    (value, around), (x, x_around), (y, y_around) = covariance, one, other
    if x_around[0] <= 0 or y_around[0] <= 0:
        return None, None
    nearest = sqrt_bounds(x_around[0] * y_around[0], DIGITS)[0]
    farthest = sqrt_bounds(x_around[1] * y_around[1], DIGITS)[1]
    ends = _products(around, (1 / farthest, 1 / nearest))
    found = value / sqrt_bounds(x * y, DIGITS)[1]
    low, middle, high = (_in_one(part) for part in (min(ends), found, max(ends)))
    return middle, (min(low, middle), max(high, middle))


def _in_one(value: Fraction) -> Fraction:
    return min(max(value, Fraction(-1)), Fraction(1))


def _products(one: ClosedInterval, other: ClosedInterval) -> list[Fraction]:
    """Return the four products of the ends of two intervals.

    Example:
        >>> ends = _products((Fraction(-1), Fraction(2)), (Fraction(3), Fraction(4)))
        >>> int(min(ends)), int(max(ends))
        (-4, 8)
    """
    return [left * right for left in one for right in other]
