"""The minimiser of a regularised risk by integers alone: what a solver of floats may leave.

The noise of `tacit.ml.noisy_minimiser` is made for weights that lie within tolerance / penalty
of the exact minimiser, on *every* table. A solver that stops short on some of them has no such
proof, and one that fails on some tells which. Newton's steps in floats arrive on nearly all:
equal rows and a penalty far below their number make the matrix of a step singular to floats,
and then they may not. This solver always arrives. It computes with integers over a power of
two, so that no matrix is singular (its least eigenvalue is the penalty, exactly), no sum is
rounded, and a gradient is as long as it says. It is slow, some hundred times, and hardly ever
needed.

The slope of a `MarginLoss` is linear between knots: the gradient of the risk is a linear
function on each of finitely many pieces, and Newton's step from the piece of the minimiser ends
at it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np

from tacit.ml.margin_loss import KNOTS, LAST, ONE, MarginLoss
from tacit.noise.integers import Integers

Vector = list[Fraction]
Blocks = Callable[[], Iterable[Integers]]
"""Reads all rows, block by block, as often as it is called."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactRisk:
    """A risk over rows of integers, ``unit`` of which are one, in exact arithmetic."""

    loss: MarginLoss
    penalty: Fraction
    unit: int
    blocks: Blocks

    def minimiser(self, start: Vector, tolerance: Fraction) -> Vector:
        """Return weights at which the gradient is no longer than ``tolerance``.

        Newton's steps are halved until they do not pass the least point of their way. Weights
        are multiples of a power of two that is fine enough for the tolerance and for the
        shortest step that may be needed.
        """
        bits = self._bits(len(start), tolerance)
        weights = [_rounded(weight, bits) for weight in start]
        gradient, curvature = self._at(weights)
        while _square(gradient) > tolerance**2:
            way = [_rounded(-part, bits) for part in _solved(curvature, gradient)]
            while True:
                there = [w + step for w, step in zip(weights, way, strict=True)]
                slope, bent = self._at(there)
                along = sum((g * step for g, step in zip(slope, way, strict=True)), Fraction(0))
                if along <= 0 or 4 * _square(slope) <= _square(gradient):
                    break
                way = [_rounded(step / 2, bits) for step in way]
            weights, gradient, curvature = there, slope, bent
        return weights

    def _bits(self, dimensions: int, tolerance: Fraction) -> int:
        """How many binary digits weights have: steps shorter than their grid do not occur."""
        rows = sum(len(block) for block in self.blocks())
        # rows may be a few steps longer than one, by rounding: twice is more than enough
        steepest = 2 * rows * self.loss.steepest + self.penalty
        needed = 8 * dimensions * steepest**2 / (tolerance * self.penalty)
        return max(64, 8 + _log2(needed))

    def _at(self, weights: Vector) -> tuple[Vector, list[Vector]]:
        """The gradient and the matrix of second derivatives, exactly."""
        size = len(weights)
        shared = max(weight.denominator for weight in weights)  # all are powers of two
        whole = np.array([int(weight * shared) for weight in weights], dtype=object)
        table = np.array(self.loss.table, dtype=object)
        below_one = self.unit * shared
        slopes = np.array([0] * size, dtype=object)
        bent = np.zeros((size, size), dtype=object)
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
            bent = bent + (rows * climbs[:, None]).T.dot(rows)
        gradient = [
            Fraction(int(total), ONE * below_one * self.unit) + self.penalty * weight
            for total, weight in zip(slopes.tolist(), weights, strict=True)
        ]
        curvature = [
            [
                Fraction(int(entry) * KNOTS, ONE * self.unit**2) + self.penalty * (i == j)
                for j, entry in enumerate(row)
            ]
            for i, row in enumerate(bent.tolist())
        ]
        return gradient, curvature


def _solved(matrix: list[Vector], wanted: Vector) -> Vector:
    """Solve a symmetric positive system by elimination: no pivot is 0."""
    rows = [[*row, right] for row, right in zip(matrix, wanted, strict=True)]
    for at, pivot in enumerate(rows):
        for other in rows[at + 1 :]:
            factor = other[at] / pivot[at]
            if factor:
                other[at:] = [
                    a - factor * b for a, b in zip(other[at:], pivot[at:], strict=True)
                ]
    found: Vector = []
    for at in reversed(range(len(rows))):
        known = sum(
            (rows[at][len(rows) - 1 - place] * value for place, value in enumerate(found)),
            Fraction(0),
        )
        found.append((rows[at][-1] - known) / rows[at][at])
    return found[::-1]


def _square(vector: Iterable[Fraction]) -> Fraction:
    return sum((part**2 for part in vector), Fraction(0))


def _rounded(number: Any, bits: int) -> Fraction:
    return Fraction(round(Fraction(number) * 2**bits), 2**bits)


def _log2(number: Fraction) -> int:
    """The logarithm of a positive number of any size, rounded up."""
    shift = max(0, number.numerator.bit_length() - number.denominator.bit_length() - 60)
    return shift + ceil(log2(float(number / 2**shift)))
