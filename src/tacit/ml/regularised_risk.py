"""A regularised risk over rows of integers, and its minimiser with a certificate."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engines.unit_rows import UnitRows
from tacit.ml.clipped_sum import STEPS, reach_of
from tacit.ml.exact_minimiser import ExactRisk
from tacit.ml.margin_loss import ONE, MarginLoss
from tacit.ml.scaled_rows import line_at
from tacit.ml.total_algebra import Floats, eigen, float_of
from tacit.noise.integers import Integers
from tacit.numeric.exact import sqrt_bounds

LOW_BITS = 18
"""Of a slope: with its high ones apart, sums over 2**22 rows stay below 2**61."""

MOST_NEWTON_STEPS = 60
"""Before integers take over; where floats arrive at all, they take about ten."""

ROWS_BY_FLOATS = 5_000_000
"""Rows for which floats are fine enough, whatever they hold; it is no cap."""

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
        return np.array([float_of(part) for part in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class RegularisedRisk:
    """The losses of all rows' margins, and ``penalty`` / 2 times the weights' squared length.

    ``rows`` are features times the sign of their class, in `STEPS`, as `clipped_steps` has
    them, in one matrix or in blocks; a margin is the product of weights and a row. It is a
    function of real numbers, convex by its penalty, and knows nothing of floats: those are in
    `at`, which bounds them.
    """

    loss: MarginLoss
    penalty: float
    rows: Integers | UnitRows

    def at(self, weights: Floats) -> Gradient:
        """The gradient at weights that are these very floats.

        Guarantee: the sum over rows is exact. What is off is a slope by a step at most, and by
        the rounding of its margin, which a slope multiplies by ``steepest``.
        """
        count, sums = 0, [0] * len(weights)
        for rows in self._blocks():
            slopes = self.loss.slopes(_margins(rows, weights))
            high = ((slopes >> LOW_BITS) @ rows).tolist()
            low = ((slopes & (2**LOW_BITS - 1)) @ rows).tolist()
            added = zip(sums, high, low, strict=True)
            sums = [whole + (top << LOW_BITS) + rest for whole, top, rest in added]
            count += len(rows)
        parts = tuple(
            Fraction(total, ONE * STEPS) + Fraction(self.penalty) * Fraction(w)
            for total, w in zip(sums, weights.tolist(), strict=True)
        )
        length = sqrt_bounds(sum((Fraction(w) ** 2 for w in weights.tolist()), Fraction(0)))[1]
        return Gradient(parts, off_at(self.loss, count, len(weights), length))

    def minimiser(self, tolerance: Fraction) -> NDArray[Any]:
        """Weights at which the true gradient is no longer than ``tolerance``: certified.

        Guarantee: for every table they are within ``tolerance`` / ``penalty`` of the exact
        minimiser. Nothing raises, and to give up would tell of the data: where floats do not
        arrive, integers do, which are slow and cannot fail.
        """
        weights, certified = self._by_floats(tolerance)
        if certified:
            return weights
        exact = ExactRisk(self.loss, Fraction(self.penalty), STEPS, self._blocks)
        return np.array(exact.minimiser([Fraction(0)] * len(weights), tolerance), dtype=object)

    def _by_floats(self, tolerance: Fraction) -> tuple[Floats, bool]:
        """Where Newton's steps in floats end, and whether that is certain to be near enough.

        Steps are halved until they do not pass the least point of their way, so that each has
        half of what its way can give.
        """
        weights = np.zeros(self.dimensions)
        here = self.at(weights)
        for _ in range(MOST_NEWTON_STEPS):
            if here.longest <= tolerance:
                return weights, True
            way = -self._newton_step(weights, here.floats)
            if not np.isfinite(weights + way).all() or (weights + way == weights).all():
                break
            there = self.at(weights + way)
            while there.longest > here.longest / 2 and there.floats @ way > 0:
                way /= 2
                there = self.at(weights + way)
            weights, here = weights + way, there
        return weights, here.longest <= tolerance

    @property
    def dimensions(self) -> int:
        """How many weights there are."""
        return self.rows.shape[1] if isinstance(self.rows, np.ndarray) else self.rows.columns

    def _blocks(self) -> Iterator[Integers]:
        """Read all rows, without their units."""
        if isinstance(self.rows, np.ndarray):
            yield self.rows
        else:
            for block in self.rows.blocks(self.rows.columns):
                yield block[:, 1:]

    def _newton_step(self, weights: Floats, gradient: Floats) -> Floats:
        """The gradient over the curvature, which is never below the penalty."""
        with np.errstate(all="ignore"):
            bent = self._curvature(weights)
            try:
                found = np.linalg.solve(bent, gradient)
            except np.linalg.LinAlgError:  # singular, as far as floats can tell
                found = np.full(len(weights), np.nan)
            if np.isfinite(found).all() and found @ gradient > 0:
                return np.asarray(found)
            values, vectors = eigen(bent)
            along = (vectors.T @ gradient) / np.maximum(values, self.penalty)
            return np.asarray(vectors @ along)

    def _curvature(self, weights: Floats) -> Floats:
        """The matrix of second derivatives, roughly."""
        bent = self.penalty * np.eye(len(weights))
        for rows in self._blocks():
            weighed = self.loss.curvatures(_margins(rows, weights))[:, None] * rows
            bent += weighed.T @ (rows / STEPS**2)
        return bent


def _margins(rows: Integers, weights: Floats) -> Floats:
    # products are taken one by one, and a sum of so many is off by as many roundings
    return line_at(rows / STEPS, weights[None])[:, 0]


def off_at(loss: MarginLoss, rows: int, dimensions: int, length: Fraction) -> Fraction:
    """How far a computed gradient is from the true one, at weights of such a ``length``."""
    longest = Fraction(reach_of(dimensions), STEPS)
    margin = dimensions * ROUNDING / (1 - dimensions * ROUNDING) * longest * length
    return rows * longest * (Fraction(1, ONE) + loss.steepest * margin)


def least_tolerance(loss: MarginLoss, penalty: float, dimensions: int) -> Fraction:
    """What floats can certify of `ROWS_BY_FLOATS` rows, and half as much again: public.

    It keeps fits fast, and nothing rests on it: on a larger table integers may have to do it.

    The minimiser's risk is at most that of no weights at all, one for each row or less; that
    bounds its length.
    """
    length = sqrt_bounds(2 * ROWS_BY_FLOATS / Fraction(penalty))[1]
    return 2 * off_at(loss, ROWS_BY_FLOATS, dimensions, length)
