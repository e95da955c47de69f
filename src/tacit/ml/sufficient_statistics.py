"""Noisy sufficient statistics: sums that the engine computes over rows, with Gaussian noise.

`Points` turns feature columns into axes on an integer grid with a public bound on the norm of a
row. `NoisySums` is a set of sums over rows that are released together, with noise for the L2
sensitivity of one unit. `Gram` is the matrix X'X, and `NoisyMoments` are counts, means and
variances. One step of a fit sums several such sets in one scan of the rows.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import core
from tacit.errors import InvalidValue, MissingBound
from tacit.mechanisms import Gateway, Gaussian, together
from tacit.ml.finite_algebra import finite, floats_of
from tacit.noise import Integers
from tacit.numeric import Number, exact
from tacit.plan import (
    REACH,
    Axis,
    BoundedPlan,
    Comparison,
    RowSumTally,
    StepsKey,
    Training,
    TreeTally,
)
from tacit.plan import steps as grid_steps

ONE = Axis(grid_steps.WholeSteps(REACH), REACH, Fraction(0), Fraction(1, REACH))
"""The axis of an intercept, on which every row has the value 1."""


@dataclass(frozen=True, slots=True)
class Points:
    """Axes of features, with an upper bound ``square`` on the squared norm of a row.

    The ends of an axis are at distance 1 from its centre. A row is left out if its norm exceeds
    the model's ``norm``, or if it has a NULL on an axis. Whether a row is left out depends on
    that row only.

    Example:
        >>> from tacit.core.domain import Kind
        >>> xy = [core.Column(name, Kind.FLOAT) for name in "xy"]
        >>> near = Points.of(xy, (0, [1, 100]), norm=1)
        >>> near.square == REACH**2, Points.of(xy, (0, [1, 100])).square > 1.9 * REACH**2
        (True, True)
    """

    axes: tuple[Axis, ...]
    square: int
    inside: grid_steps.Condition

    @classmethod
    def of(
        cls,
        columns: Sequence[core.Column],
        bounds: Any = None,
        norm: Number | None = None,
        around: Fraction | None = None,
    ) -> "Points":
        """Build the axes from ``bounds``: a lower and an upper end, for all or for each."""
        axes = tuple(
            Axis.of(column, each, around)
            for column, each in zip(columns, bounds_of(columns, bounds), strict=True)
        )
        corner = square = sum(axis.reach**2 for axis in axes)
        if norm is not None:
            square = min(square, (exact(norm) * abs(exact(norm)) * REACH**2).__floor__())
        if square < 1:
            raise InvalidValue(
                f"The norm to which rows are clipped must be above 0, but {norm} was given."
            )
        squares: list[grid_steps.Steps] = [
            grid_steps.ProductSteps(axis.steps, axis.steps) for axis in axes
        ]
        total = reduce(grid_steps.SumSteps, squares)
        grid_steps.Ranged(total, 0, corner, Fraction(1))  # raises if sums could overflow
        if square == corner:  # all rows without NULL are inside, so no norm is computed
            return cls(axes, square, grid_steps.AllOf(tuple(axis.not_null for axis in axes)))
        return cls(
            axes,
            square,
            grid_steps.CompareSteps(Comparison.AT_MOST, total, grid_steps.WholeSteps(square)),
        )

    @property
    def with_one(self) -> "Points":
        """These points with one more axis, on which every row has the value 1."""
        return Points((*self.axes, ONE), self.square + REACH**2, self.inside)


def bounds_of(columns: Sequence[core.Column], given: Any) -> list[core.Bounds]:
    """Return the bounds of each column: the ``given`` ones, or else the declared ones."""
    if given is None:
        missing = [column.name for column in columns if column.bounds is None]
        if missing:
            raise MissingBound(
                f"These columns have no bounds: {', '.join(missing)}. Give bounds=(lower, "
                "upper) to the model, from knowledge that does not come from the data."
            )
        return [column.bounds for column in columns if column.bounds is not None]
    try:
        lower, upper = (_per_column(end, len(columns)) for end in given)
        ends = zip(columns, lower, upper, strict=True)
        return [core.Bounds.of(low, high) for _, low, high in ends]
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"Bounds must be (lower, upper), each one number or one number for each of "
            f"{len(columns)} columns, with lower <= upper, but {given!r} was given."
        ) from error


def _per_column(end: Any, count: int) -> list[Number]:
    """Return one end of the bounds for each column."""
    plain = end.tolist() if hasattr(end, "tolist") else end
    return list(plain) if isinstance(plain, Sequence) else [plain] * count


# ------------------------------------------------------------------ noisy sums


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Sums over rows that are released together, with Gaussian noise.

    The vector that one row adds to the sums has a squared norm of at most ``row_square``.
    ``order`` lists which sums are released, and how often each; without it, each is released
    once. Sums are ``acute`` if the vectors of any two rows have an inner product of at least 0,
    as two matrices xx' have, or vectors of numbers that are not negative. ``share`` is their
    share of the privacy loss.

    Guarantee: a unit has at most ``max_rows`` rows, so the norm of its sums is at most
    ``max_rows`` times the square root of ``row_square``. Where a unit with sums a is replaced
    by one with sums b, the square of a - b is at most the sum of both squares if the sums are
    acute, and otherwise at most four times the larger square.
    """

    tallies: tuple[RowSumTally | TreeTally, ...]
    row_square: int
    share: Fraction
    order: tuple[int, ...] = ()
    acute: bool = False

    def sensitivity(self, training: Training) -> core.Sensitivity:
        """Return the L2 sensitivity of all sums together."""
        facts = (f"row_square={self.row_square}", f"max_rows={training.max_rows}")
        rule = core.Rule("a unit adds at most max_rows times what a row does", facts)
        square = Fraction(self.row_square * training.max_rows**2)
        if training.neighbours is core.Neighbours.REPLACE_ONE:
            factor = 2 if self.acute else 4
            rule = core.Rule(
                "one unit's sums leave and another's come", (f"factor={factor}",), (rule,)
            )
            square *= factor
        return core.Sensitivity(square, core.Norm.L2, rule)

    def mechanism(self, training: Training, rho: Fraction) -> Gaussian:
        """Return the Gaussian mechanism for the sums' share of ``rho``."""
        square = self.sensitivity(training).square
        return Gaussian(Fraction(ceil(square / (2 * rho * self.share))))

    def event(self, training: Training, rho: Fraction) -> core.GaussianNoise:
        """Describe the release of the sums for the accountant."""
        return self.mechanism(training, rho).event(self.sensitivity(training))

    def release(
        self,
        secrets: Sequence[core.Secret[Integers]],
        training: Training,
        rho: Fraction,
        gateway: Gateway,
    ) -> Integers:
        """Release the sums with noise."""
        mechanism, moved = self.mechanism(training, rho), self.sensitivity(training)
        return mechanism.release(together(secrets, self.order), moved, gateway)

    released = release
    """Another name of `release`, for estimators that were written with it."""


