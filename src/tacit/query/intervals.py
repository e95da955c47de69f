"""Columns of an answer with their confidence intervals, and the errors to expect of them.

Everything here is post-processing: it uses released tallies and the public quote. An interval
covers the noise: the exact value that it contains is computed without rows above the
contribution limits, and with values clamped to the bounds of their columns.
`tacit.query.open_ends` makes it an interval of what was asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import floor

from tacit.core import ClosedInterval, ReleasedColumn, day_of
from tacit.errors import InvalidValue
from tacit.plan import Field, Kept, PairFunction, Slack
from tacit.plan import tally as tallies
from tacit.query.marginal_estimates import quote_of_table
from tacit.query.mean_intervals import least_rows, means, variances
from tacit.query.pair_intervals import Maybe, pair_statistics
from tacit.query.quantile_intervals import RankNoise, extremes, quantile_of, quantiles, tree_of
from tacit.query.quote import Quote
from tacit.query.selected_count import selected_count_interval

CONFIDENCE = Fraction(19, 20)
"""Least probability with which an interval contains the exact value after bounding."""

MOST_ROWS = 10**9
"""Largest number of rows of a group for which the interval of a sum covers the rounding of
floats."""


def column_of(
    name: str, reading: tallies.Reading, quote: Quote, released: list[list[int]]
) -> ReleasedColumn:
    """Return the values that ``reading`` computes from released tallies, with intervals.

    The intervals cover the noise: they are about the rows that count. Days are released as
    dates, without intervals.
    """
    found = tuple(_values(reading, quote, released))
    values = tuple(value for value, _ in found)
    if tallies.is_date(reading):
        days = (day_of(floor(value)) for value in values if value is not None)
        return ReleasedColumn(name, tuple(day.isoformat() for day in days))
    intervals = tuple(interval for _, interval in found)
    rows = (
        least_rows(reading, quote, released) if isinstance(reading, tallies.MeanReading) else ()
    )
    return ReleasedColumn(name, values, intervals, CONFIDENCE, rows=rows)


def _values(
    reading: tallies.Reading, quote: Quote, released: list[list[int]]
) -> Iterator[Maybe]:
    match reading:
        case tallies.TotalReading(tally, step, rounding):
            kept = selected_count_interval(quote.tallies[tally].mechanism, CONFIDENCE)
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
        case tallies.PairReading():
            yield from pair_statistics(reading, quote, released, CONFIDENCE)
        case tallies.QuantileReading():
            yield from quantiles(reading, quote, released, CONFIDENCE)
        case tallies.ExtremeReading():
            yield from extremes(reading, quote, released, CONFIDENCE)


# Errors to expect ----------------------------------------------------------------------------
#
# The margin of error that an answer will have is a function of the quote, so that an analyst
# can see it before anything is charged.

SIZES = (10, 100, 1000, 10_000)
"""Group sizes for which errors are shown, if they depend on the size."""

MOST_SIZES, LARGEST = 10, 10**12
MANY = 10**6
"""Number of units of a group that is large enough to pass every key selection."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The margin of error of a column with probability 95%, in units of the column.

    Counts and sums have one margin, ``always``. Other aggregates have one for each group size,
    computed for values that are spread evenly over their range. It is half of the interval's
    length, or the whole length for MIN and MAX, whose intervals lie on one side.
    """

    name: str
    always: Fraction | None = None
    by_size: tuple[tuple[int, Fraction], ...] = ()
    by_table: tuple[tuple[str, Fraction], ...] = ()
    """The margin of each table, by the names of its keys; ``always`` is the largest of them."""


def expected_errors(quote: Quote, assume_size: Sequence[int] = SIZES) -> tuple[Expected, ...]:
    """Return the margin of error of each measure of ``quote``.

    Guarantee: the result is a function of the quote, which is public; no data is read.
    """
    check_sizes(assume_size)
    bound = quote.bound
    if bound.tables:
        return _errors_of_tables(quote, assume_size)
    measures = zip(quote.question.plan.measures, bound.readings, bound.slacks, strict=True)
    return tuple(
        _with_missing(
            _expected_error(measure.name, reading, quote, tuple(assume_size)), reading, slack
        )
        for measure, reading, slack in measures
    )


def _errors_of_tables(quote: Quote, assume_size: Sequence[int]) -> tuple[Expected, ...]:
    """Return the margins of error of an answer with several tables: the largest of any table.

    Margins that do not depend on the size are listed by table, too.
    """
    tables = quote.bound.tables
    found = [
        expected_errors(_table_alone(quote, number), assume_size)
        for number in range(len(tables))
    ]
    names = [key_names(quote, table.kept) for table in tables]
    return tuple(map(partial(_largest, names), zip(*found, strict=True)))


def _table_alone(quote: Quote, number: int) -> Quote:
    """Return the quote of one table by itself, with the noise of its estimates."""
    table = quote.bound.tables[number]
    bound = replace(quote.bound, tables=(), slacks=table.slacks)
    return replace(quote_of_table(quote, table.kept), bound=bound)


def key_names(quote: Quote, kept: Kept) -> str:
    """Return the names of the keys of a table, as the answer shows them."""
    shown = {output.expression: output.name for output in quote.question.post.outputs}
    keys = quote.question.plan.keys
    names = (shown.get(Field(keys[place].name), f"key {place + 1}") for place in kept)
    return ", ".join(names) or "nothing: the total"


def _largest(names: Sequence[str], errors: Sequence[Expected]) -> Expected:
    """Return the margins of one measure in several tables: the largest, and all by table."""
    margins = [each.always for each in errors if each.always is not None]
    if len(margins) < len(errors):
        return max(errors, key=lambda each: [margin for _, margin in each.by_size])
    by_table = tuple(zip(names, margins, strict=True))
    return replace(errors[0], always=max(margins), by_table=by_table)


def _with_missing(error: Expected, reading: tallies.Reading, slack: Slack) -> Expected:
    """Return the margins of error with the rows that are known to be missing.

    A margin reaches to the farther end of the interval.
    """
    if error.always is not None:
        return replace(error, always=error.always + max(slack.below, slack.above))
    if not slack.missing or not isinstance(reading, tallies.MeanReading):
        return error
    whole = reading.high - reading.low
    return replace(
        error,
        by_size=tuple(
            (size, min(whole, margin + whole * slack.missing / (size + slack.missing)))
            for size, margin in error.by_size
        ),
    )


def worst_error(quote: Quote, number: int, size: int) -> Fraction | None:
    """Return the largest margin of error of a measure, for a group of ``size`` rows.

    It is the margin of a mean at one of its bounds, where noise in the count moves it most. It
    is None for variances, quantiles and extremes, whose errors depend on all values.
    """
    if quote.bound.tables:
        many = range(len(quote.bound.tables))
        alone = [worst_error(_table_alone(quote, each), number, size) for each in many]
        known = [error for error in alone if error is not None]
        return max(known) if len(known) == len(alone) else None
    reading, slack = quote.bound.readings[number], quote.bound.slacks[number]
    name = quote.question.plan.measures[number].name
    if isinstance(reading, tallies.TotalReading):
        return _with_missing(
            _expected_error(name, reading, quote, (size,)), reading, slack
        ).always
    if not isinstance(reading, tallies.MeanReading):
        return None
    margins = []
    for value in (reading.low, reading.high):
        made = [[0] for _ in quote.tallies]
        made[reading.count] = [size]
        made[reading.total] = [round(size * (value - reading.centre) / reading.step)]
        low, high = _intervals(reading, quote, made)[0]
        margins += [value - low, high - value]
    error = Expected(name, by_size=((size, max(margins)),))
    return dict(_with_missing(error, reading, slack).by_size)[size]


def check_sizes(assume_size: Sequence[int]) -> None:
    """Refuse group sizes that are out of range, and a list that is too long."""
    if not 1 <= len(assume_size) <= MOST_SIZES:
        raise InvalidValue(
            f"The number of assumed group sizes must be from 1 to {MOST_SIZES}; "
            f"{len(assume_size)} were given."
        )
    for size in assume_size:
        if not 1 <= size <= LARGEST:
            raise InvalidValue(
                f"An assumed group size must be from 1 to {LARGEST} rows; {size} was given."
            )


def _expected_error(
    name: str, reading: tallies.Reading, quote: Quote, sizes: tuple[int, ...]
) -> Expected:
    match reading:
        case tallies.TotalReading():
            # for a large group: the interval of a group that barely passes a selection is
            # longer
            low, high = _intervals(reading, quote, [[MANY] for _ in quote.tallies])[0]
            return Expected(name, always=(high - low) / 2)
        case tallies.MeanReading() | tallies.VarianceReading():
            found = _intervals(reading, quote, _even(reading, quote, sizes))
            errors = [(high - low) / 2 for low, high in found]
            return Expected(name, by_size=tuple(zip(sizes, errors, strict=True)))
        case tallies.PairReading(function=PairFunction.DETERMINATION):
            # the square of a correlation moves at most twice as far as the correlation
            each = replace(reading, function=PairFunction.CORRELATION)
            found_errors = _expected_error(name, each, quote, sizes).by_size
            return Expected(
                name, by_size=tuple((n, min(Fraction(1), 2 * e)) for n, e in found_errors)
            )
        case tallies.PairReading():
            # none where a variance could not be distinguished from 0
            margins = [
                (size, (around[1] - around[0]) / 2)
                for size, (_, around) in zip(
                    sizes,
                    _values(reading, quote, _even_pairs(reading, quote, sizes)),
                    strict=True,
                )
                if around is not None
            ]
            return Expected(name, by_size=tuple(margins))
        case tallies.QuantileReading() | tallies.ExtremeReading():
            ranks = _ranks(reading, quote)
            by_size = tuple((size, _distance(reading.cells, ranks, size)) for size in sizes)
            return Expected(name, by_size=by_size)


def _intervals(
    reading: tallies.Reading, quote: Quote, made: list[list[int]]
) -> list[ClosedInterval]:
    """Return the intervals that a release of the tallies ``made`` would have."""
    found = (interval for _, interval in _values(reading, quote, made))
    return [interval for interval in found if interval is not None]


def _even_pairs(
    reading: tallies.PairReading, quote: Quote, sizes: tuple[int, ...]
) -> list[list[int]]:
    """Return the tallies of groups whose pairs are spread evenly and are not correlated."""
    made = [[0] * len(sizes) for _ in quote.tallies]
    away = Fraction(1)
    for mean, variance in (
        (reading.x, reading.x_variance),
        (reading.y, reading.y_variance),
    ):
        part = mean if variance is None else variance
        for place, filled in enumerate(_even(part, quote, sizes)):
            made[place] = filled if any(filled) else made[place]
        away *= (mean.low + mean.high) / 2 - mean.centre
    made[reading.product] = [round(size * away / reading.step) for size in sizes]
    return made


def _even(
    reading: tallies.MeanReading | tallies.VarianceReading, quote: Quote, sizes: tuple[int, ...]
) -> list[list[int]]:
    """Return the tallies of groups whose values are spread evenly over their range."""
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
    """Return the number of ranks that noise makes indistinguishable."""
    if isinstance(reading, tallies.QuantileReading):
        # the mechanism tries reaches of which each is 1.5 times as long as the one before
        return quantile_of(quote, reading).margin * Fraction(3, 2)
    noise = RankNoise.of(quote.tallies[reading.tree].mechanism, tree_of(quote, reading.tree))
    reaches = noise.reaches(Fraction(int(reading.greatest)), 1 - CONFIDENCE)
    return Fraction(float(reaches.max()))


def _distance(cells: tallies.TreeCells, ranks: Fraction, size: int) -> Fraction:
    """Return the distance of two values that are ``ranks`` apart among ``size`` even values."""
    whole = (cells.high - cells.low) * cells.step
    return min(whole, whole * ranks / size + cells.steps * cells.step)
