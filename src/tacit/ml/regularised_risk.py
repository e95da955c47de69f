"""A regularised risk over rows of integers, and its minimiser with a certificate."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engines import UnitRows
from tacit.ml.clipped_sum import STEPS, line_at, reach_of
from tacit.ml.finite_algebra import Floats, eigen, float_of
from tacit.ml.margin_loss import ONE, ExactRisk, MarginLoss, most_cuts, steepest_gradient
from tacit.noise import Integers
from tacit.numeric import sqrt_bounds

LOW_BITS = 18
"""Of a slope: with its high ones apart, sums over 2**22 rows stay below 2**61."""

MOST_NEWTON_STEPS = 40
"""At each penalty, before the next, and at the last before integers take over."""

FALL = 100.0
"""How many times smaller each penalty of a path is than the one before."""

NEAR = 0.1
"""The part of a penalty's own gradient that is left of it where the next penalty begins."""

SHORT = 2.0 ** -np.array([24, 16, 11, 7, 4, 2, 1])
"""Shares of a way that are looked at first, where all of it is too much."""

EVEN = np.array([0.25, 0.5, 0.75])
"""And then these, of what is left between two."""

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
        weights, left = self._by_floats(tolerance)
        if left <= tolerance:
            return weights
        penalty = Fraction(self.penalty)
        exact = ExactRisk(self.loss, penalty, STEPS, self._blocks)
        start, radius = [Fraction(0)] * len(weights), self._reach()
        if left / penalty < radius:  # as near as that, by strong convexity
            start, radius = [Fraction(weight) for weight in weights.tolist()], left / penalty
        return np.array(exact.minimiser(start, radius, tolerance), dtype=object)

    def _reach(self) -> Fraction:
        """How long the minimiser is at most, and a positive number."""
        return longest_minimiser(self.penalty, 1 + sum(len(rows) for rows in self._blocks()))

    def _by_floats(self, tolerance: Fraction) -> tuple[Floats, Fraction]:
        """Where Newton's steps in floats end, and how long the gradient is there at most.

        Newton's step is good where the curvature that it divides by is that of the way ahead. A
        penalty far below the number of rows leaves nearly none away from the rows' own margins,
        so that a step from no weights at all is as long as 1 / penalty, and crosses rows by the
        thousand. The minimisers of larger penalties lie on a path to the one that is sought,
        and are near each other where penalties are: each is found from the one before, roughly,
        and only the last to the tolerance. Penalties and the number of steps at each are public
        (`penalties`, `MOST_NEWTON_STEPS`).
        """
        weights = np.zeros(self.dimensions)
        here = self.at(weights)
        for penalty in penalties(self.penalty):
            for _ in range(MOST_NEWTON_STEPS):
                if here.longest <= tolerance:
                    return weights, here.longest
                gradient = here.floats + (penalty - self.penalty) * weights
                near = NEAR * penalty * float(np.linalg.norm(weights))
                if penalty > self.penalty and np.linalg.norm(gradient) <= near:
                    break
                way = -self._newton_step(weights, gradient, penalty)
                if not np.isfinite(weights + way).all() or (weights + way == weights).all():
                    break
                there = self.at(weights + way)
                after = there.floats + (penalty - self.penalty) * (weights + way)
                shorter = np.linalg.norm(after) <= np.linalg.norm(gradient) / 2
                if not shorter and after @ way > 0:  # it passes the least point of its way
                    way = (
                        self._share(
                            weights, way, penalty, (float(gradient @ way), float(after @ way))
                        )
                        * way
                    )
                    there = self.at(weights + way)
                weights, here = weights + way, there
        return weights, here.longest

    def _share(
        self, weights: Floats, way: Floats, penalty: float, ends: tuple[float, float]
    ) -> float:
        """How much of a way leads to its least point, where all of it is too much.

        The slope along a way never falls, from below 0 to above it at its ``ends``. It is
        looked at in a few places at once, and then between those two where it changes sign: so
        rows are read a fixed number of times.
        """
        (low, high), (falls, climbs) = (0.0, 1.0), ends
        for shares in (SHORT, EVEN):
            looks = low + (high - low) * shares
            slopes = self._slopes_along(weights, way, penalty, looks)
            beyond = np.flatnonzero(~(slopes <= 0))
            first = int(beyond[0]) if beyond.size else len(looks)
            if first:
                low, falls = float(looks[first - 1]), float(slopes[first - 1])
            if first < len(looks):
                high, climbs = float(looks[first]), float(slopes[first])
        # between two looks the slope is nearly a line
        return low + (high - low) * falls / min(falls - climbs, -np.finfo(float).tiny)

    def _slopes_along(
        self, weights: Floats, way: Floats, penalty: float, shares: Floats
    ) -> Floats:
        """How the risk climbs after each of some shares of a way, roughly."""
        found = penalty * (weights @ way + shares * (way @ way))
        for rows in self._blocks():
            scaled = rows / STEPS
            margins, moved = scaled @ weights, scaled @ way
            for place, share in enumerate(shares):
                found[place] += (self.loss.slopes(margins + share * moved) / ONE) @ moved
        return found

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

    def _newton_step(self, weights: Floats, gradient: Floats, penalty: float) -> Floats:
        """The gradient over the curvature, which is never below the penalty."""
        with np.errstate(all="ignore"):
            bent = self._curvature(weights, penalty)
            try:
                found = np.linalg.solve(bent, gradient)
            except np.linalg.LinAlgError:  # singular, as far as floats can tell
                found = np.full(len(weights), np.nan)
            if np.isfinite(found).all() and found @ gradient > 0:
                return np.asarray(found)
            values, vectors = eigen(bent)
            along = (vectors.T @ gradient) / np.maximum(values, penalty)
            return np.asarray(vectors @ along)

    def _curvature(self, weights: Floats, penalty: float) -> Floats:
        """The matrix of second derivatives, roughly."""
        bent = penalty * np.eye(len(weights))
        for rows in self._blocks():
            weighed = self.loss.curvatures(_margins(rows, weights))[:, None] * rows
            bent += weighed.T @ (rows / STEPS**2)
        return bent


def penalties(last: float) -> list[float]:
    """The penalties on the way to the ``last``: public, from what many rows weigh to it.

    Example:
        >>> penalties(100.0)
        [1000000.0, 10000.0, 100.0]
    """
    found = [last]
    while found[-1] * FALL <= ROWS_BY_FLOATS:
        found.append(found[-1] * FALL)
    return found[::-1]


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

    """
    length = longest_minimiser(penalty, ROWS_BY_FLOATS)
    return 2 * off_at(loss, ROWS_BY_FLOATS, dimensions, length)


def longest_minimiser(penalty: float, rows: int) -> Fraction:
    """How long the minimiser is at most.

    Its risk is at most that of no weights at all, one for each row or less.
    """
    return sqrt_bounds(2 * rows / Fraction(penalty))[1]


def steps_by_integers(
    loss: MarginLoss, penalty: float, dimensions: int, tolerance: Fraction
) -> int:
    """How often `ROWS_BY_FLOATS` rows are read at most where floats do not arrive: public.

    It grows with the logarithm of the rows.
    """
    steepest = steepest_gradient(loss, Fraction(penalty), ROWS_BY_FLOATS)
    reach = longest_minimiser(penalty, ROWS_BY_FLOATS)
    return most_cuts(dimensions, steepest, reach, tolerance)
