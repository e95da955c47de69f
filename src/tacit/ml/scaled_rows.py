"""Rows of a training as real numbers of one size: public centres and scales, no data."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from tacit.core.bounds import Bounds
from tacit.errors import InvalidValue
from tacit.ml.total_algebra import Floats, finite, float_of
from tacit.noise.integers import Integers
from tacit.plan.axis import Axis
from tacit.plan.estimator import RowsOf
from tacit.plan.steps import NotSo, Steps, StepsAreNull
from tacit.plan.tally import KeptTally
from tacit.plan.training import Training


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """The features of a row as (x - centre) / scale, after a constant, and its target.

    Centre and scale are public: the middle of the bounds and half their range, or scales that
    are known to be nearer to how far values deviate. Where the ``constant`` is 0 there is none,
    and the centre is 0.
    """

    axes: tuple[Axis, ...]
    scales: tuple[float, ...]
    target: Steps
    target_reach: int
    """How far the target's steps are from 0 at most."""
    constant: float = 1.0
    """What every row has before its features; 0 where a line goes through 0."""

    @classmethod
    def of(
        cls,
        training: Training,
        bounds: Sequence[Bounds],
        scales: Any,
        target: tuple[Steps, int],
        *,
        constant: float = 1.0,
    ) -> Self:
        """For each feature its bounds; one scale for all, one for each, or half the range."""
        known = [float_of(each.width / 2) for each in bounds]
        if scales is not None:
            known = np.broadcast_to(np.asarray(scales, dtype=np.float64), len(known)).tolist()
        if not all(scale > 0 for scale in known):
            raise InvalidValue(f"Scales are above 0, and {scales!r} were given.")
        around = None if constant else Fraction(0)  # a line through 0 has its origin there
        axes = tuple(
            Axis.of(*each, around) for each in zip(training.features, bounds, strict=True)
        )
        return cls(axes, tuple(known), *target, constant)

    def step(self, training: Training) -> RowsOf:
        """All rows without a NULL."""
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((self.target, self.target_reach))
        tallies = [KeptTally(steps, -reach, reach) for steps, reach in columns]
        there = [NotSo(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))

    @property
    def dimensions(self) -> int:
        """Of a row, with its constant."""
        return self._first + len(self.axes)

    @property
    def _first(self) -> int:
        """The place of the first feature."""
        return int(self.constant > 0)

    def features(self, rows: Integers) -> Floats:
        """The scaled features, a row each."""
        units = [float_of(axis.unit) for axis in self.axes]
        found = np.full((len(rows), self.dimensions), self.constant)
        found[:, self._first :] = rows[:, 1:-1] * (np.array(units) / self.scales)
        return found

    def back(self) -> Floats:
        """The matrix that makes intercept and coefficients of weights of scaled features."""
        found = np.zeros((1 + len(self.axes), self.dimensions))
        found[0, 0] = self.constant
        for place, (axis, scale) in enumerate(zip(self.axes, self.scales, strict=True)):
            found[1 + place, self._first + place] = 1 / scale
            found[0, self._first + place] -= float_of(axis.centre) / scale
        return finite(found)


def line_at(features: Floats, weights: Floats) -> Floats:
    """Each row's products with each row of ``weights``, by that row's numbers alone.

    A matrix product of BLAS rounds a row by where it stands among others: a unit that comes
    could then change the last bit of everybody's gradient, and round it to another integer.

    Example:
        >>> line_at(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.5, 0.5]])).tolist()
        [[11.0, 1.5]]
    """
    found = np.zeros((len(features), len(weights)))
    for column, slopes in zip(features.T, weights.T, strict=True):
        found += column[:, None] * slopes
    return found
