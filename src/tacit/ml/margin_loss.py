"""Convex losses of a margin, given by their slopes: exact on a table of integers."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.special import expit

from tacit.errors import InternalError
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers

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
