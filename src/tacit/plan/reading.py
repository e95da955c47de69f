"""How a column of the answer is read off the tallies: arithmetic on what was released."""

from dataclasses import dataclass
from fractions import Fraction


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
class Cells:
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
    cells: Cells


@dataclass(frozen=True, slots=True)
class ExtremeReading:
    """The least or the greatest value whose rank is seen through the noise of a tree."""

    tree: int
    greatest: bool
    cells: Cells


Reading = TotalReading | MeanReading | VarianceReading | QuantileReading | ExtremeReading
