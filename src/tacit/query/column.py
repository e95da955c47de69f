"""A column of the answer, with its intervals: arithmetic on what was released.

An interval speaks of this table after bounding: rows that were not kept, and values beyond the
bounds of their columns, are not in the exact value that it holds.
"""

from collections.abc import Iterator
from fractions import Fraction

from tacit.core.release import ReleasedColumn
from tacit.plan.reading import (
    ExtremeReading,
    MeanReading,
    QuantileReading,
    Reading,
    TotalReading,
    VarianceReading,
)
from tacit.query.kept import kept_count
from tacit.query.moment import Found, means, variances
from tacit.query.quantile import quantiles
from tacit.query.quote import Quote
from tacit.query.tree import extremes

CONFIDENCE = Fraction(19, 20)
"""How often an interval holds the exact value of the table after bounding, at least."""

MOST_ROWS = 10**9
"""Rows of a group for which the rounding of floats is within the interval of their sum."""


def column_of(
    name: str, reading: Reading, quote: Quote, released: list[list[int]]
) -> ReleasedColumn:
    """The values that ``reading`` makes of the released tallies, each with its interval."""
    found = tuple(_found(reading, quote, released))
    values = tuple(value for value, _ in found)
    intervals = tuple(interval for _, interval in found)
    return ReleasedColumn(name, values, intervals, CONFIDENCE)


def _found(reading: Reading, quote: Quote, released: list[list[int]]) -> Iterator[Found]:
    match reading:
        case TotalReading(tally, step, rounding):
            kept = kept_count(quote.tallies[tally].mechanism, CONFIDENCE)
            if kept is not None:
                for units in released[tally]:
                    low, high = kept.interval(units)
                    yield units * step, (low * step, high * step)
                return
            reach = quote.tallies[tally].error(CONFIDENCE) * step + MOST_ROWS * rounding
            for total in released[tally]:
                yield total * step, (total * step - reach, total * step + reach)
        case MeanReading():
            yield from means(reading, quote, released, CONFIDENCE)
        case VarianceReading():
            yield from variances(reading, quote, released, CONFIDENCE)
        case QuantileReading():
            yield from quantiles(reading, quote, released, CONFIDENCE)
        case ExtremeReading():
            yield from extremes(reading, quote, released, CONFIDENCE)
