"""A regularised risk over rows of integers, and its minimiser with a certificate."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.ml.clipped_sum import STEPS, Floats, reach_of
from tacit.ml.margin_loss import ONE, MarginLoss
from tacit.ml.scaled_rows import MOST_ROWS, line_at
from tacit.noise.integers import Integers
from tacit.numeric.exact import sqrt_bounds

LOW_BITS = 18
"""Of a slope: with its high ones apart, sums over all rows stay below 2**61."""

ROUNDING = Fraction(1, 2**53)
"""The most by which one operation of floats is off, as a part of its result."""


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """Exact numbers, and how far from them the true gradient is at most."""

    parts: tuple[Fraction, ...]
    off: Fraction

    @property
    def longest(self) -> Fraction:
        """No less than the norm of the true gradient; rounded up."""
        return sqrt_bounds(sum((part**2 for part in self.parts), Fraction(0)))[1] + self.off

    @property
    def floats(self) -> Floats:
        """The same, near enough for a solver."""
        return np.array([float(part) for part in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class RegularisedRisk:
    """The losses of all rows' margins, and ``penalty`` / 2 times the weights' squared length.

    ``rows`` are features times the sign of their class, in `STEPS`, as `clipped_steps` has
    them; a margin is the product of weights and a row. It is a function of real numbers, convex
    by its penalty, and knows nothing of floats: those are in `at`, which bounds them.
    """

    loss: MarginLoss
    penalty: float
    rows: Integers

    def at(self, weights: Floats) -> Gradient:
        """The gradient at weights that are these very floats.

        Guarantee: the sum over rows is exact. What is off is a slope by a step at most, and by
        the rounding of its margin, which a slope multiplies by ``steepest``.
        """
        slopes = self.loss.slopes(self._margins(weights))
        low = slopes & (2**LOW_BITS - 1)
        sums = zip(
            ((slopes >> LOW_BITS) @ self.rows).tolist(), (low @ self.rows).tolist(), strict=True
        )
        parts = tuple(
            Fraction((high << LOW_BITS) + rest, ONE * STEPS)
            + Fraction(self.penalty) * Fraction(w)
            for (high, rest), w in zip(sums, weights.tolist(), strict=True)
        )
        length = sqrt_bounds(sum((Fraction(w) ** 2 for w in weights.tolist()), Fraction(0)))[1]
        return Gradient(parts, off_at(self.loss, len(self.rows), len(weights), length))

    def minimiser(self, tolerance: Fraction) -> Floats:
        """Weights at which the true gradient is no longer than ``tolerance``: certified.

        Guarantee: they are within ``tolerance`` / ``penalty`` of the exact minimiser. It goes
        on until that is certain, and never gives up: to do so would tell of the data. Newton's
        steps are halved until they do not pass the least point of their way, so that each has
        half of what its way can give: on a strongly convex function they arrive.
        """
        weights = np.zeros(self.rows.shape[1])
        here = self.at(weights)
        while here.longest > tolerance:
            way = -np.linalg.solve(self._curvature(weights), here.floats)
            there = self.at(weights + way)
            while there.longest > here.longest / 2 and there.floats @ way > 0:
                way /= 2
                there = self.at(weights + way)
            weights, here = weights + way, there
        return weights

    def _margins(self, weights: Floats) -> Floats:
        # products are taken one by one, and a sum of so many is off by as many roundings
        return line_at(self.rows / STEPS, weights[None])[:, 0]

    def _curvature(self, weights: Floats) -> Floats:
        """The matrix of second derivatives, roughly."""
        bent = self.loss.curvatures(self._margins(weights))[:, None] * self.rows
        return bent.T @ (self.rows / STEPS**2) + self.penalty * np.eye(len(weights))


def off_at(loss: MarginLoss, rows: int, dimensions: int, length: Fraction) -> Fraction:
    """How far a computed gradient is from the true one, at weights of such a ``length``."""
    longest = Fraction(reach_of(dimensions), STEPS)
    margin = dimensions * ROUNDING / (1 - dimensions * ROUNDING) * longest * length
    return rows * longest * (Fraction(1, ONE) + loss.steepest * margin)


def least_tolerance(loss: MarginLoss, penalty: float, dimensions: int) -> Fraction:
    """What can be certified of any table, at its minimiser, and half as much again: public.

    The minimiser's risk is at most that of no weights at all, one for each row or less; that
    bounds its length.
    """
    length = sqrt_bounds(2 * MOST_ROWS / Fraction(penalty))[1]
    return 2 * off_at(loss, MOST_ROWS, dimensions, length)
