"""Means and deviations of columns, and columns without them."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from tacit.core.event import Event
from tacit.mechanisms.gateway import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.moments import Moments
from tacit.ml.noisy_sums import event_of, released
from tacit.ml.points import Points
from tacit.ml.total_algebra import float_of, parameter, root_of
from tacit.plan.axis import REACH
from tacit.plan.estimator import Steps
from tacit.plan.training import Training


class StandardScaler(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Columns less their mean, in units of their deviation, both of which are released.

    Guarantee: three Gaussian releases: of the number of rows, the sums and the squares.

    Example:
        >>> StandardScaler(epsilon=0.5, bounds=(0, 120)).get_params()["delta"]
        1e-06
    """

    def __init__(
        self, *, epsilon: float = 1.0, delta: float = 1e-6, bounds: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds

    def event(self, training: Training) -> Event:
        """Gaussian noise on the count, the sums and the squares."""
        parts = Moments(self._points(training).axes).sums(training.max_rows)
        return event_of(parts, training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """One scan of the rows."""
        points = self._points(training)
        moments = Moments(points.axes)
        parts = moments.sums(training.max_rows)
        found = yield from released(parts, training, self.rho, gateway, points.inside)
        noise = root_of(parts[2].mechanism(training, self.rho).variance)
        counts, means, variances = moments.read(found, noise)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        centres = np.array([float_of(axis.centre) for axis in points.axes])
        deviations = np.sqrt(variances[0]) * ends
        return (
            parameter("n_samples_seen_", counts[0]),
            parameter("mean_", centres + means[0] * ends),
            parameter("var_", deviations**2),
            parameter("scale_", deviations),
        )

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Rows ``X`` in deviations from the mean."""
        return (self._asked(X) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Rows as they were before `transform`."""
        return np.asarray(X) * self.scale_ + self.mean_

    def _points(self, training: Training) -> Points:
        return Points.of(training.features, self.bounds)
