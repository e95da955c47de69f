"""Tallies: the integers that an engine computes for each group, before noise is added.

A tally is first computed over the rows of one unit in a group, then clamped, and then summed
over units. One unit therefore adds between ``low`` and ``high`` to it, for any rows.

The file has the tallies, then `row_values`, which finds the few numbers that engines must
compute for each row, and then the readings, which compute the columns of an answer from
released tallies.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Kind
from tacit.errors import InternalError
from tacit.plan import steps as grid_steps
from tacit.plan.plan import PairFunction

# Tallies -------------------------------------------------------------------------------------


ALWAYS = grid_steps.ConstantCondition(True)


@dataclass(frozen=True, slots=True)
class UnitTally:
    """The number of units: each unit counts once."""

    low: int = 1
    high: int = 1


@dataclass(frozen=True, slots=True)
class RowTally:
    """The number of a unit's rows for which a condition is true, at most ``high``."""

    condition: grid_steps.Condition
    high: int
    low: int = 0


@dataclass(frozen=True, slots=True)
class TotalTally:
    """The sum of steps over all of a unit's rows, clamped to ``low`` and ``high``.

    NULL is ignored. A row adds at most ``each`` steps, above or below 0. If that is None, the
    range of the sum is the range of a row times the limit of rows.
    """

    steps: grid_steps.Steps
    low: int
    high: int
    each: int | None = None

    def __post_init__(self) -> None:
        if not self.low <= 0 <= self.high:
            raise InternalError(
                "The range of a total must include 0, which a unit adds if all its steps are "
                "NULL."
            )


@dataclass(frozen=True, slots=True)
class RowSumTally:
    """The sum of steps over the rows of a unit that are kept, which are at most ``max_rows``.

    ``low`` and ``high`` follow from the range of the steps and the number of rows; the sum is
    not clamped.
    """

    steps: grid_steps.Steps
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TreeTally:
    """A tree of counts: the kept rows of a unit, at most ``high``, in every node above a grid.

    ``cell`` is the index of a row on the grid, from 0; a row whose cell is NULL does not count.
    Level i has ``branching**i`` nodes, and the last level is the grid. A row adds 1 to one node
    of each level. If a ``quantile`` is chosen from the counts, the only level is the grid.
    """

    cell: grid_steps.Steps
    levels: int
    branching: int
    high: int
    low: int = 0
    quantile: Fraction | None = None

    @property
    def cells(self) -> int:
        """The number of cells of the grid."""
        return int(self.branching**self.levels)

    @property
    def nodes(self) -> int:
        """The number of nodes, and so of counts, of the tree."""
        return sum(self.branching**level for level in range(1, self.levels + 1))


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A column as it is stored, without clamping; NULL unless ``condition`` is true.

    The column contains texts, integers, Booleans or days.
    """

    name: str
    kind: Kind
    condition: grid_steps.Condition = ALWAYS


RowValue = grid_steps.Steps | StoredValue
"""A value that engines compute for each row: a number of steps, or a column as it is stored."""


@dataclass(frozen=True, slots=True)
class DistinctTally:
    """The number of distinct values in the kept rows of a group, without NULL.

    It is not a sum over units: a value that two units have counts once. At most ``high`` rows
    of a unit are kept in a group, so that a unit adds at most ``high`` values to those of the
    other units, and takes none away.
    """

    value: RowValue
    high: int
    low: int = 0


Tally = UnitTally | RowTally | TotalTally | RowSumTally | TreeTally | DistinctTally


def width(tally: Tally) -> int:
    """Return how many integers a tally has for each group."""
    return tally.nodes if isinstance(tally, TreeTally) else 1


# Values per row ------------------------------------------------------------------------------
#
# Many tallies use the same columns. Engines compute a small set of numbers for each row, carry
# them through the limiting of contributions, and compute each tally's value from them.


def value_of(tally: Tally) -> RowValue:
    """Return the number that ``tally`` adds up over rows, or the value that it counts.

    Example:
        >>> value_of(RowTally(grid_steps.ConstantCondition(True), 3))
        WholeSteps(value=1)
    """
    match tally:
        case UnitTally() | RowTally(grid_steps.ConstantCondition(True), _, _):
            return grid_steps.WholeSteps(1)
        case RowTally(condition, _, _):
            return grid_steps.CaseSteps(
                ((condition, grid_steps.WholeSteps(1)),), grid_steps.WholeSteps(0)
            )
        case TotalTally(steps=number) | RowSumTally(steps=number):
            return number
        case TreeTally():
            return tally.cell
        case DistinctTally():
            return tally.value


def row_values(tallies: Sequence[Tally]) -> tuple[RowValue, ...]:
    """Return the values to compute for each row, from which all tallies can be computed.

    A column, the column plus a constant, its square and whether it is NULL all need one number.
    If there are more tallies over several columns than columns, as in a matrix of products, the
    numbers are the columns themselves: the factors of the products, each computed once per row.

    Example:
        >>> from tacit.plan.steps import ComputedSteps
        >>> x = ComputedSteps("x")
        >>> above = RowSumTally(grid_steps.SumSteps(x, grid_steps.WholeSteps(-3)), -3, 4)
        >>> row_values([UnitTally(), above, TotalTally(x, 0, 7)])
        (ComputedSteps(name='x'),)
    """
    whole: dict[RowValue, None] = {}
    parts: dict[RowValue, None] = {}
    for tally in tallies:
        made_of = _row_parts(tally)
        whole |= dict.fromkeys(made_of if len(made_of) <= 1 else [value_of(tally)])
        parts |= dict.fromkeys(made_of)
    if len(parts) >= len(whole):
        return tuple(whole)
    factors = frozenset(_factors(tallies))
    found = (part for tally in tallies for part in _row_parts(tally, factors))
    return tuple(dict.fromkeys(found))


def _row_parts(tally: Tally, known: Collection[RowValue] = ()) -> list[RowValue]:
    """Return the parts of a tally's value; a value by which rows are counted has one part."""
    number = value_of(tally)
    if isinstance(number, StoredValue) or isinstance(tally, TreeTally | DistinctTally):
        return [number]
    return [*columns_of(number, known)]


