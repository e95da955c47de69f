"""Principal component analysis from a noisy covariance matrix."""

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from tacit.core import Event
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import eigen, float_of, floats_of, parameter
from tacit.ml.sufficient_statistics import (
    Gram,
    NoisySums,
    Points,
    axis_sums,
    count_sums,
    event_of,
    release_sums,
)
from tacit.plan import REACH, Training, TrainingSteps

COUNT, SUMS = Fraction(1, 100), Fraction(14, 100)
"""The shares of the privacy loss for the count, and for the sums if rows are centred.

The rest is for X'X.
"""


class PCA(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal component analysis by the eigenvectors of a noisy covariance matrix.

    With ``centred``, the mean is released too, and rows are centred on it. Without, rows are
    centred on the middle of their bounds, and nearly all of the privacy loss is for the matrix.
    Rows farther than ``norm`` from that middle, in units of half the bounds, are left out.

    Guarantee: two Gaussian releases, or three.
    Reference: Dwork, Talwar, Thakurta, Zhang 2014 (Analyze Gauss).

    Example:
        >>> PCA(n_components=2, bounds=(-1, 1), norm=1).get_params()["centred"]
        True
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        norm: float | None = None,
        centred: bool = True,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.norm = norm
        self.centred = centred

    def event(self, training: Training) -> Event:
        """Describe the releases: noise on the matrix, the count, and the sums if centred."""
        return event_of(self._parts(training), training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Scan the rows once, and return the components."""
        points, parts = self._points(training), self._parts(training)
        found = yield from release_sums(parts, training, self.rho, gateway, points.inside)
        matrix = Gram(points).matrix(found[0])
        rows = max(1.0, float_of(int(found[1][0])))
        mean = np.zeros(len(points.axes))
        if self.centred:
            mean = floats_of(found[2]) / REACH / rows
            matrix = matrix - rows * np.outer(mean, mean)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        centres = np.array([float_of(axis.centre) for axis in points.axes])
        values, vectors = eigen(matrix * np.outer(ends, ends) / rows)
        first = values.argsort()[::-1][: self.n_components]
        components = vectors[:, first].T
        signs = np.sign(components[range(len(first)), np.abs(components).argmax(axis=1)])
        return (
            parameter("components_", components * signs[:, None]),
            parameter("explained_variance_", np.maximum(values[first], 0.0)),
            parameter("mean_", centres + mean * ends),
        )

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Project the rows of ``X`` on the components."""
        return (self._validate_rows(X) - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Return the rows with the given coordinates along the components."""
        return np.asarray(X) @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _points(self, training: Training) -> Points:
        if not 1 <= self.n_components <= len(training.features):
            raise InvalidValue(
                f"There must be between 1 and {len(training.features)} components, at most "
                f"one for each feature, but n_components={self.n_components} was given."
            )
        return Points.of(training.features, self.bounds, self.norm)

    def _parts(self, training: Training) -> list[NoisySums]:
        points, most = self._points(training), training.max_rows
        sums = [axis_sums(points.axes, points.square, most, SUMS)] if self.centred else []
        rest = 1 - COUNT - sum(part.share for part in sums)
        return [Gram(points).sums(most, rest), count_sums(most, COUNT), *sums]
