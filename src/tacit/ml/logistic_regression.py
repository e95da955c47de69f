"""Logistic regression by noisy gradient descent, for two classes or more."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.clipped_sum import Floats
from tacit.ml.descent import NoisyDescent
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.points import bounds_of
from tacit.ml.scaled_rows import ScaledRows, line_at
from tacit.noise.integers import Integers
from tacit.plan.estimator import Steps
from tacit.plan.labels import label_steps
from tacit.plan.training import Training

BINARY = 2


class LogisticRegression(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """The log-odds of public ``classes`` as a line, by descent along noisy gradients.

    Features are scaled by their public ``bounds`` (or ``scales``). In each of so many
    ``iterations`` every *unit's* gradient, over all its rows, is clipped to the norm ``clip``
    and rounded to integers; their sum gets Gaussian noise. The weights are the mean of the last
    half of the path. More than two classes are one problem, a softmax, and not one each.

    No exact minimiser is needed, and an intercept costs nothing beyond its place in the
    gradient: the proof knows neither the loss nor the solver.

    Guarantee: a count and ``iterations`` gradients with Gaussian noise, within rho; exact
    integers and noise.

    Example:
        >>> model = LogisticRegression(epsilon=1, bounds=(0, 120), classes=("no", "yes"))
        >>> model.classes_.tolist()
        ['no', 'yes']
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        scales: Any = None,
        classes: Any = (0, 1),
        clip: float = 1.0,
        iterations: int = 40,
        rate: float = 16.0,
        fit_intercept: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.scales = scales
        self.classes = classes
        self.clip = clip
        self.iterations = iterations
        self.rate = rate
        self.fit_intercept = fit_intercept

    @property
    def classes_(self) -> Any:
        """The public classes, in the order that was given."""
        return np.array(self.classes)

    def event(self, training: Training) -> Event:
        """One count, and a gradient for each step."""
        return self._descent(training, self.rows(training)).event()

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """One reading of the rows, and then noisy gradients of them."""
        scaled = self.rows(training)
        descent = self._descent(training, scaled)
        rows = yield scaled.step(training)

        def gradients(weights: Floats, table: Integers) -> Floats:
            features = scaled.features(table)
            scores = line_at(features, weights.reshape(-1, scaled.dimensions))
            off = self._off(scores, table[:, -1])
            # of each row and class the features, as far as its probability is off
            each: Floats = off[:, :, None] * features[:, None, :]
            return each.reshape(len(table), weights.size)

        units = descent.units(rows, gateway)
        path = descent.path(rows, gradients, units, gateway)
        weights = path[len(path) // 2 :].mean(axis=0).reshape(-1, scaled.dimensions)
        found = weights @ scaled.back().T
        return (
            Parameter.of("coef_", found[:, 1:].tolist()),
            Parameter.of("intercept_", found[:, 0].tolist()),
        )

    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """How far the probabilities by ``scores`` are from what the rows are."""
        if self._outputs == 1:
            return np.asarray(expit(scores) - labels[:, None])
        return np.asarray(softmax(scores, axis=1) - np.eye(len(self.classes))[labels])

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """The log-odds, up to a constant for more than two classes."""
        scores = self._asked(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if self._outputs == 1 else scores

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class."""
        scores = self.decision_function(X)
        if self._outputs == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The likeliest class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._checked(X, y)
        check_classification_targets(target)
        return features, target

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes) == BINARY else len(self.classes)

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
            constant=self.fit_intercept,
        )

    def _descent(self, training: Training, scaled: ScaledRows) -> NoisyDescent:
        return NoisyDescent(
            self.iterations,
            self.clip,
            self.rate,
            self._outputs * scaled.dimensions,
            training.neighbours,
            Loss.zcdp(self.rho),
        )