def event_of(parts: Sequence[NoisySums], training: Training, rho: Fraction) -> core.Composed:
    """Describe the release of all ``parts`` within ``rho`` for the accountant."""
    return core.Composed(tuple(part.event(training, rho) for part in parts))


def release_sums(
    parts: Sequence[NoisySums],
    training: Training,
    rho: Fraction,
    gateway: Gateway,
    *conditions: grid_steps.Condition,
    key: StepsKey | None = None,
) -> Generator[BoundedPlan, Any, list[Integers]]:
    """Sum all ``parts`` in one scan of the rows, and release each with its noise.

    With a ``key``, there is one sum for each group. A row is in at most one group, so it
    changes the sums of all groups together by no more than it would change one sum.
    """
    tallies = list(dict.fromkeys(tally for part in parts for tally in part.tallies))
    secrets = yield training.plan(tallies, *conditions, key=key)
    return [
        part.release([secrets[tallies.index(t)] for t in part.tallies], training, rho, gateway)
        for part in parts
    ]


# ------------------------------------------------------------------ the matrix X'X

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gram:
    """The matrix X'X: the sums of products of all pairs of axes of ``points``.

    Each product of two different axes is released twice, as it is twice in the matrix, and the
    result is the mean of both. So the noise is isotropic in the Frobenius norm, in which one
    row changes the matrix by the squared norm of the row.
    Reference: Dwork, Talwar, Thakurta, Zhang 2014 (Analyze Gauss), with isotropic noise.
    """

    points: Points

    def sums(self, max_rows: int, share: Fraction) -> NoisySums:
        """Return the sums that the engine computes, with their sensitivity."""
        axes, size = self.points.axes, len(self.points.axes)
        pairs = list(combinations_with_replacement(range(size), 2))
        places = {pair: place for place, pair in enumerate(pairs)}
        return NoisySums(
            tallies=tuple(product_tally(axes[i], axes[j], max_rows) for i, j in pairs),
            row_square=self.points.square**2,
            share=share,
            order=tuple(places[min(i, j), max(i, j)] for i in range(size) for j in range(size)),
            acute=True,
        )

    def matrix(self, released: Integers) -> Matrix:
        """Return the released matrix, in units in which axes go from -1 to 1."""
        size = len(self.points.axes)
        whole = floats_of(released).reshape(size, size) / REACH**2
        return np.asarray((whole + whole.T) / 2)


