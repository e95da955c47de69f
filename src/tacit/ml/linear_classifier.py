"""Classifiers whose scores are lines: public classes, how rows are read, and predictions."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.points import bounds_of
from tacit.ml.scaled_rows import ScaledRows
from tacit.ml.total_algebra import Floats, parameter
from tacit.plan.labels import label_steps
from tacit.plan.training import Training

BINARY = 2


class LinearClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A line for each of several public classes, or one alone that tells two apart."""

    bounds: Any
    scales: Any
    classes: Any
    fit_intercept: bool

    @property
    def classes_(self) -> Any:
        """The public classes, in the order that was given."""
        return np.array(self.classes)

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """The score of each class; of two, that of the second, above 0 where it is likelier."""
        scores = self._asked(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if self._outputs == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class with the greatest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0) * 1 if self._outputs == 1 else scores.argmax(axis=1)]

    def rows(self, training: Training) -> ScaledRows:
        """How a row is read: scaled features, and the place of its class."""
        if training.target is None or len(set(self.classes)) < max(BINARY, len(self.classes)):
            raise InvalidValue(
                "A classifier needs a target and two public classes or more, each once, and "
                f"{len(self.classes)} were given."
            )
        return ScaledRows.of(
            training,
            bounds_of(training.features, self.bounds),
            self.scales,
            (label_steps(training.target, self.classes), len(self.classes)),
            constant=self._constant if self.fit_intercept else 0.0,
        )

    @property
    def _constant(self) -> float:
        """What every row has before its features, for the intercept."""
        return 1.0

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes) == BINARY else len(self.classes)

    def _lines(self, weights: Floats, scaled: ScaledRows) -> tuple[Parameter, Parameter]:
        """Weights of scaled features as lines of the features that a person gives."""
        found = weights.reshape(-1, scaled.dimensions) @ scaled.back().T
        return (
            parameter("coef_", found[:, 1:]),
            parameter("intercept_", found[:, 0]),
        )

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._checked(X, y)
        check_classification_targets(target)
        return features, target
