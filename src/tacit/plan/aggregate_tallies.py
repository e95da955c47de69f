"""The tallies that each aggregate needs, and how its value is computed from them.

An engine computes only integer tallies. `read` translates an aggregate (COUNT, SUM, AVG,
VAR_SAMP, a quantile, MIN, MAX) into the tallies that it needs and into a `Reading`, which says
how the released tallies give the aggregate's value. Tallies are shared: AVG and VAR_SAMP of one
column use the same count and the same sum.

MIN and MAX are computed from a tree of counts over a public grid, a quantile from the counts of
the grid alone.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import floor, prod

from tacit.core import Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import plan as nodes
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey
from tacit.plan.expression import Case, Constant, Expression, Field, IsNull, Period
from tacit.plan.lowering import condition, number
from tacit.plan.plan import PairFunction
from tacit.plan.tally import (
    DistinctTally,
    ExtremeReading,
    MeanReading,
    PairReading,
    QuantileReading,
    Reading,
    RowSumTally,
    RowTally,
    RowValue,
    StoredValue,
    Tally,
    TotalReading,
    TotalTally,
    TreeCells,
    TreeTally,
    UnitTally,
    VarianceReading,
)
from tacit.plan.type_check import NUMBERS, clamped_days, day_column, is_day, kind_of

FINEST = 12
"""Largest number of times that a grid halves its range: 12 halvings give 4,096 cells."""

SECRET_FINEST = 8
"""Largest number of halvings where the groups, and so the number of trees, are secret."""

MOST_NODES = 2**20
"""Largest number of counts of one tree in all groups together; noise for them takes about a
second, and choosing a quantile takes a few."""

LARGEST_SQUARED = 10**150
"""Largest number of which squares are computed: variances fit in floats."""

BRANCHINGS = (1, 2, 3, 4)
"""Halvings per level that `shape` tries: a node then has 2, 4, 8 or 16 children."""


# Trees of counts -----------------------------------------------------------------------------
#
# A tree divides the public range of a number into cells, and counts rows in every node above
# the cells too. A rank is then the sum of a few noisy nodes and not of thousands of noisy
# cells.


def finest(keys: tuple[BoundedKey, ...]) -> int:
    """Return how many times the range of a number may be halved in an answer with these keys.

    More groups mean more trees, so that each tree is coarser.

    Example:
        >>> finest(())
        12
    """
    groups = prod(1 if key.keys is None else len(key.keys.values) for key in keys)
    most = SECRET_FINEST if any(key.keys is None for key in keys) else FINEST
    return max(1, min(most, (MOST_NODES // (2 * groups)).bit_length()))


def shape(halvings: int) -> tuple[int, int]:
    """Return the halvings per level and the number of levels that give a rank the least noise.

    A row counts in one node of each level, so that the variance of the noise grows with
    ``levels``. A rank is the sum of up to ``branching - 1`` nodes of each level.

    Example:
        >>> shape(12), shape(1)
        ((2, 6), (1, 1))
    """
    found = [(each, -(-halvings // each)) for each in BRANCHINGS]
    return min(found, key=lambda part: ((2 ** part[0] - 1) * part[1] ** 2, part[0] * part[1]))


def tree(value: grid_steps.Ranged, max_rows: int, most: int) -> tuple[TreeTally, TreeCells]:
    """Return the tree of counts of ``value``, and the values that its cells represent.

    A cell is one step of ``value``, or several steps where the range has more than ``most``
    halvings.
    """
    wanted = max(1, (value.high - value.low).bit_length())
    each, levels = shape(min(wanted, most))
    cell, cells = _grid_cells(value, max(0, wanted - each * levels))
    return TreeTally(cell, levels, 2**each, max_rows), cells


def grid(
    value: grid_steps.Ranged, max_rows: int, most: int, quantile: Fraction
) -> tuple[TreeTally, TreeCells]:
    """Return the grid of counts, without a tree above it, from which a quantile is chosen."""
    whole = value.high - value.low
    times = max(0, whole.bit_length() - most)
    cell, cells = _grid_cells(value, times)
    return TreeTally(cell, 1, (whole >> times) + 1, max_rows, quantile=quantile), cells


def _grid_cells(value: grid_steps.Ranged, times: int) -> tuple[grid_steps.Steps, TreeCells]:
    """Return the cell number of ``value`` on a grid of ``2**times`` steps, and its cells."""
    whole = value.above(value.low)
    cell = grid_steps.HalvedSteps(whole.steps, times) if times else whole.steps
    return cell, TreeCells(value.low, value.high, 2**times, value.step, value.rounding)


# Means and variances -------------------------------------------------------------------------
#
# Values are summed as distances from the middle of their public range. One unit can change such
# a centred sum by half as much as the plain sum, so that the noise is half as large.

Place = Callable[[Tally], int]
"""Function that returns the index of a tally in a question, and adds the tally if needed."""


def mean(value: grid_steps.Ranged, max_rows: int, place: Place) -> MeanReading:
    """Return the rule for a mean: a centred sum divided by the count of rows with a value."""
    centre = (value.low + value.high) // 2
    there = grid_steps.Negation(grid_steps.StepsAreNull(value.steps))
    counted = grid_steps.CaseSteps(
        ((there, grid_steps.WholeSteps(1)),), grid_steps.WholeSteps(0)
    )
    return MeanReading(
        total=place(_sum_of_rows(value.above(centre), max_rows)),
        count=place(RowSumTally(counted, 0, max_rows)),
        centre=centre * value.step,
        step=value.step,
        low=value.low * value.step,
        high=value.high * value.step,
        rounding=value.rounding,
    )


def _check_squares(name: str, *values: grid_steps.Ranged) -> None:
    """Refuse numbers whose squares are beyond floats, which answers are converted to."""
    if any(value.size > LARGEST_SQUARED for value in values):
        raise InvalidValue(
            f"The squares of a number in {name} can be beyond the range of floats; narrow the "
            "bounds of its columns."
        )


def variance(
    value: grid_steps.Ranged, max_rows: int, place: Place, *, sample: bool, root: bool
) -> VarianceReading:
    """Return the rule for a variance, from a mean and squared distances from a centre.

    The squares are centred on the middle of their range too, which halves their sensitivity.
    They are computed on a coarser grid where their sum would not fit in 62 bits.
    """
    _check_squares("VARIANCE or STDDEV", value)
    offset, centre = _distances(value, max_rows)
    square, middle = _square(offset, offset)
    return VarianceReading(
        mean=mean(value, max_rows, place),
        squares=place(_sum_of_rows(square.above(middle), max_rows)),
        centre=centre,
        middle=middle * square.step,
        step=square.step,
        rounding=square.rounding,
        sample=sample,
        root=root,
    )


def pair(
    aggregate: nodes.PairStatistic, schema: Schema, max_rows: int, place: Place
) -> PairReading:
    """Return the rule for a statistic of two numbers, from their moments.

    Both numbers are distances from the middle of their range, on a grid that is coarse enough
    for sums of squares and of products to fit in 62 bits. A row in which one number is NULL
    adds to none of the sums.
    """
    values = number(aggregate.x, schema), number(aggregate.y, schema)
    _check_squares(aggregate.function.value, *values)
    (x, x_centre), (y, y_centre) = (_distances(value, max_rows) for value in values)
    both = grid_steps.Negation(grid_steps.StepsAreNull((x * y).steps))
    one = grid_steps.CaseSteps(((both, grid_steps.WholeSteps(1)),), grid_steps.WholeSteps(0))
    count = place(RowSumTally(one, 0, max_rows))

    def mean_of(
        value: grid_steps.Ranged, other: grid_steps.Ranged, centre: Fraction
    ) -> MeanReading:
        total = place(_sum_of_rows(_where_known(value, other), max_rows))
        ends = centre + value.low * value.step, centre + value.high * value.step
        return MeanReading(total, count, centre, value.step, *ends, value.rounding)

    def variance_of(
        value: grid_steps.Ranged, other: grid_steps.Ranged, average: MeanReading
    ) -> VarianceReading:
        square, middle = _square(_where_known(value, other), value)
        return VarianceReading(
            mean=average,
            squares=place(_sum_of_rows(square.above(middle), max_rows)),
            centre=average.centre,
            middle=middle * square.step,
            step=square.step,
            rounding=square.rounding,
            sample=False,
            root=False,
        )

    function = aggregate.function
    by_x = function not in {PairFunction.COVARIANCE, PairFunction.SAMPLE_COVARIANCE}
    by_y = function in {PairFunction.CORRELATION, PairFunction.DETERMINATION}
    of_x, of_y = mean_of(x, y, x_centre), mean_of(y, x, y_centre)
    product = place(_sum_of_rows(x * y, max_rows))
    return PairReading(
        function,
        of_x,
        of_y,
        product,
        x.step * y.step,
        variance_of(x, y, of_x) if by_x else None,
        variance_of(y, x, of_y) if by_y else None,
    )


def _distances(value: grid_steps.Ranged, max_rows: int) -> tuple[grid_steps.Ranged, Fraction]:
    """Return the distances from the middle of a number's range, and that middle."""
    coarse = _coarse(value.above(value.low), max_rows)
    middle = (coarse.low + coarse.high) // 2
    return coarse.above(middle), value.low * value.step + middle * coarse.step


