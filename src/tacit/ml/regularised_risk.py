"""A regularised risk over integer rows, and a solver that certifies its result.

The privacy guarantee of output perturbation needs weights that are provably close to the exact
minimiser, on every table. `RegularisedRisk.at` computes a gradient together with a bound on its
rounding error. The solver takes Newton steps in floats until this bound certifies that the
gradient is short enough. If floats do not converge, the exact solver of `tacit.ml.margin_loss`
finishes the work in integers, and cannot fail.
"""

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
"""Number of low bits of a slope, which are summed apart from the high bits.

Each of the two sums over 2**22 rows then stays below 2**61.
"""

MOST_NEWTON_STEPS = 40
"""The largest number of Newton steps at each penalty of the path."""

FALL = 100.0
"""The factor by which each penalty of the path is smaller than the one before."""

NEAR = 0.1
"""The relative size of the gradient at which the solver moves on to the next penalty."""

SHORT = 2.0 ** -np.array([24, 16, 11, 7, 4, 2, 1])
"""The fractions of a step that the line search tries first, if the full step is too long."""

EVEN = np.array([0.25, 0.5, 0.75])
"""The fractions that the line search tries next, between two of the first."""

ROWS_BY_FLOATS = 5_000_000
"""The number of rows up to which floats are precise enough, whatever values the rows have.

It is not a limit on the size of a table.
"""

ROUNDING = Fraction(1, 2**53)
"""The largest relative rounding error of one operation with floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """A computed gradient in exact numbers, and a bound on its distance from the true one."""

    parts: tuple[Fraction, ...]
    off: Fraction

    @property
    def longest(self) -> Fraction:
        """An upper bound on the norm of the true gradient."""
        return sqrt_bounds(sum((part**2 for part in self.parts), Fraction(0)))[1] + self.off

    @property
    def floats(self) -> Floats:
        """The gradient as floats, for a solver."""
        return np.array([float_of(part) for part in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class RegularisedRisk:
    """The sum of the losses of all margins, and ``penalty`` / 2 times the squared weights.

    ``rows`` are features times the sign of their class, in `STEPS`, as `clipped_steps` returns
    them, in one matrix or in blocks. A margin is the product of weights and a row. The risk is
    a function of real numbers and strongly convex by its penalty. Floats appear only in `at`,
    which bounds their rounding errors, and in the solver, whose result `at` certifies.
    """

    loss: MarginLoss
    penalty: float
    rows: Integers | UnitRows

    def at(self, weights: Floats) -> Gradient:
        """Return the gradient at the given weights, with a bound on its error.

        Guarantee: the sum over rows is exact. The error of a slope is at most one step, plus
        the rounding error of its margin times the Lipschitz constant ``steepest``.
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
        """Return weights at which the norm of the true gradient is at most ``tolerance``.

        Guarantee: for every table, the weights are within ``tolerance`` / ``penalty`` of the
        exact minimiser. This never raises an exception, because a failure would reveal
        something about the data: where floats do not converge, the exact solver is used, which
        is slow and cannot fail.
        """
        weights, left = self._by_floats(tolerance)
        if left <= tolerance:
            return weights
        penalty = Fraction(self.penalty)
        exact = ExactRisk(self.loss, penalty, STEPS, self._blocks)
        start, radius = [Fraction(0)] * len(weights), self._reach()
        if left / penalty < radius:  # by strong convexity, the minimiser is this close
            start, radius = [Fraction(weight) for weight in weights.tolist()], left / penalty
        return np.array(exact.minimiser(start, radius, tolerance), dtype=object)

    def _reach(self) -> Fraction:
        """Return a positive upper bound on the norm of the minimiser."""
        return longest_minimiser(self.penalty, 1 + sum(len(rows) for rows in self._blocks()))

    def _by_floats(self, tolerance: Fraction) -> tuple[Floats, Fraction]:
        """Return the end of Newton's method in floats, and a bound on the gradient there.

        A Newton step is good where the curvature does not change much along the step. If the
        penalty is far below the number of rows, the curvature is nearly 0 away from the rows'
        own margins, so a step from weights of 0 is as long as 1 / penalty, and crosses the
        margins of thousands of rows. The minimisers for larger penalties form a path to the
        minimiser that is sought, and neighbouring penalties have neighbouring minimisers. So
        each minimiser is found approximately, starting from the one before, and only the last
        one up to the tolerance. The penalties and the number of steps at each are public
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
                if not shorter and after @ way > 0:  # the step overshoots the minimum
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
        """Return the fraction of a step that leads to the minimum along it (a line search).

        The risk is convex, so its slope along the step never decreases; at the two ``ends`` it
        is below and above 0. The slope is computed at a few fractions at once, and then at a
        few more between the two where it changes sign. So the number of scans of the rows is
        fixed.
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
        # between two neighbouring fractions the slope is nearly linear: interpolate
        return low + (high - low) * falls / min(falls - climbs, -np.finfo(float).tiny)

    def _slopes_along(
        self, weights: Floats, way: Floats, penalty: float, shares: Floats
    ) -> Floats:
        """Return the approximate slope of the risk at some fractions of a step."""
        found = penalty * (weights @ way + shares * (way @ way))
        for rows in self._blocks():
            scaled = rows / STEPS
            margins, moved = scaled @ weights, scaled @ way
            for place, share in enumerate(shares):
                found[place] += (self.loss.slopes(margins + share * moved) / ONE) @ moved
        return found

    @property
    def dimensions(self) -> int:
        """The number of weights."""
        return self.rows.shape[1] if isinstance(self.rows, np.ndarray) else self.rows.columns

    def _blocks(self) -> Iterator[Integers]:
        """Read all rows, without their units."""
        if isinstance(self.rows, np.ndarray):
            yield self.rows
        else:
            for block in self.rows.blocks(self.rows.columns):
                yield block[:, 1:]

    def _newton_step(self, weights: Floats, gradient: Floats, penalty: float) -> Floats:
        """Return the Newton step; the eigenvalues of the Hessian are at least the penalty."""
        with np.errstate(all="ignore"):
            bent = self._curvature(weights, penalty)
            try:
                found = np.linalg.solve(bent, gradient)
            except np.linalg.LinAlgError:  # singular up to rounding
                found = np.full(len(weights), np.nan)
            if np.isfinite(found).all() and found @ gradient > 0:
                return np.asarray(found)
            values, vectors = eigen(bent)
            along = (vectors.T @ gradient) / np.maximum(values, penalty)
            return np.asarray(vectors @ along)

    def _curvature(self, weights: Floats, penalty: float) -> Floats:
        """Return the approximate Hessian."""
        bent = penalty * np.eye(len(weights))
        for rows in self._blocks():
            weighed = self.loss.curvatures(_margins(rows, weights))[:, None] * rows
            bent += weighed.T @ (rows / STEPS**2)
        return bent


