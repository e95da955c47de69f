"""Rows as points: the axes of a model's features, within a public distance of their centre."""

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
    KeptTally,
    StepsKey,
    Training,
    TreeTally,
)
from tacit.plan import steps as grid_steps

ONE = Axis(grid_steps.WholeSteps(REACH), REACH, Fraction(0), Fraction(1, REACH))
"""What every row has: the axis of an intercept."""


@dataclass(frozen=True, slots=True)
class Points:
    """Axes, of which the squares of no row add up to more than ``square``.

    The ends of an axis are one unit of length from its centre. A row that is farther away than
    the model's ``norm`` says, or has no number on an axis, is left out: by itself, whatever
    other rows hold.

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
        """The columns within ``bounds``, a lower and an upper end for all or for each."""
        axes = tuple(
            Axis.of(column, each, around)
            for column, each in zip(columns, bounds_of(columns, bounds), strict=True)
        )
        corner = square = sum(axis.reach**2 for axis in axes)
        if norm is not None:
            square = min(square, (exact(norm) * abs(exact(norm)) * REACH**2).__floor__())
        if square < 1:
            raise InvalidValue(f"A norm is above 0, and {norm} is not.")
        squares: list[grid_steps.Steps] = [
            grid_steps.ProductSteps(axis.steps, axis.steps) for axis in axes
        ]
        total = reduce(grid_steps.SumSteps, squares)
        grid_steps.Ranged(total, 0, corner, Fraction(1))  # fits, or is refused
        if square == corner:  # all that have numbers are inside: no square has to be summed
            return cls(axes, square, grid_steps.AllOf(tuple(axis.there for axis in axes)))
        return cls(
            axes,
            square,
            grid_steps.CompareSteps(Comparison.AT_MOST, total, grid_steps.WholeSteps(square)),
        )

    @property
    def with_one(self) -> "Points":
        """The same beside an axis on which every row stands at one."""
        return Points((*self.axes, ONE), self.square + REACH**2, self.inside)


def bounds_of(columns: Sequence[core.Column], given: Any) -> list[core.Bounds]:
    """The bounds of each column: those ``given``, and without them those that it declares."""
    if given is None:
        missing = [column.name for column in columns if column.bounds is None]
        if missing:
            raise MissingBound(
                f"These columns have no bounds: {', '.join(missing)}. Give them to the model, "
                "as bounds=(lower, upper), from what is known without the data."
            )
        return [column.bounds for column in columns if column.bounds is not None]
    try:
        lower, upper = (_each(end, len(columns)) for end in given)
        ends = zip(columns, lower, upper, strict=True)
        return [core.Bounds.of(low, high) for _, low, high in ends]
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"Bounds are (lower, upper): each a number, or one for each of {len(columns)} "
            f"columns, with lower <= upper; {given!r} was given."
        ) from error


def _each(end: Any, count: int) -> list[Number]:
    """One end of the bounds, for each column."""
    plain = end.tolist() if hasattr(end, "tolist") else end
    return list(plain) if isinstance(plain, Sequence) else [plain] * count


# ------------------------------------------------------------------ noisy sums
# Sums over rows that are released together, with Gaussian noise for what one unit moves.


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Sums of numbers of rows; the squares of what one row adds come to ``row_square`` at most.

    ``order`` says which sums are released, and how often each; without it, all are, once. They
    are ``acute`` where what two rows add never points apart: its inner product is never
    negative, as that of two matrices xx' or of numbers that are never negative.

    Guarantee: a unit keeps at most ``max_rows`` rows, whose sums add up to at most ``max_rows``
    times the root of ``row_square``; for acute sums a and b, the square of a - b is at most
    those of a and b together, and else at most four times the greater.
    """

    tallies: tuple[KeptTally | TreeTally, ...]
    row_square: int
    share: Fraction
    order: tuple[int, ...] = ()
    acute: bool = False

    def sensitivity(self, training: Training) -> core.Sensitivity:
        """How far one unit moves them together."""
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
        """The noise that costs their share of ``rho``, and hardly less."""
        square = self.sensitivity(training).square
        return Gaussian(Fraction(ceil(square / (2 * rho * self.share))))

    def event(self, training: Training, rho: Fraction) -> core.GaussianNoise:
        """What releasing them does."""
        return self.mechanism(training, rho).event(self.sensitivity(training))

    def released(
        self,
        secrets: Sequence[core.Secret[Integers]],
        training: Training,
        rho: Fraction,
        gateway: Gateway,
    ) -> Integers:
        """The sums with noise."""
        mechanism, moved = self.mechanism(training, rho), self.sensitivity(training)
        return mechanism.release(together(secrets, self.order), moved, gateway)