def product_tally(one: Axis, other: Axis, max_rows: int) -> RowSumTally:
    """Return the tally of products of two axes over the rows of a unit that count."""
    most = max_rows * one.reach * other.reach
    low = 0 if one == other else -most
    return RowSumTally(grid_steps.ProductSteps(one.steps, other.steps), low, most)


# ------------------------------------------------------------------ counts, means, variances

SHARES = Fraction(1, 10), Fraction(45, 100), Fraction(45, 100)
"""The shares of the privacy loss for the count, for the sums and for the squares."""


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """The count, the sums and the sums of squares of axes, over all rows or per group."""

    axes: tuple[Axis, ...]

    def sums(self, max_rows: int) -> tuple[NoisySums, NoisySums, NoisySums]:
        """Return the sums that the engine computes.

        Squares are taken relative to the middle of their range, which halves their sensitivity.
        """
        reaches = [axis.reach for axis in self.axes]
        squares = tuple(_square(axis, max_rows) for axis in self.axes)
        most = sum(max(-tally.low, tally.high) ** 2 for tally in squares) // max_rows**2
        return (
            count_sums(max_rows, SHARES[0]),
            axis_sums(self.axes, sum(reach**2 for reach in reaches), max_rows, SHARES[1]),
            NoisySums(squares, most, SHARES[2]),
        )

    def read(self, released: Sequence[Integers], noise: float) -> tuple[Matrix, Matrix, Matrix]:
        """Return counts, means and variances, one row per group; axes go from -1 to 1.

        ``noise`` is the standard deviation of the noise on the squares. It is also the least
        variance that is returned, since a smaller variance cannot be seen through the noise.
        """
        numbers = [floats_of(part) for part in released]
        counts = np.maximum(numbers[0], 1.0)
        totals, squares = (part.reshape(len(self.axes), -1).T for part in numbers[1:])
        means = np.clip(totals / REACH / counts[:, None], -1, 1)
        middle = np.array([_middle(axis) for axis in self.axes], dtype=np.float64)
        second = (squares / counts[:, None] + middle) / REACH**2
        least = noise / REACH**2 / counts[:, None]
        # numbers between -1 and 1 have a variance of at most 1
        found = np.clip(second - means**2, np.minimum(least, 1.0), 1.0)
        return counts, finite(means), finite(found)


def axis_sums(
    axes: Sequence[Axis], row_square: int, max_rows: int, share: Fraction
) -> NoisySums:
    """Return the sums of ``axes``; the squared norm of a row is at most ``row_square``."""
    tallies = tuple(
        RowSumTally(axis.steps, -max_rows * axis.reach, max_rows * axis.reach) for axis in axes
    )
    return NoisySums(tallies, row_square, share)


def count_sums(max_rows: int, share: Fraction) -> NoisySums:
    """Return the sum that counts rows."""
    return NoisySums(
        (RowSumTally(grid_steps.WholeSteps(1), 0, max_rows),), 1, share, acute=True
    )


def _square(axis: Axis, max_rows: int) -> RowSumTally:
    middle = _middle(axis)
    steps = grid_steps.SumSteps(
        grid_steps.ProductSteps(axis.steps, axis.steps), grid_steps.WholeSteps(-middle)
    )
    return RowSumTally(steps, -max_rows * middle, max_rows * (axis.reach**2 - middle))


def _middle(axis: Axis) -> int:
    return axis.reach**2 // 2
