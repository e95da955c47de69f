"""A column of the answer, with its intervals: arithmetic on what was released.

An interval speaks of this table after bounding: rows that were not kept, and values beyond the
bounds of their columns, are not in the exact value that it holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Interval, ReleasedColumn
from tacit.errors import InvalidValue
from tacit.numeric import plain
from tacit.plan import tally as tallies
from tacit.query.mean_intervals import Found, means, variances
from tacit.query.quantile_intervals import RankNoise, extremes, quantile_of, quantiles, tree_of
from tacit.query.quote import Quote
from tacit.query.selected_count import kept_count

CONFIDENCE = Fraction(19, 20)
"""How often an interval holds the exact value of the table after bounding, at least."""

MOST_ROWS = 10**9
"""Rows of a group for which the rounding of floats is within the interval of their sum."""


def column_of(
    name: str, reading: tallies.Reading, quote: Quote, released: list[list[int]]
) -> ReleasedColumn:
    """The values that ``reading`` makes of the released tallies, each with its interval."""
    found = tuple(_found(reading, quote, released))
    values = tuple(value for value, _ in found)
    intervals = tuple(interval for _, interval in found)
    return ReleasedColumn(name, values, intervals, CONFIDENCE)


def _found(
    reading: tallies.Reading, quote: Quote, released: list[list[int]]
) -> Iterator[Found]:
    match reading:
        case tallies.TotalReading(tally, step, rounding):
            kept = kept_count(quote.tallies[tally].mechanism, CONFIDENCE)
            if kept is not None:
                for units in released[tally]:
                    low, high = kept.interval(units)
                    yield units * step, (low * step, high * step)
                return
            reach = quote.tallies[tally].error(CONFIDENCE) * step + MOST_ROWS * rounding
            for total in released[tally]:
                yield total * step, (total * step - reach, total * step + reach)
        case tallies.MeanReading():
            yield from means(reading, quote, released, CONFIDENCE)
        case tallies.VarianceReading():
            yield from variances(reading, quote, released, CONFIDENCE)
        case tallies.QuantileReading():
            yield from quantiles(reading, quote, released, CONFIDENCE)
        case tallies.ExtremeReading():
            yield from extremes(reading, quote, released, CONFIDENCE)


# ------------------------------------------------------------------ expected
# How much an answer will miss by, before it is asked: a function of the quote alone.

SIZES = (10, 100, 1000, 10_000)
"""Rows of a group that errors are told for, where they depend on it."""

MOST_SIZES, LARGEST = 10, 10**12
MANY = 10**6
"""Units of a group that no selection hides."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a column misses the exact value by at most, with 95%, in its own units.

    Counts and sums have one error, ``always``. The others have one for each size of a group,
    where its values are spread evenly over their range: half of the interval's length, or all
    of it for the least and the greatest, whose intervals lie on one side.
    """

    name: str
    always: Fraction | None = None
    by_size: tuple[tuple[int, Fraction], ...] = ()


def expected(quote: Quote, assume_size: Sequence[int] = SIZES) -> tuple[Expected, ...]:
    """The error of each measure of ``quote``, under the question's own names.

    Guarantee: a function of the quote, which is public; no data is read.
    """
    check_sizes(assume_size)
    measures = zip(quote.question.plan.measures, quote.bound.readings, strict=True)
    return tuple(
        _expected(measure.name, reading, quote, tuple(assume_size))
        for measure, reading in measures
    )


def check_sizes(assume_size: Sequence[int]) -> None:
    """Refuse sizes that no group has, or more of them than are looked at."""
    if not 1 <= len(assume_size) <= MOST_SIZES:
        raise InvalidValue(
            f"Errors are told for 1 to {MOST_SIZES} sizes, and {len(assume_size)} were given."
        )
    for size in assume_size:
        if not 1 <= size <= LARGEST:
            raise InvalidValue(f"A group has 1 to {LARGEST} rows, and {size} was assumed.")


def _expected(
    name: str, reading: tallies.Reading, quote: Quote, sizes: tuple[int, ...]
) -> Expected:
    match reading:
        case tallies.TotalReading():
            # a great one: groups that hardly pass a selection have more to say
            low, high = _intervals(reading, quote, [[MANY] for _ in quote.tallies])[0]
            return Expected(name, always=(high - low) / 2)
        case tallies.MeanReading() | tallies.VarianceReading():
            found = _intervals(reading, quote, _even(reading, quote, sizes))
            errors = [(high - low) / 2 for low, high in found]
            return Expected(name, by_size=tuple(zip(sizes, errors, strict=True)))
        case tallies.QuantileReading() | tallies.ExtremeReading():
            ranks = _ranks(reading, quote)
            apart = tuple((size, _apart(reading.cells, ranks, size)) for size in sizes)
            return Expected(name, by_size=apart)


def _intervals(reading: tallies.Reading, quote: Quote, made: list[list[int]]) -> list[Interval]:
    """The intervals that a release of these very numbers would show."""
    intervals = column_of("", reading, quote, made).intervals
    return [interval for interval in intervals if interval is not None]


def _even(
    reading: tallies.MeanReading | tallies.VarianceReading, quote: Quote, sizes: tuple[int, ...]
) -> list[list[int]]:
    """The tallies of groups whose values are spread evenly over their range."""
    made = [[0] * len(sizes) for _ in quote.tallies]
    mean = reading.mean if isinstance(reading, tallies.VarianceReading) else reading
    made[mean.count] = list(sizes)
    middle = (mean.low + mean.high) / 2
    made[mean.total] = [round(size * (middle - mean.centre) / mean.step) for size in sizes]
    if isinstance(reading, tallies.VarianceReading):
        square = (mean.high - mean.low) ** 2 / 12 + (middle - reading.centre) ** 2
        away = (square - reading.middle) / reading.step
        made[reading.squares] = [round(size * away) for size in sizes]
    return made


def _ranks(reading: tallies.QuantileReading | tallies.ExtremeReading, quote: Quote) -> Fraction:
    """How many ranks noise does not tell apart."""
    if isinstance(reading, tallies.QuantileReading):
        # a reach is half as long again as the one before
        return quantile_of(quote, reading).margin * Fraction(3, 2)
    noise = RankNoise.of(quote.tallies[reading.tree].mechanism, tree_of(quote, reading.tree))
    reaches = noise.reaches(Fraction(int(reading.greatest)), 1 - CONFIDENCE)
    return Fraction(float(reaches.max()))


def _apart(cells: tallies.TreeCells, ranks: Fraction, size: int) -> Fraction:
    """How far values lie apart whose ranks are so far apart among ``size`` values."""
    whole = (cells.high - cells.low) * cells.step
    return min(whole, whole * ranks / size + cells.steps * cells.step)


# ------------------------------------------------------------------ covers
# What the interval of a column covers, in a sentence that stands beside it.

TABLE = "this table, after its rows were bounded"
"""An interval speaks of these rows, and not of those whom they may stand for."""


def covers(reading: tallies.Reading) -> str:
    """What the exact value is that the interval holds.

    Example:
        >>> from fractions import Fraction
        >>> covers(tallies.TotalReading(0, Fraction(1)))
        'the exact total of this table, after its rows were bounded'
    """
    match reading:
        case tallies.TotalReading():
            return f"the exact total of {TABLE}"
        case tallies.MeanReading():
            return f"the exact mean of {TABLE}"
        case tallies.VarianceReading():
            what = "standard deviation" if reading.root else "variance"
            of = ", as of a sample" if reading.sample else ""
            return f"the exact {what} of {TABLE}{of}"
        case tallies.QuantileReading():
            return f"the {plain(reading.fraction)} quantile of {TABLE}"
        case tallies.ExtremeReading():
            end, side = ("greatest", "above") if reading.greatest else ("least", "below")
            return (
                f"the {end} value of {TABLE}, which lies at the released one or {side} it, "
                "the last rank that noise does not hide"
            )
