"""What an engine counts for each group: integers, to which one unit adds a bounded amount.

Each is first taken over one unit's rows in the group, clamped, and then summed over units, so
that a unit adds between ``low`` and ``high``, whatever its rows hold.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InternalError
from tacit.plan import steps as grid_steps


@dataclass(frozen=True, slots=True)
class UnitTally:
    """Each unit counts once."""

    low: int = 1
    high: int = 1


@dataclass(frozen=True, slots=True)
class RowTally:
    """The unit's rows where a condition holds, at most ``high`` of them."""

    condition: grid_steps.Condition
    high: int
    low: int = 0


@dataclass(frozen=True, slots=True)
class TotalTally:
    """The sum of the unit's steps, clamped to ``low`` and ``high``; NULL counts for nothing."""

    steps: grid_steps.Steps
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low <= 0 <= self.high:
            raise InternalError(
                "A unit whose steps are all NULL adds 0, which the range holds."
            )


@dataclass(frozen=True, slots=True)
class KeptTally:
    """The sum of steps over those of the unit's rows that are kept, at most ``max_rows``.

    ``low`` and ``high`` follow from the range of the steps: nothing is clamped here but rows.
    """

    steps: grid_steps.Steps
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class TreeTally:
    """The kept rows of a unit, at most ``high``, counted in every node of a tree above a grid.

    ``cell`` is the place on the grid, from 0 on, and a row where it is NULL counts for nothing.
    Level i has ``branching**i`` nodes, and the last is the grid; a row adds 1 to one node of
    each level. Where a ``quantile`` is chosen from the counts there is no level but the grid.
    """

    cell: grid_steps.Steps
    levels: int
    branching: int
    high: int
    low: int = 0
    quantile: Fraction | None = None

    @property
    def cells(self) -> int:
        """The places of the grid."""
        return int(self.branching**self.levels)

    @property
    def nodes(self) -> int:
        """The counts of a tree."""
        return sum(self.branching**level for level in range(1, self.levels + 1))


Tally = UnitTally | RowTally | TotalTally | KeptTally | TreeTally


def width(tally: Tally) -> int:
    """How many integers a tally has for each group."""
    return tally.nodes if isinstance(tally, TreeTally) else 1


# ------------------------------------------------------------------ row value
# What tallies need of one row: few numbers, of which each tally makes its own.


