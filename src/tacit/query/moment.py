"""Means, variances and deviations, with what they can be."""

from collections.abc import Iterator
from fractions import Fraction

from tacit.core.release import Interval
from tacit.numeric.exact import sqrt_bounds
from tacit.plan.reading import MeanReading, VarianceReading
from tacit.query.quote import Quote
from tacit.query.ratio import Ratio
from tacit.query.spread import Spread, square_range

Found = tuple[Fraction, Interval]
"""A released value and its interval."""

DIGITS = 20
"""Decimal digits of a root."""


def means(
    reading: MeanReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Found]:
    """The mean of each group; the exact one is in the interval with this probability."""
    ratio = _over_count(reading.total, reading, quote, confidence)
    for total, count in zip(released[reading.total], released[reading.count], strict=True):
        value = _inside(reading, reading.centre + total * reading.step / max(count, 1))
        found = ratio.interval(total, count)
        if found is None:
            yield value, (reading.low - reading.rounding, reading.high + reading.rounding)
            continue
        # a bound that is no float lies beyond its own step, by no more than rounding moves it
        low, high = (_inside(reading, reading.centre + end * reading.step) for end in found)
        yield value, (min(value, low - reading.rounding), max(value, high + reading.rounding))


def variances(
    reading: VarianceReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[Found]:
    """The variance of each group, or its root.

    The interval holds where those of the mean, of the squares and, for a sample, of the count
    do; the squares have most of the doubt, since they decide how long it is.
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
            interval = _apart(reading, ratio.interval(square, count), reach)
        else:
            interval = spread.interval(reading, found, reach)
        low, high = interval or (Fraction(0), _most(reading))
        low, high = low - reading.rounding, high + reading.rounding
        if reading.sample:
            value *= _sample_factor(Fraction(count))
            high *= _sample_factor(count - below)
        yield _shown(reading, value, (low, high))


def _apart(
    reading: VarianceReading, squares: Interval | None, mean: Interval
) -> Interval | None:
    """Where the variance lies, by the mean square and the mean, each by itself."""
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


def _sample_factor(count: Fraction) -> Fraction:
    """What makes the variance of rows that of a sample; there are two rows at least."""
    rows = max(count, Fraction(2))
    return rows / (rows - 1)


def _most(reading: VarianceReading) -> Fraction:
    """The greatest variance within the bounds: half of the rows at each end."""
    most = (reading.mean.high - reading.mean.low) ** 2 / 4
    return 2 * most if reading.sample else most


def _shown(reading: VarianceReading, value: Fraction, interval: Interval) -> Found:
    """A variance within what the bounds allow, or its root."""
    most = _most(reading)
    low, value, high = (
        min(max(part, Fraction(0)), most) for part in (interval[0], value, interval[1])
    )
    low, high = min(low, value), max(high, value)
    if not reading.root:
        return value, (low, high)
    ends = sqrt_bounds(low, DIGITS)[0], sqrt_bounds(high, DIGITS)[1]
    return sqrt_bounds(value, DIGITS)[0], ends