def event_of(parts: Sequence[NoisySums], training: Training, rho: Fraction) -> core.Composed:
    """What releasing all ``parts`` within ``rho`` does."""
    return core.Composed(tuple(part.event(training, rho) for part in parts))


def released(
    parts: Sequence[NoisySums],
    training: Training,
    rho: Fraction,
    gateway: Gateway,
    *conditions: grid_steps.Condition,
    key: StepsKey | None = None,
) -> Generator[BoundedPlan, Any, list[Integers]]:
    """One step of a fit: all ``parts``, summed in one scan of the rows, each with its noise.

    By a ``key`` each sum is one for each group, of which a row is in one at most: it moves the
    sums of all groups together by no more than it would move one.
    """
    tallies = list(dict.fromkeys(tally for part in parts for tally in part.tallies))
    secrets = yield training.plan(tallies, *conditions, key=key)
    return [
        part.released([secrets[tallies.index(t)] for t in part.tallies], training, rho, gateway)
        for part in parts
    ]


# ------------------------------------------------------------------ gram
# The matrix of products of a model's axes, summed in the engine: X'X, in exact integers.

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gram:
    """All products of two axes of ``points``.

    Each product of different axes is released twice, as it stands in the matrix twice, and the
    mean of the two is read: noise that is equally large in all directions of the Frobenius
    norm, in which a row xx' moves it by the square of its length.
    Reference: Dwork, Talwar, Thakurta, Zhang 2014 (Analyze Gauss), with isotropic noise.
    """

    points: Points

    def sums(self, max_rows: int, share: Fraction) -> NoisySums:
        """What the engine sums, and the noise on it."""
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
        """The matrix, where the end of an axis is one unit of length from its centre."""
        size = len(self.points.axes)
        whole = floats_of(released).reshape(size, size) / REACH**2
        return np.asarray((whole + whole.T) / 2)


def product_tally(one: Axis, other: Axis, max_rows: int) -> KeptTally:
    """The sum of the products of two axes, over a unit's kept rows."""
    most = max_rows * one.reach * other.reach
    low = 0 if one == other else -most
    return KeptTally(grid_steps.ProductSteps(one.steps, other.steps), low, most)


# ------------------------------------------------------------------ moments
# How many rows there are, their means and their variances: from noisy sums of axes.

SHARES = Fraction(1, 10), Fraction(45, 100), Fraction(45, 100)
"""Of the loss: for the count, which is easy to see, for the sums and for the squares."""


@dataclass(frozen=True, slots=True)
class NoisyMoments:
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
    return NoisySums((KeptTally(grid_steps.WholeSteps(1), 0, max_rows),), 1, share, acute=True)


def _square(axis: Axis, max_rows: int) -> KeptTally:
    middle = _middle(axis)
    steps = grid_steps.SumSteps(
        grid_steps.ProductSteps(axis.steps, axis.steps), grid_steps.WholeSteps(-middle)
    )
    return KeptTally(steps, -max_rows * middle, max_rows * (axis.reach**2 - middle))


def _middle(axis: Axis) -> int:
    return axis.reach**2 // 2