def _where_known(value: grid_steps.Ranged, other: grid_steps.Ranged) -> grid_steps.Ranged:
    """Return ``value`` in rows in which ``other`` is not NULL, and NULL in all others."""
    nothing = grid_steps.ProductSteps(grid_steps.WholeSteps(0), other.steps)
    return replace(value, steps=grid_steps.SumSteps(value.steps, nothing))


def _square(one: grid_steps.Ranged, same: grid_steps.Ranged) -> tuple[grid_steps.Ranged, int]:
    """Return the square of a distance, which is given twice, and the middle of its range."""
    farthest = max(-same.low, same.high) ** 2
    rounding = same.rounding * (2 * same.size + same.rounding)
    square = grid_steps.Ranged((one * same).steps, 0, farthest, same.step**2, rounding=rounding)
    return square, farthest // 2


def _sum_of_rows(value: grid_steps.Ranged, max_rows: int) -> RowSumTally:
    low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
    return RowSumTally(grid_steps.Ranged(value.steps, low, high, value.step).steps, low, high)


def _coarse(value: grid_steps.Ranged, max_rows: int) -> grid_steps.Ranged:
    """Return ``value``, which is at least 0, in the finest steps whose squares fit 62 bits."""
    times = 0
    while max_rows * ((value.high >> times) // 2 + 2) ** 2 >= grid_steps.ROOM:
        times += 1
    return value.coarsen(times)


# From an aggregate to its tallies ------------------------------------------------------------


def read(
    aggregate: nodes.Aggregate,
    schema: Schema,
    max_rows: int,
    tallies: list[Tally],
    most: int = FINEST,
) -> Reading:
    """Return the rule that computes ``aggregate``, and add the tallies that it needs.

    Args:
        aggregate: The aggregate, whose fields are columns of ``schema``.
        schema: The columns of the rows.
        max_rows: The most rows of one unit that count in a group.
        tallies: The tallies of the question so far; missing ones are appended.
        most: The most halvings of a number's range where a grid is needed.
    """

    def place(tally: Tally) -> int:
        if tally not in tallies:
            tallies.append(tally)
        return tallies.index(tally)

    def place_tree(argument: Expression) -> tuple[int, TreeCells]:
        value, days = number_or_days(argument, schema)
        made, cells = tree(value, max_rows, most)
        return place(made), replace(cells, days=days)

    one = Fraction(1)
    match aggregate:
        case nodes.CountUnits():
            return TotalReading(place(UnitTally()), one)
        case nodes.CountRows():
            return TotalReading(
                place(RowTally(grid_steps.ConstantCondition(True), max_rows)), one
            )
        case nodes.CountValues(argument):
            return TotalReading(place(RowTally(present(argument, schema), max_rows)), one)
        case nodes.CountDistinct(argument):
            return TotalReading(
                place(DistinctTally(distinct_value(argument, schema), max_rows)), one
            )
        case nodes.Sum(argument):
            value = number(argument, schema)
            low, high = min(0, value.low * max_rows), max(0, value.high * max_rows)
            # `Ranged` refuses a range of more than 62 bits
            summed = grid_steps.Ranged(value.steps, low, high, value.step)
            return TotalReading(
                place(_total(argument, value, summed, schema)), value.step, value.rounding
            )
        case nodes.Mean(argument):
            if _is_day(argument, schema):
                raise InvalidValue(
                    "The mean of days is not supported; ask for MEDIAN(day), or for the mean "
                    "of a number of days, as in AVG(day - DATE '2020-01-01')."
                )
            return mean(number(argument, schema), max_rows, place)
        case nodes.Variance(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=False)
        case nodes.Deviation(argument, sample):
            value = number(argument, schema)
            return variance(value, max_rows, place, sample=sample, root=True)
        case nodes.PairStatistic():
            return pair(aggregate, schema, max_rows, place)
        case nodes.Quantile(argument, fraction):
            value, days = number_or_days(argument, schema)
            counts, cells = grid(value, max_rows, most, fraction)
            return QuantileReading(place(counts), fraction, replace(cells, days=days))
        case nodes.Least(argument):
            found, cells = place_tree(argument)
            return ExtremeReading(found, False, cells)
        case nodes.Greatest(argument):
            found, cells = place_tree(argument)
            return ExtremeReading(found, True, cells)


def number_or_days(argument: Expression, schema: Schema) -> tuple[grid_steps.Ranged, bool]:
    """Return a number, or a column of days as a number; and whether it is a column of days."""
    if not _is_day(argument, schema):
        return number(argument, schema), False
    column = day_column(argument, schema)
    bounds = column.grid()  # refuses a column without bounds
    days = clamped_days(column)
    return grid_steps.Ranged(days, bounds.lowest, bounds.highest, bounds.step), True


def _is_day(argument: Expression, schema: Schema) -> bool:
    """Return whether an aggregate is asked of a column of days, or of the days of times."""
    return isinstance(argument, Field | Period) and is_day(argument, schema)


def _total(
    argument: Expression,
    value: grid_steps.Ranged,
    summed: grid_steps.Ranged,
    schema: Schema,
) -> TotalTally:
    """Return the sum of a unit's rows, clamped to the declared total of a column, if any.

    The total is at least as large as one value can be: engines do not clamp a single row.
    """
    most = schema[argument.name].max_total if isinstance(argument, Field) else None
    if most is None:
        return TotalTally(summed.steps, summed.low, summed.high)
    each = max(abs(value.low), abs(value.high))
    steps = max(each, floor(most / value.step))
    low, high = max(summed.low, -steps), min(summed.high, steps)
    return TotalTally(summed.steps, low, high, each)


def present(argument: Expression, schema: Schema) -> grid_steps.Condition:
    """Return the condition that ``argument`` is not NULL."""
    match argument:
        case Field(name) if not isinstance(schema[name], grid_steps.ComputedColumn):
            column = schema[name]
            return grid_steps.Negation(grid_steps.ColumnIsNull(column.name, column.kind))
        case _:
            return grid_steps.Negation(condition(IsNull(argument), schema))


STORED = {Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE}
"""Kinds of columns whose distinct values are counted as they are stored."""


def distinct_value(argument: Expression, schema: Schema) -> RowValue:
    """Return the value of which COUNT(DISTINCT ...) counts the distinct ones.

    A text, an integer, a Boolean or a day counts as it is stored, without clamping, also if it
    is the only result of a CASE. Any other number counts in steps of its grid, and so does the
    day of a timestamp. Timestamps are refused: engines write them as texts in different ways.
    """
    match argument:
        case Field(name) if _is_stored(name, schema):
            return StoredValue(schema[name].name, schema[name].kind)
        case Case(((wanted, Field(name)),), Constant(None)) if _is_stored(name, schema):
            column = schema[name]
            return StoredValue(column.name, column.kind, condition(wanted, schema))
        case Field(name) if schema[name].kind is Kind.TIMESTAMP:
            raise InvalidValue(
                f"COUNT(DISTINCT ...) of {schema[name].name!r}, a timestamp column, is not "
                f"supported; count its days, as in COUNT(DISTINCT CAST({name} AS DATE)), or "
                f"its hours, as in COUNT(DISTINCT HOUR({name}))."
            )
        case Period() if is_day(argument, schema):
            return clamped_days(day_column(argument, schema))
        case Field(name) if schema[name].bounds is None and not isinstance(
            schema[name], grid_steps.ComputedColumn
        ):
            raise InvalidValue(
                f"COUNT(DISTINCT ...) of {schema[name].name!r}, a {schema[name].kind.value} "
                "column, needs bounds, by which its values are rounded to a grid. Ask the "
                "owner to declare them, or count an integer, a text or a day."
            )
    if kind_of(argument, schema) not in NUMBERS | {None}:
        raise InvalidValue(
            "COUNT(DISTINCT ...) supports a column, a number, and CASE WHEN condition THEN "
            "column END; write one of these."
        )
    return number(argument, schema).steps


def _is_stored(name: str, schema: Schema) -> bool:
    column = schema[name]
    return column.kind in STORED and not isinstance(column, grid_steps.ComputedColumn)
