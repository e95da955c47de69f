"""A column of the answer, with its intervals: arithmetic on what was released."""

from fractions import Fraction

from tacit.core.release import Interval, ReleasedColumn
from tacit.plan.reading import MeanReading, Reading, TotalReading
from tacit.query.quote import Quote

CONFIDENCE = Fraction(19, 20)
"""How often an interval holds the exact value of the table after bounding, at least."""


def column_of(
    name: str, reading: Reading, quote: Quote, released: list[list[int]]
) -> ReleasedColumn:
    """The values that ``reading`` makes of the released tallies, each with its interval."""
    match reading:
        case TotalReading(tally, step):
            reach = quote.tallies[tally].error(CONFIDENCE) * step
            values = tuple(value * step for value in released[tally])
            intervals = tuple((value - reach, value + reach) for value in values)
            return ReleasedColumn(name, values, intervals, CONFIDENCE)
        case MeanReading():
            return _means(name, reading, quote, released)


def _means(
    name: str, reading: MeanReading, quote: Quote, released: list[list[int]]
) -> ReleasedColumn:
    """Means, and intervals that hold where both the sum and the count are within theirs."""
    both = 1 - (1 - CONFIDENCE) / 2
    total_reach = quote.tallies[reading.total].error(both)
    count_reach = quote.tallies[reading.count].error(both)
    values, intervals = [], []
    for total, count in zip(released[reading.total], released[reading.count], strict=True):
        values.append(_mean(reading, Fraction(total), Fraction(max(count, 1))))
        ends = [
            _mean(
                reading,
                total + side * total_reach,
                max(count + other * count_reach, Fraction(1)),
            )
            for side in (-1, 1)
            for other in (-1, 1)
        ]
        certain: Interval = (min(ends), max(ends))
        intervals.append(certain if count > count_reach else (reading.low, reading.high))
    return ReleasedColumn(name, tuple(values), tuple(intervals), CONFIDENCE)


def _mean(reading: MeanReading, total: Fraction, count: Fraction) -> Fraction:
    value = reading.centre + total * reading.step / count
    return min(max(value, reading.low), reading.high)
