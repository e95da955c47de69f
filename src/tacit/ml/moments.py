"""How many rows there are, their means and their variances: from noisy sums of axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.ml.gram import Matrix
from tacit.ml.noisy_sums import NoisySums
from tacit.ml.total_algebra import finite, floats_of
from tacit.noise.integers import Integers
from tacit.plan.axis import REACH, Axis
from tacit.plan.steps import ProductSteps, SumSteps, WholeSteps
from tacit.plan.tally import KeptTally

SHARES = Fraction(1, 10), Fraction(45, 100), Fraction(45, 100)
"""Of the loss: for the count, which is easy to see, for the sums and for the squares."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The count, the sums and the squares of axes, of all rows or of each group."""

    axes: tuple[Axis, ...]

    def sums(self, max_rows: int) -> tuple[NoisySums, NoisySums, NoisySums]:
        """What the engine sums; squares are taken from the middle of their range."""
        reaches = [axis.reach for axis in self.axes]
        squares = tuple(_square(axis, max_rows) for axis in self.axes)
        most = sum(max(-tally.low, tally.high) ** 2 for tally in squares) // max_rows**2
        return (
            count_sums(max_rows, SHARES[0]),
            axis_sums(self.axes, sum(reach**2 for reach in reaches), max_rows, SHARES[1]),
            NoisySums(squares, most, SHARES[2]),
        )

    def read(self, released: Sequence[Integers], noise: float) -> tuple[Matrix, Matrix, Matrix]:
        """Counts, means and variances, a row for each group, where an axis ends at one.

        A variance of which nothing is seen through ``noise``, the deviation of that on the
        squares, is as large as that noise.
        """
        numbers = [floats_of(part) for part in released]
        counts = np.maximum(numbers[0], 1.0)
        totals, squares = (part.reshape(len(self.axes), -1).T for part in numbers[1:])
        means = np.clip(totals / REACH / counts[:, None], -1, 1)
        middle = np.array([_middle(axis) for axis in self.axes], dtype=np.float64)
        second = (squares / counts[:, None] + middle) / REACH**2
        least = noise / REACH**2 / counts[:, None]
        # no number between -1 and 1 varies by more than 1
        found = np.clip(second - means**2, np.minimum(least, 1.0), 1.0)
        return counts, finite(means), finite(found)


def axis_sums(
    axes: Sequence[Axis], row_square: int, max_rows: int, share: Fraction
) -> NoisySums:
    """The sums of ``axes``, of which the squares of a row come to ``row_square`` at most."""
    tallies = tuple(
        KeptTally(axis.steps, -max_rows * axis.reach, max_rows * axis.reach) for axis in axes
    )
    return NoisySums(tallies, row_square, share)


def count_sums(max_rows: int, share: Fraction) -> NoisySums:
    """The number of rows."""
    return NoisySums((KeptTally(WholeSteps(1), 0, max_rows),), 1, share, acute=True)


def _square(axis: Axis, max_rows: int) -> KeptTally:
    middle = _middle(axis)
    steps = SumSteps(ProductSteps(axis.steps, axis.steps), WholeSteps(-middle))
    return KeptTally(steps, -max_rows * middle, max_rows * (axis.reach**2 - middle))


def _middle(axis: Axis) -> int:
    return axis.reach**2 // 2