def value_of(tally: Tally) -> grid_steps.Steps:
    """The number that ``tally`` needs of one row.

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
        case TotalTally(number, _, _) | KeptTally(number, _, _):
            return number
        case TreeTally():
            return tally.cell


def row_values(tallies: Sequence[Tally]) -> tuple[grid_steps.Steps, ...]:
    """The numbers that a row carries along: what tallies need of it is made of these alone.

    A column, a constant above it, its square and whether it is there are all made of one. Where
    there are more numbers of several columns than columns, as in a matrix of products, it is
    the columns that are carried: as the factors of the products, each computed once a row.

    Example:
        >>> from tacit.plan.steps import HeldSteps
        >>> x = HeldSteps("x")
        >>> above = KeptTally(grid_steps.SumSteps(x, grid_steps.WholeSteps(-3)), -3, 4)
        >>> row_values([UnitTally(), above, TotalTally(x, 0, 7)])
        (HeldSteps(name='x'),)
    """
    whole: dict[grid_steps.Steps, None] = {}
    parts: dict[grid_steps.Steps, None] = {}
    for tally in tallies:
        number = value_of(tally)
        made_of = [number] if isinstance(tally, TreeTally) else columns_of(number)
        whole |= dict.fromkeys(made_of if len(made_of) <= 1 else [number])
        parts |= dict.fromkeys(made_of)
    if len(parts) >= len(whole):
        return tuple(whole)
    factors = frozenset(_factors(tallies))
    return tuple(
        dict.fromkeys(
            part
            for tally in tallies
            for part in (
                [value_of(tally)]
                if isinstance(tally, TreeTally)
                else columns_of(value_of(tally), factors)
            )
        )
    )


def columns_of(
    number: grid_steps.Steps, known: Collection[grid_steps.Steps] = ()
) -> list[grid_steps.Steps]:
    """What a number is made of, each once: columns, or what is ``known``; no constants."""
    return list(dict.fromkeys(_parts(number, known)))


def _factors(tallies: Sequence[Tally]) -> Iterator[grid_steps.Steps]:
    """What is multiplied in products of two columns."""
    for tally in tallies:
        match value_of(tally):
            case grid_steps.ProductSteps(left, right) if (
                len(columns_of(grid_steps.ProductSteps(left, right))) > 1
            ):
                yield from (each for each in (left, right) if len(columns_of(each)) == 1)


def _parts(
    number: grid_steps.Steps, known: Collection[grid_steps.Steps]
) -> list[grid_steps.Steps]:
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
            ((grid_steps.NotSo(grid_steps.StepsAreNull(part)), grid_steps.WholeSteps()),),
            grid_steps.WholeSteps(),
        ):
            return _parts(part, known)
        case _:
            return [number]


def made_from(
    number: grid_steps.Steps, carried: Mapping[grid_steps.Steps, grid_steps.Steps]
) -> grid_steps.Steps:
    """``number``, made of what a row carries along.

    Example:
        >>> from tacit.plan.steps import HeldSteps
        >>> x = HeldSteps("x")
        >>> made_from(grid_steps.SumSteps(x, grid_steps.WholeSteps(2)), {x: HeldSteps("v0")})
        SumSteps(left=HeldSteps(name='v0'), right=WholeSteps(value=2))
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
            ((grid_steps.NotSo(grid_steps.StepsAreNull(part)), there),), otherwise
        ):
            counted = grid_steps.NotSo(grid_steps.StepsAreNull(made_from(part, carried)))
            return grid_steps.CaseSteps(((counted, there),), otherwise)
        case _:
            return number


# ------------------------------------------------------------------ reading
# How a column of the answer is read off the tallies: arithmetic on what was released.


@dataclass(frozen=True, slots=True)
class TotalReading:
    """A count or a sum: one tally, each of whose steps stands for ``step``.

    ``rounding`` is how far each row's number can be from its steps; counts have none.
    """

    tally: int
    step: Fraction
    rounding: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class MeanReading:
    """A mean: a centre, plus a centred total over a count, kept within the public range."""

    total: int
    count: int
    centre: Fraction
    step: Fraction
    low: Fraction
    high: Fraction
    rounding: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class VarianceReading:
    """A variance, or its root: the mean of squares around ``centre``, less that of the mean.

    The tally ``squares`` holds the sum of the squares less ``middle``, each in steps of
    ``step``; ``rounding`` is how far a row's square can be from that.
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
class TreeCells:
    """What the cells of a tree stand for: each holds as many steps, from ``low`` on."""

    low: int
    high: int
    steps: int
    step: Fraction
    rounding: Fraction

    def least(self, cell: int) -> Fraction:
        """The least number of a cell."""
        return min(self.low + cell * self.steps, self.high) * self.step

    def greatest(self, cell: int) -> Fraction:
        """The greatest number of a cell."""
        return min(self.low + (cell + 1) * self.steps - 1, self.high) * self.step


@dataclass(frozen=True, slots=True)
class QuantileReading:
    """The value that a part of the rows do not pass, chosen on a grid: a tree of one level."""

    tree: int
    fraction: Fraction
    cells: TreeCells


@dataclass(frozen=True, slots=True)
class ExtremeReading:
    """The least or the greatest value whose rank is seen through the noise of a tree."""

    tree: int
    greatest: bool
    cells: TreeCells


Reading = TotalReading | MeanReading | VarianceReading | QuantileReading | ExtremeReading
