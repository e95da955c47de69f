"""Bounded scores for robust regression, and the base class of the robust regressions.

`MallowsScores` computes for each row a score whose norm is bounded, whatever the row contains:
the residual is clipped (Huber), and rows with large features get a small weight (Mallows).
`RobustRegression` holds the parts that Huber and quantile regression share. Symmetric matrices
are packed as vectors whose Euclidean norm is the Frobenius norm of the matrix.
"""

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
    """Return the packed matrix x x' of each row x.

    These are the entries on and above the diagonal, and those above are multiplied by sqrt(2).

    Example:
        >>> packed_products(np.array([[1.0, 2.0]])).round(3).tolist()
        [[1.0, 2.828, 4.0]]
    """
    first, second = np.triu_indices(rows.shape[1])
    products: Floats = rows[:, first] * rows[:, second]
    return products * _packing_factors(first, second)


def unpack_symmetric(vector: Floats, size: int) -> Floats:
    """Return the symmetric matrix from the vector of its packed entries.

    Noise with equal variance on all entries of the vector is isotropic in the Frobenius norm.

    Example:
        >>> unpack_symmetric(packed_products(np.array([[1.0, 2.0]]))[0], 2).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """
    first, second = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[first, second] = matrix[second, first] = vector / _packing_factors(first, second)
    return matrix


def intervals(centres: Floats, covariance: Floats, confidence: float) -> Floats:
    """Return the lower and upper ends of confidence intervals for normal estimates.

    Example:
        >>> intervals(np.array([1.0]), np.array([[4.0]]), 0.95).round(2).tolist()
        [[-2.92, 4.92]]
    """
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(np.diag(covariance))
    return np.column_stack([centres - reach, centres + reach])


def _packing_factors(first: Any, second: Any) -> Floats:
    return np.where(first == second, 1.0, sqrt(2))


# ------------------------------------------------------------------ bounded scores


@dataclass(frozen=True, slots=True)
class MallowsScores:
    """The scores w psi(r) x of rows x with target y, which have a bounded norm.

    The residual is r = y - x'weights, and the weight of a row is w = min(1, (norm / |x|)^2).
    Here psi(r) is r clipped to [-turn, turn], plus a ``shift``. So the norm of a score is at
    most (turn + |shift|) * norm, the norm of its outer product is at most the square of that,
    and the norm of its slope is at most norm^2. ``target_unit`` is one grid step of the target
    in units of the residuals' scale.
    """

    rows: ScaledRows
    target_unit: float
    turn: float
    norm: float
    shift: float = 0.0

    @property
    def longest(self) -> float:
        """The largest norm of a score."""
        return (self.turn + abs(self.shift)) * self.norm

    def gradients(self, weights: Floats, table: Integers) -> Floats:
        """Return the gradient of each row's loss, which is its score with the opposite sign."""
        features, residuals = self._residuals(weights, table)
        scores = np.clip(residuals, -self.turn, self.turn) + self.shift
        counted = scores * self._weights(features)
        return np.asarray(-counted[:, None] * features)

    def slopes(self, weights: Floats, table: Integers) -> Floats:
        """Return the packed slope w psi'(r) x x' of each row."""
        features, residuals = self._residuals(weights, table)
        counted = (abs(residuals) < self.turn) * self._weights(features)
        return packed_products(features) * counted[:, None]

    def steepest(self, weights: Floats, table: Integers) -> Floats:
        """Return the packed matrix w x x' of each row, an upper bound on its slope."""
        del weights
        features = self.rows.features(table)
        return packed_products(features) * self._weights(features)[:, None]

    def squares(self, weights: Floats, table: Integers) -> Floats:
        """Return the packed outer product of each row's score with itself."""
        return packed_products(self.gradients(weights, table))

    def _residuals(self, weights: Floats, table: Integers) -> tuple[Floats, Floats]:
        features = self.rows.features(table)
        fitted = line_at(features, weights[None, :])[:, 0]
        return features, np.asarray(table[:, -1] * self.target_unit - fitted)

    def _weights(self, features: Floats) -> Floats:
        # a square of numpy's float64 overflows to infinity, where Python's float would raise
        square = np.float64(self.norm) ** 2
        return np.asarray(np.minimum(1.0, square / (features**2).sum(axis=1)))


# ------------------------------------------------------------------ base class


class RobustRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """The base class of linear regressions with bounded scores and a target with public bounds.

    Residuals are in units of a public ``scale``. A row x, scaled and with its constant 1, has
    the weight w = min(1, (norm / |x|)^2), which makes the regression robust against outliers in
    the features as well.
    """

    bounds: Any
    scales: Any
    target_bounds: Any
    scale: float
    norm: float

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the predicted target for each row of ``X``."""
        return self._validate_rows(X) @ self.coef_ + self.intercept_

    def target(self, training: Training) -> Axis:
        """Return the axis of the target between its public bounds."""
        if training.target is None or not min(self.scale, self.norm) > 0:
            raise InvalidValue(
                "A regression needs a target, and a scale and a norm above 0; the scale "
                f"{self.scale} and the norm {self.norm} were given."
            )
        (bounds,) = bounds_of([training.target], self.target_bounds)
        return Axis.of(training.target, bounds)

    def _mallows(self, training: Training, turn: float, shift: float = 0.0) -> MallowsScores:
        """Return the score function: it scales rows, and bounds the weight of each."""
        target = self.target(training)
        bounds = bounds_of(training.features, self.bounds)
        rows = ScaledRows.of(training, bounds, self.scales, (target.steps, target.reach))
        return MallowsScores(rows, float_of(target.unit) / self.scale, turn, self.norm, shift)

    def _line(
        self, weights: Floats, rows: ScaledRows, training: Training
    ) -> tuple[Parameter, Parameter]:
        """Return the coefficients and the intercept in the units of the columns."""
        line, start = self.scale * rows.back() @ weights, float_of(self.target(training).centre)
        return parameter("coef_", line[1:]), parameter("intercept_", line[0] + start)
