"""Convex losses of a margin, given by their slopes: exact on a table of integers.

The minimiser of a regularised risk by integers alone: what a solver of floats may leave.

The noise of `tacit.ml.output_perturbation` is made for weights that lie within tolerance /
penalty of the exact minimiser, on *every* table. A solver that stops short on some of them
has no such proof, and one that fails on some tells which. Newton's steps in floats arrive on
every table that was tried (`tacit.ml.regularised_risk`), for which there is no proof. This
solver has one: it ends within `most_cuts` steps, whatever the rows are. It computes with
integers, so that no sum is rounded and a gradient is as long as it says. A step reads all
rows once, and takes some hundred times as long as one of floats: it is hardly ever needed.

The idea is the ellipsoid method. An ellipsoid holds the minimiser v*, and more: a ball around
it. At the centre c the gradient g is longer than the tolerance t, or c is the answer. The risk
is convex and its gradient grows by L at most in a unit of length, so that

    g . (c - v*) >= |g|^2 / L.

Every v within t / 2L of v* then has g . (v - c) < -|g|^2 / 2L: it lies on one side of c, also
where g is taken t / 2L or less beside c. The half of the ellipsoid on that side lies in another
one, whose volume is smaller by a factor of exp(-1 / 2(d + 1)) at least. Since a ball of radius
t / 2L is never cut, an ellipsoid that begins as a ball of radius R is cut at most

    2 d (d + 1) ln(2 L R / t)

times. An ellipsoid is a centre and a matrix A, whose image of the unit ball it is, in integers
over a power of two. They are rounded: in the ball's own coordinates by 2^-`FINE` of its radius
at most, for which every new ellipsoid is made larger by `SLACK`.
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
"""Of a slope in a unit of the margin."""

LAST = 32
"""Beyond margins of this size a slope is -1 or 0."""


@dataclass(frozen=True, slots=True)
class MarginLoss:
    """The convex loss whose slope is linear between knots, from -1 to 0.

    Guarantee: it is 1-Lipschitz, and its slope climbs by at most `steepest`: facts of its
    integers, which are checked, and not of a library's exponential.

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
            raise InternalError("The slope of a convex loss climbs from -1 to 0.")

    @classmethod
    def of(cls, slope: Callable[[Floats], Floats]) -> Self:
        """By a slope at the knots."""
        knots = np.arange(-LAST * KNOTS, LAST * KNOTS + 1) / KNOTS
        table = np.rint(np.clip(slope(knots), -1, 0) * ONE).astype(np.int64)
        table[0], table[-1] = -ONE, 0
        return cls(tuple(np.maximum.accumulate(table).tolist()))

    @property
    def steepest(self) -> Fraction:
        """How much the slope climbs at most in a unit of the margin."""
        most = max(high - low for low, high in pairwise(self.table))
        return Fraction(most * KNOTS, ONE)

    def slopes(self, margins: Floats) -> Integers:
        """The slopes at ``margins``, in steps of 1 / ONE.

        Guarantee: each is less than one step from the exact slope at that very float.
        """
        place, part = self._places(margins)
        table = np.array(self.table)
        # a part is rounded by 2**-53 at most, and no climb between knots is above 2**36 steps
        climb = np.rint(part * (table[place + 1] - table[place]))
        return np.asarray(table[place] + climb.astype(np.int64))

    def curvatures(self, margins: Floats) -> Floats:
        """How much the slopes climb at ``margins``, roughly: for a solver, and no proof."""
        place, _ = self._places(margins)
        return np.asarray(np.diff(np.array(self.table))[place] * (KNOTS / ONE))

    def _places(self, margins: Floats) -> tuple[Integers, Floats]:
        """The knot below each margin, and how far it is on the way to the next."""
        along = np.clip(margins, -LAST, LAST) * KNOTS
        below = np.minimum(np.floor(along), LAST * KNOTS - 1)
        return below.astype(np.int64) + LAST * KNOTS, along - below


LOGISTIC = MarginLoss.of(lambda margins: -expit(-margins))
"""The log-loss, to 3 parts in a million of its slope."""

HINGE = MarginLoss.of(lambda margins: -np.clip(1.5 - margins, 0, 1))
"""Huber's hinge, round from 1/2 to 3/2; below, it is the hinge."""


Vector = list[Fraction]
Blocks = Callable[[], Iterable[Integers]]
"""Reads all rows, block by block, as often as it is called."""


FINE = 96
"""Binary digits of a direction, and of what rounding may move in an ellipsoid's own ball."""

