"""The matrix of products of a model's axes, summed in the engine: X'X, in exact integers."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from tacit.ml.noisy_sums import NoisySums
from tacit.ml.points import Points
from tacit.ml.total_algebra import floats_of
from tacit.noise.integers import Integers
from tacit.plan.axis import REACH, Axis
from tacit.plan.steps import ProductSteps
from tacit.plan.tally import KeptTally

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
    return KeptTally(ProductSteps(one.steps, other.steps), low, most)
