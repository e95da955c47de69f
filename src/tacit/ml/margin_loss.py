"""Convex margin losses with exact slopes, and an exact solver for their regularised risk.

`MarginLoss` stores the derivative of a loss as a piecewise linear function with integer values,
so that its Lipschitz constant and its smoothness are facts about integers.

`ExactRisk` minimises a regularised risk in integer arithmetic. The noise of
`tacit.ml.output_perturbation` is calibrated for weights that lie within tolerance / penalty of
the exact minimiser, on *every* table. If a solver stopped too early on some tables, this would
not hold, and if it failed on some tables, the failure would reveal which table it was. Newton's
method in floats (`tacit.ml.regularised_risk`) has converged on every table that was tried, but
there is no proof that it always does. The solver here has a proof: it ends within `most_cuts`
steps for all rows. Since it computes with integers, no sum is rounded, and the norm of a
gradient is exact. Each step reads all rows once and takes some hundred times as long as a step
in floats, but the solver is hardly ever needed.

The algorithm is the ellipsoid method. An ellipsoid always contains the minimiser v* and a small
ball around it. Let g be the gradient at the centre c, and t the tolerance. If |g| <= t, then c
is the answer. Otherwise, since the risk is convex and its gradient has the Lipschitz constant
L,

    g . (c - v*) >= |g|^2 / L.

Every v within t / 2L of v* then satisfies g . (v - c) < -|g|^2 / 2L, so it lies on one side of
the plane through c with normal g; this also holds where g is the gradient at a point within
t / 2L of c. The half of the ellipsoid on that side is contained in another ellipsoid whose
volume is smaller by a factor of at least exp(-1 / 2(d + 1)). Since a ball of radius t / 2L is
never cut off, an ellipsoid that begins as a ball of radius R is cut at most

    2 d (d + 1) ln(2 L R / t)

times. An ellipsoid is stored as a centre and a matrix A that maps the unit ball to it, both as
integers over a power of two. Their rounding is at most 2^-`FINE` of the radius, in the
coordinates of the unit ball, and every new ellipsoid is enlarged by `SLACK` to make up for it.
Reference: Groetschel, Lovasz, Schrijver 1988, chapter 3; Bubeck 2015, section 2.2.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil, isqrt, lcm
from operator import mul
from typing import Self

import numpy as np
from scipy.special import expit

from tacit.errors import InternalError
from tacit.ml.finite_algebra import Floats
from tacit.noise import Integers

ONE = 2**36
"""Slopes are multiples of 1 / ONE."""

KNOTS = 64
"""Number of knots of a slope per unit of the margin."""

LAST = 32
"""The margin beyond which a slope is constant: -1 below -LAST, and 0 above LAST."""


@dataclass(frozen=True, slots=True)
class MarginLoss:
    """A convex loss whose derivative is piecewise linear between knots, from -1 to 0.

    Guarantee: the loss is 1-Lipschitz, and its slope has the Lipschitz constant `steepest`.
    Both follow from the integers of the table, which are checked, and do not depend on how a
    library computes an exponential.

    Example:
        >>> LOGISTIC.slopes(np.array([-99.0, 0.0, 99.0])) / ONE
        array([-1. , -0.5,  0. ])
        >>> HINGE.steepest, abs(float(LOGISTIC.steepest) - 0.25) < 1e-4
        (Fraction(1, 1), True)
    """

    table: tuple[int, ...]

    def __post_init__(self) -> None:
        ends = self.table[0], self.table[-1]
        climbs = all(low <= high for low, high in pairwise(self.table))
        if ends != (-ONE, 0) or not climbs or len(self.table) != 2 * LAST * KNOTS + 1:
            raise InternalError("The slope of a convex loss must increase from -1 to 0.")

    @classmethod
    def of(cls, slope: Callable[[Floats], Floats]) -> Self:
        """Build the loss from the values of a slope function at the knots."""
        knots = np.arange(-LAST * KNOTS, LAST * KNOTS + 1) / KNOTS
        table = np.rint(np.clip(slope(knots), -1, 0) * ONE).astype(np.int64)
        table[0], table[-1] = -ONE, 0
        return cls(tuple(np.maximum.accumulate(table).tolist()))

    @property
    def steepest(self) -> Fraction:
        """The Lipschitz constant of the slope: its largest increase per unit of the margin."""
        most = max(high - low for low, high in pairwise(self.table))
        return Fraction(most * KNOTS, ONE)

    def slopes(self, margins: Floats) -> Integers:
        """Return the slopes at ``margins``, in steps of 1 / ONE.

        Guarantee: each result is less than one step from the exact slope at that float.
        """
        place, part = self._places(margins)
        table = np.array(self.table)
        # a part is rounded by at most 2**-53, and no increase between knots exceeds 2**36
        climb = np.rint(part * (table[place + 1] - table[place]))
        return np.asarray(table[place] + climb.astype(np.int64))

    def curvatures(self, margins: Floats) -> Floats:
        """Return the approximate second derivatives at ``margins``.

        Only a solver uses them, and no proof relies on them.
        """
        place, _ = self._places(margins)
        return np.asarray(np.diff(np.array(self.table))[place] * (KNOTS / ONE))

    def _places(self, margins: Floats) -> tuple[Integers, Floats]:
        """Return the index of the knot below each margin, and the fraction to the next."""
        along = np.clip(margins, -LAST, LAST) * KNOTS
        below = np.minimum(np.floor(along), LAST * KNOTS - 1)
        return below.astype(np.int64) + LAST * KNOTS, along - below


LOGISTIC = MarginLoss.of(lambda margins: -expit(-margins))
"""The logistic loss; its slope is accurate to 3 parts in a million."""

HINGE = MarginLoss.of(lambda margins: -np.clip(1.5 - margins, 0, 1))
"""The Huberised hinge loss, which is smoothed for margins from 1/2 to 3/2."""


# ------------------------------------------------------------------ exact minimisation

Vector = list[Fraction]
Blocks = Callable[[], Iterable[Integers]]
"""A function that reads all rows, block by block, each time it is called."""


FINE = 96
"""Number of binary digits of a direction, and of the precision of an ellipsoid."""

SLACK = Fraction(2**64 + 1, 2**64)
"""The factor by which each ellipsoid is enlarged; rounding shrinks it by far less."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactRisk:
    """A regularised risk in exact arithmetic, over integer rows in steps of 1 / ``unit``."""

    loss: MarginLoss
    penalty: Fraction
    unit: int
    blocks: Blocks

    def minimiser(self, start: Vector, radius: Fraction, tolerance: Fraction) -> Vector:
        """Return weights at which the norm of the gradient is at most ``tolerance``.

        The minimiser must lie within ``radius`` of ``start``.
        """
        size = len(start)
        rows = sum(len(block) for block in self.blocks())
        steepest = steepest_gradient(self.loss, self.penalty, rows)
        cuts = most_cuts(size, steepest, radius, tolerance)
        point_bits = max(0, _log2(2 * size * steepest / tolerance)) + 1
        narrowest = radius * Fraction(size, size + 1) ** cuts
        bits = FINE + point_bits + max(0, _log2(size / narrowest))
        ellipsoid = Ellipsoid.ball([_to_integer(each, bits) for each in start], radius, bits)
        for _ in range(cuts):
            weights = [
                Fraction(round(Fraction(each, 2 ** (bits - point_bits))), 2**point_bits)
                for each in ellipsoid.centre
            ]
            gradient = self.gradient(weights)
            if sum(part**2 for part in gradient) <= tolerance**2:
                return weights
            ellipsoid.cut(gradient)
        # no table leads here: `most_cuts` bounds the number of cuts for all of them
        raise InternalError("The ellipsoid method exceeded its proven number of steps.")

    def gradient(self, weights: Vector) -> Vector:
        """Return the exact gradient; the denominators of the weights are powers of two."""
        shared = max(weight.denominator for weight in weights)
        whole = np.array([int(weight * shared) for weight in weights], dtype=object)
        table = np.array(self.loss.table, dtype=object)
        below_one = self.unit * shared
        slopes = np.array([0] * len(weights), dtype=object)
        for block in self.blocks():
            rows = block.astype(object)
            margins = rows.dot(whole)  # numerators over below_one
            most = LAST * below_one
            along = np.minimum(np.maximum(margins, -most), most) * KNOTS
            places = np.minimum(along // below_one, LAST * KNOTS - 1)
            at = (places + LAST * KNOTS).astype(np.int64)
            climbs = table[at + 1] - table[at]
            slope = table[at] * below_one + climbs * (along - places * below_one)
            slopes = slopes + slope.dot(rows)
        return [
            Fraction(int(total), ONE * below_one * self.unit) + self.penalty * weight
            for total, weight in zip(slopes.tolist(), weights, strict=True)
        ]


@dataclass(slots=True, eq=False)
class Ellipsoid:
    """The image of the unit ball under ``matrix``, around ``centre``.

    All integers are numerators over one power of two.
    """

    centre: list[int]
    matrix: list[list[int]]

    @classmethod
    def ball(cls, centre: list[int], radius: Fraction, bits: int) -> Self:
        """Build the ball of a radius around a centre."""
        long, size = _to_integer(radius, bits) + 1, len(centre)
        return cls(centre, [[long * (i == j) for j in range(size)] for i in range(size)])

    def cut(self, normal: Vector) -> None:
        """Replace this by a smaller ellipsoid that contains one half of it.

        That half is all points v of this ellipsoid with normal . (v - centre) <= 0.
        """
        size = len(normal)
        shared = lcm(*(part.denominator for part in normal))
        whole = [int(part * shared) for part in normal]
        # the normal in the coordinates of the unit ball, scaled to length 2^FINE
        own = [
            sum(row[j] * part for row, part in zip(self.matrix, whole, strict=True))
            for j in range(size)
        ]
        own = [part << FINE for part in own]
        long = isqrt(sum(part**2 for part in own) >> 2 * FINE) or 1
        unit = [part // long for part in own]
        along = [sum(map(mul, row, unit)) >> FINE for row in self.matrix]
        self.centre = [
            c - each // (size + 1) for c, each in zip(self.centre, along, strict=True)
        ]
        across, short = _factors(size)
        self.matrix = [
            [
                (across * entry + ((short - across) * far * part >> FINE)) >> FINE
                for entry, part in zip(row, unit, strict=True)
            ]
            for row, far in zip(self.matrix, along, strict=True)
        ]


@cache
def _factors(size: int) -> tuple[int, int]:
    """Return the factors for the axes parallel to a cut and for the axis along its normal.

    Both are numerators over 2^FINE. In one dimension there is no axis parallel to the cut.
    """
    square = Fraction(size**2, size**2 - 1) if size > 1 else Fraction(1)
    across = isqrt(ceil(square * SLACK**2 * 4**FINE)) + 1
    return across, ceil(Fraction(size, size + 1) * SLACK * 2**FINE)


def steepest_gradient(loss: MarginLoss, penalty: Fraction, rows: int) -> Fraction:
    """Return a Lipschitz constant of the gradient.

    By rounding, the norm of a row may exceed 1 by a few steps; the factor of 2 covers this.
    """
    return 2 * rows * loss.steepest + penalty


def most_cuts(
    dimensions: int, steepest: Fraction, radius: Fraction, tolerance: Fraction
) -> int:
    """Return the largest number of steps until a minimiser within ``radius`` is found.

    Example:
        >>> most_cuts(4, Fraction(10**4), Fraction(10**3), Fraction(1, 100))
        861
    """
    doublings = max(1, _log2(2 * steepest * radius / tolerance))
    # ln(2) is below 0.6932; even where the initial ball is tiny, one cut is allowed
    cuts = 2 * dimensions * (dimensions + 1) * doublings * Fraction(6932, 10_000)
    return 1 + ceil(cuts)


def _to_integer(number: Fraction, bits: int) -> int:
    return round(number * (1 << bits))


def _log2(number: Fraction) -> int:
    """Return the binary logarithm of a positive number of any size, rounded up."""
    up = number.numerator.bit_length() - number.denominator.bit_length()
    return up + (number > Fraction(2 ** max(up, 0), 2 ** max(-up, 0)))
