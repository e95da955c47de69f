"""Gaussian naive Bayes from noisy counts, sums and sums of squares of each class."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.core import Event
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import float_of, parameter, root_of
from tacit.ml.sufficient_statistics import NoisyMoments, Points, event_of, release_sums
from tacit.plan import REACH, StepsKey, Training, TrainingSteps, label_key


class GaussianNB(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier that models the columns of each class as independent normal variables.

    The ``classes`` are public, and rows of any other class are left out. Each row is in one
    class, so that the releases for all classes together cost as much as for one.

    Guarantee: three Gaussian releases: of row counts, sums and sums of squares.

    Example:
        >>> GaussianNB(classes=["no", "yes"], bounds=(0, 1)).get_params()["classes"]
        ['no', 'yes']
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        classes: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes

    def event(self, training: Training) -> Event:
        """Describe the releases: noise on counts, sums and sums of squares of all classes."""
        self._key(training)
        parts = NoisyMoments(self._points(training).axes).sums(training.max_rows)
        return event_of(parts, training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Scan the rows once, grouped by class, and return the parameters of each class."""
        points, key = self._points(training), self._key(training)
        moments = NoisyMoments(points.axes)
        parts = moments.sums(training.max_rows)
        found = yield from release_sums(
            parts, training, self.rho, gateway, points.inside, key=key
        )
        noise = root_of(parts[2].mechanism(training, self.rho).variance)
        counts, means, variances = moments.read(found, noise)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        centres = np.array([float_of(axis.centre) for axis in points.axes])
        return (
            parameter("class_count_", counts),
            parameter("class_prior_", counts / counts.sum()),
            parameter("theta_", centres + means * ends),
            parameter("var_", variances * ends**2),
        )

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most likely class of each row of ``X``."""
        return self.classes_[self._log_joint(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the probability of each class for each row of ``X``."""
        joint = self._log_joint(X)
        likely = np.exp(joint - joint.max(axis=1, keepdims=True))
        return likely / likely.sum(axis=1, keepdims=True)

    @property
    def classes_(self) -> Any:
        """The public classes, in the order of the columns of `predict_proba`."""
        return np.asarray(self.classes)

    def _log_joint(self, X: Any) -> Any:  # noqa: N803
        rows = self._validate_rows(X)[:, None, :]
        off = (rows - self.theta_) ** 2 / self.var_ + np.log(2 * np.pi * self.var_)
        return np.log(self.class_prior_) - off.sum(axis=2) / 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's checks use too few rows
        return tags

    def _points(self, training: Training) -> Points:
        return Points.of(training.features, self.bounds)

    def _key(self, training: Training) -> StepsKey:
        column = training.target
        if column is None:
            raise InvalidValue("A classifier needs a target: name the column of the classes.")
        classes = [] if self.classes is None else np.asarray(self.classes).tolist()
        if len(set(classes)) < max(2, len(classes)):
            raise InvalidValue(
                "A classifier needs at least two different public classes, which are not "
                "learned from the target; give them, for example classes=[0, 1]."
            )
        return label_key(column, classes)

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._validate(X, y)
        check_classification_targets(target)
        return features, target