SLACK = Fraction(2**64 + 1, 2**64)
"""By how much an ellipsoid is larger than it had to be; rounding leaves far less undone."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactRisk:
    """A risk over rows of integers, ``unit`` of which are one, in exact arithmetic."""

    loss: MarginLoss
    penalty: Fraction
    unit: int
    blocks: Blocks

    def minimiser(self, start: Vector, radius: Fraction, tolerance: Fraction) -> Vector:
        """Return weights at which the gradient is no longer than ``tolerance``.

        The minimiser must lie within ``radius`` of ``start``.
        """
        size = len(start)
        rows = sum(len(block) for block in self.blocks())
        steepest = steepest_gradient(self.loss, self.penalty, rows)
        cuts = most_cuts(size, steepest, radius, tolerance)
        point_bits = max(0, _log2(2 * size * steepest / tolerance)) + 1
        narrowest = radius * Fraction(size, size + 1) ** cuts
        bits = FINE + point_bits + max(0, _log2(size / narrowest))
        ellipsoid = Ellipsoid.ball([_scaled(each, bits) for each in start], radius, bits)
        for _ in range(cuts):
            weights = [
                Fraction(round(Fraction(each, 2 ** (bits - point_bits))), 2**point_bits)
                for each in ellipsoid.centre
            ]
            gradient = self.gradient(weights)
            if sum(part**2 for part in gradient) <= tolerance**2:
                return weights
            ellipsoid.cut(gradient)
        raise InternalError("A minimiser was not found where it must be.")  # by no table

    def gradient(self, weights: Vector) -> Vector:
        """The gradient, exactly; weights are over powers of two."""
        shared = max(weight.denominator for weight in weights)
        whole = np.array([int(weight * shared) for weight in weights], dtype=object)
        table = np.array(self.loss.table, dtype=object)
        below_one = self.unit * shared
        slopes = np.array([0] * len(weights), dtype=object)
        for block in self.blocks():
            rows = block.astype(object)
            margins = rows.dot(whole)  # over below_one
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
    """The image of the unit ball under ``matrix``, around ``centre``: integers over 2^bits."""

    centre: list[int]
    matrix: list[list[int]]

    @classmethod
    def ball(cls, centre: list[int], radius: Fraction, bits: int) -> Self:
        """All points within a radius."""
        long, size = _scaled(radius, bits) + 1, len(centre)
        return cls(centre, [[long * (i == j) for j in range(size)] for i in range(size)])

    def cut(self, normal: Vector) -> None:
        """Become an ellipsoid that holds all own points v with normal . (v - centre) <= 0."""
        size = len(normal)
        shared = lcm(*(part.denominator for part in normal))
        whole = [int(part * shared) for part in normal]
        # the normal in the ball's own coordinates, of length 2^FINE
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
    """What half an ellipsoid's axes are multiplied by, across a cut and along it, over 2^FINE.

    Across a cut there is nothing where there is one axis.
    """
    square = Fraction(size**2, size**2 - 1) if size > 1 else Fraction(1)
    across = isqrt(ceil(square * SLACK**2 * 4**FINE)) + 1
    return across, ceil(Fraction(size, size + 1) * SLACK * 2**FINE)


def steepest_gradient(loss: MarginLoss, penalty: Fraction, rows: int) -> Fraction:
    """How much a gradient grows at most in a unit of length.

    Rows may be a few steps longer than one, by rounding: twice is more than enough.
    """
    return 2 * rows * loss.steepest + penalty


def most_cuts(
    dimensions: int, steepest: Fraction, radius: Fraction, tolerance: Fraction
) -> int:
    """How many steps the minimiser takes at most, within so much of where it begins.

    Example:
        >>> most_cuts(4, Fraction(10**4), Fraction(10**3), Fraction(1, 100))
        861
    """
    doublings = max(1, _log2(2 * steepest * radius / tolerance))
    # the natural logarithm of two is below 0.6932; a ball of less than that radius is cut once
    cuts = 2 * dimensions * (dimensions + 1) * doublings * Fraction(6932, 10_000)
    return 1 + ceil(cuts)


def _scaled(number: Fraction, bits: int) -> int:
    return round(number * (1 << bits))


def _log2(number: Fraction) -> int:
    """The logarithm of a positive number of any size, rounded up."""
    up = number.numerator.bit_length() - number.denominator.bit_length()
    return up + (number > Fraction(2 ** max(up, 0), 2 ** max(-up, 0)))
