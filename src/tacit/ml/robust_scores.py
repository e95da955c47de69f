"""Symmetric matrices as vectors whose length is the Frobenius norm, and intervals from them."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from tacit.core import Parameter
from tacit.errors import InvalidValue
from tacit.ml.clipped_sum import ScaledRows, line_at
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import Floats, float_of, parameter
from tacit.ml.sufficient_statistics import bounds_of
from tacit.noise import Integers
from tacit.plan import Axis, Training


def packed_products(rows: Floats) -> Floats:
    """Of each row x the entries of x x' on and above the diagonal; those above times sqrt(2).

    Example:
        >>> packed_products(np.array([[1.0, 2.0]])).round(3).tolist()
        [[1.0, 2.828, 4.0]]
    """
    first, second = np.triu_indices(rows.shape[1])
    products: Floats = rows[:, first] * rows[:, second]
    return products * _twice(first, second)


def unpacked(vector: Floats, size: int) -> Floats:
    """The symmetric matrix that a vector of its packed entries stands for.

    Noise that is equal on all entries of the vector is so in all directions of the matrix.

    Example:
        >>> unpacked(packed_products(np.array([[1.0, 2.0]]))[0], 2).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """
    first, second = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[first, second] = matrix[second, first] = vector / _twice(first, second)
    return matrix


def intervals(centres: Floats, covariance: Floats, confidence: float) -> Floats:
    """Lower and upper ends around normal estimates, one row each.

    Example:
        >>> intervals(np.array([1.0]), np.array([[4.0]]), 0.95).round(2).tolist()
        [[-2.92, 4.92]]
    """
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(np.diag(covariance))
    return np.column_stack([centres - reach, centres + reach])


def _twice(first: Any, second: Any) -> Floats:
    return np.where(first == second, 1.0, sqrt(2))


# ------------------------------------------------------------------ mallows
# Huber's scores of residuals with Mallows' weights of rows: bounded, whatever a row holds.


@dataclass(frozen=True, slots=True)
class MallowsScores:
    """Of a row x with target y: w psi(r) x, r = y - x'weights, w = min(1, (norm / |x|)^2).

    Here psi(r) is r between -turn and turn, and beyond as at the ends, plus a ``shift``. So the
    length of a score is (turn + |shift|) * norm at most, that of its square the square of that,
    and that of its slope norm^2. ``target_unit`` is how much a step of the target is, in scales
    of the residuals.
    """

    rows: ScaledRows
    target_unit: float
    turn: float
    norm: float
    shift: float = 0.0

    @property
    def longest(self) -> float:
        """The most that a score is long."""
        return (self.turn + abs(self.shift)) * self.norm

    def gradients(self, weights: Floats, table: Integers) -> Floats:
        """Of each row its score with the sign turned: the gradient of its loss."""
        features, residuals = self._residuals(weights, table)
        scores = np.clip(residuals, -self.turn, self.turn) + self.shift
        counted = scores * self._weights(features)
        return np.asarray(-counted[:, None] * features)

    def slopes(self, weights: Floats, table: Integers) -> Floats:
        """Of each row w psi'(r) x x', packed."""
        features, residuals = self._residuals(weights, table)
        counted = (abs(residuals) < self.turn) * self._weights(features)
        return packed_products(features) * counted[:, None]

    def steepest(self, weights: Floats, table: Integers) -> Floats:
        """Of each row w x x', packed: what its slope is at most, whatever the weights."""
        del weights
        features = self.rows.features(table)
        return packed_products(features) * self._weights(features)[:, None]

    def squares(self, weights: Floats, table: Integers) -> Floats:
        """Of each row its score times itself, packed."""
        return packed_products(self.gradients(weights, table))

    def _residuals(self, weights: Floats, table: Integers) -> tuple[Floats, Floats]:
        features = self.rows.features(table)
        fitted = line_at(features, weights[None, :])[:, 0]
        return features, np.asarray(table[:, -1] * self.target_unit - fitted)

    def _weights(self, features: Floats) -> Floats:
        # of numpy's floats, whose squares overflow to infinity where Python's raise
        square = np.float64(self.norm) ** 2
        return np.asarray(np.minimum(1.0, square / (features**2).sum(axis=1)))


# ------------------------------------------------------------------ robust regression
# What regressions by bounded scores share: a public target, rows that count, and a line.


class RobustRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A line through a target between public bounds, by Mallows' scores of rows.

    Residuals are taken in units of a public ``scale``. A row x, scaled and with its constant 1,
    counts by w = min(1, (norm / |x|)^2): robust against outliers in the features, too.
    """

    bounds: Any
    scales: Any
    target_bounds: Any
    scale: float
    norm: float

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The line at rows ``X``."""
        return self._asked(X) @ self.coef_ + self.intercept_

    def target(self, training: Training) -> Axis:
        """The target between its public bounds."""
        if training.target is None or not min(self.scale, self.norm) > 0:
            raise InvalidValue(
                "A regression needs a target, and a scale and norm above 0; "
                f"{self.scale} and {self.norm} were given."
            )
        (bounds,) = bounds_of([training.target], self.target_bounds)
        return Axis.of(training.target, bounds)

    def _mallows(self, training: Training, turn: float, shift: float = 0.0) -> MallowsScores:
        """How a row is read, and how much it counts."""
        target = self.target(training)
        bounds = bounds_of(training.features, self.bounds)
        rows = ScaledRows.of(training, bounds, self.scales, (target.steps, target.reach))
        return MallowsScores(rows, float_of(target.unit) / self.scale, turn, self.norm, shift)

    def _line(
        self, weights: Floats, rows: ScaledRows, training: Training
    ) -> tuple[Parameter, Parameter]:
        """The coefficients and the intercept, in units of columns, of released weights."""
        line, start = self.scale * rows.back() @ weights, float_of(self.target(training).centre)
        return parameter("coef_", line[1:]), parameter("intercept_", line[0] + start)