def columns_of(
    number: grid_steps.Steps, known: Collection[RowValue] = ()
) -> list[grid_steps.Steps]:
    """Return the columns, or the ``known`` parts, of which a number is computed, each once."""
    return list(dict.fromkeys(_parts(number, known)))


def _factors(tallies: Sequence[Tally]) -> Iterator[grid_steps.Steps]:
    """Yield the factors of products of two columns."""
    for tally in tallies:
        match value_of(tally):
            case grid_steps.ProductSteps(left, right) if (
                len(columns_of(grid_steps.ProductSteps(left, right))) > 1
            ):
                yield from (each for each in (left, right) if len(columns_of(each)) == 1)


def _parts(number: grid_steps.Steps, known: Collection[RowValue]) -> list[grid_steps.Steps]:
    if number in known:
        return [number]
    match number:
        case grid_steps.WholeSteps():
            return []
        case grid_steps.SumSteps(left, right) | grid_steps.ProductSteps(left, right):
            return [*_parts(left, known), *_parts(right, known)]
        case grid_steps.HalvedSteps(part, _):
            return _parts(part, known)
        case grid_steps.CaseSteps(
            ((grid_steps.Negation(grid_steps.StepsAreNull(part)), grid_steps.WholeSteps()),),
            grid_steps.WholeSteps(),
        ):
            return _parts(part, known)
        case _:
            return [number]


