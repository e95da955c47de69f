"""How much an answer will miss by, before it is asked: a function of the quote alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core.release import Interval
from tacit.errors import InvalidValue
from tacit.plan.reading import (
    Cells,
    ExtremeReading,
    MeanReading,
    QuantileReading,
    Reading,
    TotalReading,
    VarianceReading,
)
from tacit.query.column import CONFIDENCE, column_of
from tacit.query.quantile import quantile_of
from tacit.query.quote import Quote
from tacit.query.rank import RankNoise
from tacit.query.tree import tree_of

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


def _expected(name: str, reading: Reading, quote: Quote, sizes: tuple[int, ...]) -> Expected:
    match reading:
        case TotalReading():
            # a great one: groups that hardly pass a selection have more to say
            low, high = _intervals(reading, quote, [[MANY] for _ in quote.tallies])[0]
            return Expected(name, always=(high - low) / 2)
        case MeanReading() | VarianceReading():
            found = _intervals(reading, quote, _even(reading, quote, sizes))
            errors = [(high - low) / 2 for low, high in found]
            return Expected(name, by_size=tuple(zip(sizes, errors, strict=True)))
        case QuantileReading() | ExtremeReading():
            ranks = _ranks(reading, quote)
            apart = tuple((size, _apart(reading.cells, ranks, size)) for size in sizes)
            return Expected(name, by_size=apart)


def _intervals(reading: Reading, quote: Quote, made: list[list[int]]) -> list[Interval]:
    """The intervals that a release of these very numbers would show."""
    intervals = column_of("", reading, quote, made).intervals
    return [interval for interval in intervals if interval is not None]


def _even(
    reading: MeanReading | VarianceReading, quote: Quote, sizes: tuple[int, ...]
) -> list[list[int]]:
    """The tallies of groups whose values are spread evenly over their range."""
    made = [[0] * len(sizes) for _ in quote.tallies]
    mean = reading.mean if isinstance(reading, VarianceReading) else reading
    made[mean.count] = list(sizes)
    middle = (mean.low + mean.high) / 2
    made[mean.total] = [round(size * (middle - mean.centre) / mean.step) for size in sizes]
    if isinstance(reading, VarianceReading):
        square = (mean.high - mean.low) ** 2 / 12 + (middle - reading.centre) ** 2
        away = (square - reading.middle) / reading.step
        made[reading.squares] = [round(size * away) for size in sizes]
    return made


def _ranks(reading: QuantileReading | ExtremeReading, quote: Quote) -> Fraction:
    """How many ranks noise does not tell apart."""
    if isinstance(reading, QuantileReading):
        # a reach is half as long again as the one before
        return quantile_of(quote, reading).margin * Fraction(3, 2)
    noise = RankNoise.of(quote.tallies[reading.tree].mechanism, tree_of(quote, reading.tree))
    reaches = noise.reaches(Fraction(int(reading.greatest)), 1 - CONFIDENCE)
    return Fraction(float(reaches.max()))


def _apart(cells: Cells, ranks: Fraction, size: int) -> Fraction:
    """How far values lie apart whose ranks are so far apart among ``size`` values."""
    whole = (cells.high - cells.low) * cells.step
    return min(whole, whole * ranks / size + cells.steps * cells.step)