def penalties(last: float) -> list[float]:
    """Return the public path of penalties from about `ROWS_BY_FLOATS` down to ``last``.

    Example:
        >>> penalties(100.0)
        [1000000.0, 10000.0, 100.0]
    """
    found = [last]
    while found[-1] * FALL <= ROWS_BY_FLOATS:
        found.append(found[-1] * FALL)
    return found[::-1]


def _margins(rows: Integers, weights: Floats) -> Floats:
    # products are added one by one, so the error is at most `dimensions` roundings
    return line_at(rows / STEPS, weights[None])[:, 0]


def off_at(loss: MarginLoss, rows: int, dimensions: int, length: Fraction) -> Fraction:
    """Return a bound on the error of a computed gradient, at weights of norm ``length``."""
    longest = Fraction(reach_of(dimensions), STEPS)
    margin = dimensions * ROUNDING / (1 - dimensions * ROUNDING) * longest * length
    return rows * longest * (Fraction(1, ONE) + loss.steepest * margin)


def least_tolerance(loss: MarginLoss, penalty: float, dimensions: int) -> Fraction:
    """Return twice the gradient error of floats on `ROWS_BY_FLOATS` rows, which is public.

    A tolerance of at least this keeps fits fast. No guarantee relies on it: on a larger table,
    the exact solver may be needed.
    """
    length = longest_minimiser(penalty, ROWS_BY_FLOATS)
    return 2 * off_at(loss, ROWS_BY_FLOATS, dimensions, length)


def longest_minimiser(penalty: float, rows: int) -> Fraction:
    """Return an upper bound on the norm of the minimiser.

    The risk at the minimiser is at most the risk at weights of 0, which is at most 1 per row.
    """
    return sqrt_bounds(2 * rows / Fraction(penalty))[1]


def steps_by_integers(
    loss: MarginLoss, penalty: float, dimensions: int, tolerance: Fraction
) -> int:
    """Return the largest number of scans by the exact solver, for `ROWS_BY_FLOATS` rows.

    The number is public, and it grows with the logarithm of the number of rows.
    """
    steepest = steepest_gradient(loss, Fraction(penalty), ROWS_BY_FLOATS)
    reach = longest_minimiser(penalty, ROWS_BY_FLOATS)
    return most_cuts(dimensions, steepest, reach, tolerance)