def made_from(
    number: RowValue, carried: Mapping[RowValue, grid_steps.Steps]
) -> grid_steps.Steps:
    """Return ``number`` with each precomputed part replaced by the column that contains it.

    A stored value is always precomputed.

    Example:
        >>> from tacit.plan.steps import ComputedSteps
        >>> x = ComputedSteps("x")
        >>> made_from(
        ...     grid_steps.SumSteps(x, grid_steps.WholeSteps(2)), {x: ComputedSteps("v0")}
        ... )
        SumSteps(left=ComputedSteps(name='v0'), right=WholeSteps(value=2))
    """
    if number in carried:
        return carried[number]
    match number:
        case grid_steps.SumSteps(left, right):
            return grid_steps.SumSteps(made_from(left, carried), made_from(right, carried))
        case grid_steps.ProductSteps(left, right):
            return grid_steps.ProductSteps(made_from(left, carried), made_from(right, carried))
        case grid_steps.HalvedSteps(part, times):
            return grid_steps.HalvedSteps(made_from(part, carried), times)
        case grid_steps.CaseSteps(
            ((grid_steps.Negation(grid_steps.StepsAreNull(part)), there),), otherwise
        ):
            counted = grid_steps.Negation(grid_steps.StepsAreNull(made_from(part, carried)))
            return grid_steps.CaseSteps(((counted, there),), otherwise)
        case StoredValue():
            raise InternalError(f"No column contains the stored value {number.name!r}.")
        case _:
            return number


# Readings ------------------------------------------------------------------------------------
#
# A reading says how a column of the answer is computed from released tallies. Its integer
# fields are indexes of tallies in the plan.


@dataclass(frozen=True, slots=True)
class TotalReading:
    """A count or a sum: one tally in units of ``step``.

    ``rounding`` is the largest rounding error of one row's number; it is 0 for counts.
    """

    tally: int
    step: Fraction
    rounding: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class MeanReading:
    """A mean: the centre plus a centred total divided by a count.

    The result is clamped to ``low`` and ``high``.
    """

    total: int
    count: int
    centre: Fraction
    step: Fraction
    low: Fraction
    high: Fraction
    rounding: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class VarianceReading:
    """A variance, or its ``root``, from a mean and a sum of squared distances from ``centre``.

    The variance is the mean squared distance from ``centre`` minus the squared distance of the
    mean from ``centre``. The tally ``squares`` is the sum of the squares minus ``middle`` each,
    in units of ``step``; ``rounding`` is the largest rounding error of one row's square.
    """

    mean: MeanReading
    squares: int
    centre: Fraction
    middle: Fraction
    step: Fraction
    rounding: Fraction
    sample: bool
    root: bool


@dataclass(frozen=True, slots=True)
class PairReading:
    """A statistic of two numbers, from their means and a sum of products.

    The tally ``product`` is the sum of the products of both distances from the centres, in
    units of ``step``. The variances are None where the statistic does not need them. All
    tallies are about the rows in which neither number is NULL.
    """

    function: PairFunction
    x: MeanReading
    y: MeanReading
    product: int
    step: Fraction
    x_variance: VarianceReading | None = None
    y_variance: VarianceReading | None = None


@dataclass(frozen=True, slots=True)
class TreeCells:
    """The values that the cells of a tree represent: each has ``steps`` steps, from ``low``.

    If the values are ``days``, they are counted from 1970-01-01 and are released as dates.
    """

    low: int
    high: int
    steps: int
    step: Fraction
    rounding: Fraction
    days: bool = False

    def least(self, cell: int) -> Fraction:
        """Return the least value of a cell."""
        return min(self.low + cell * self.steps, self.high) * self.step

    def greatest(self, cell: int) -> Fraction:
        """Return the greatest value of a cell."""
        return min(self.low + (cell + 1) * self.steps - 1, self.high) * self.step


@dataclass(frozen=True, slots=True)
class QuantileReading:
    """A quantile that is chosen from the counts of a grid, which is a tree of one level."""

    tree: int
    fraction: Fraction
    cells: TreeCells


@dataclass(frozen=True, slots=True)
class ExtremeReading:
    """A minimum or maximum: the last value whose rank can be distinguished from noise."""

    tree: int
    greatest: bool
    cells: TreeCells


def is_date(reading: "Reading") -> bool:
    """Return whether a value is released as a date, which has no interval."""
    return isinstance(reading, QuantileReading | ExtremeReading) and reading.cells.days


Reading = (
    TotalReading
    | MeanReading
    | VarianceReading
    | PairReading
    | QuantileReading
    | ExtremeReading
)
