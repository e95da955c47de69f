"""Classifiers whose scores are lines: public classes, how rows are read, and predictions."""

from abc import abstractmethod
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.core import Event, Loss, Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.clipped_sum import ScaledRows, line_at
from tacit.ml.descent import NoisyDescent
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import Floats, parameter
from tacit.ml.sufficient_statistics import bounds_of
from tacit.noise import Integers
from tacit.plan import Training, TrainingSteps, label_steps

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


# ------------------------------------------------------------------ descent classifier
# Classifiers by noisy gradient descent: what logistic regression and an SVM share.

STRIDE = 4.0
"""Of a step, in the longest that is safe for rows of length one that all point one way."""


class DescentClassifier(LinearClassifier):
    """Scores of public ``classes`` as lines, by descent along noisy gradients.

    Features are scaled by their public ``bounds`` (or ``scales``). In each of so many
    ``iterations`` every *unit's* gradient, over all its rows, is clipped to the norm ``clip``
    and rounded to integers; their sum gets Gaussian noise. The weights are the mean of the last
    half of the path. All classes are one problem, whose gradient is clipped as one vector.
    The ``rate`` of steps is `STRIDE` over how much the loss curves at most, or as given. A clip
    below the longest gradient is less noise and some bias: for rows of length one, one half has
    been better than one at epsilons up to 3.

    No exact minimiser is needed, and an intercept costs nothing beyond its place in the
    gradient: the proof knows neither the loss nor the solver.

    Guarantee: a count and ``iterations`` gradients with Gaussian noise, within rho; exact
    integers and noise.
    """

    curvature: ClassVar[float]
    """How much the loss of a score curves at most."""

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
        rate: float | None = None,
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
    def _rate(self) -> float:
        return STRIDE / self.curvature if self.rate is None else self.rate

    @property
    def _constant(self) -> float:
        """As long as steps of the intercept settle: all rows pull at it, and all one way.

        The slope of several classes may be twice as steep as that of one.
        """
        return 1 / sqrt(max(1.0, 2 * self._rate * self.curvature))

    @abstractmethod
    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """The slope of each row's loss in each of its scores, by its own numbers alone."""

    def event(self, training: Training) -> Event:
        """One count, and a gradient for each step."""
        return self._descent(training, self.rows(training)).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One reading of the rows, and then noisy gradients of them."""
        scaled = self.rows(training)
        descent = self._descent(training, scaled)
        rows = yield scaled.step(training)

        def gradients(weights: Floats, table: Integers) -> Floats:
            features = scaled.features(table)
            scores = line_at(features, weights.reshape(-1, scaled.dimensions))
            # of each row and class the features, as far as its score is off
            off = self._off(scores, table[:, -1])
            each: Floats = off[:, :, None] * features[:, None, :]
            return each.reshape(len(table), weights.size)

        units = descent.units(rows, gateway)
        path = descent.path(rows, gradients, units, gateway)
        return self._lines(path[len(path) // 2 :].mean(axis=0), scaled)

    def _descent(self, training: Training, scaled: ScaledRows) -> NoisyDescent:
        return NoisyDescent(
            self.iterations,
            self.clip,
            self._rate,
            self._outputs * scaled.dimensions,
            training.neighbours,
            Loss.zcdp(self.rho),
        )


# ------------------------------------------------------------------ logistic regression
# Logistic regression by noisy gradient descent, for two classes or more.


class LogisticRegression(DescentClassifier):
    """The log-odds of public ``classes`` as a line; for settings see `DescentClassifier`.

    More than two classes are one problem, a softmax, and not one each.

    Example:
        >>> model = LogisticRegression(epsilon=1, bounds=(0, 120), classes=("no", "yes"))
        >>> model.classes_.tolist()
        ['no', 'yes']
    """

    curvature = 0.25

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class."""
        scores = self.decision_function(X)
        if self._outputs == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """How far the probabilities by ``scores`` are from what the rows are."""
        if self._outputs == 1:
            return np.asarray(expit(scores) - labels[:, None])
        return np.asarray(softmax(scores, axis=1) - np.eye(len(self.classes))[labels])


# ------------------------------------------------------------------ linear svc
# A support vector machine by noisy gradient descent, with a hinge that is round.

HALF_WIDTH = 0.5
"""Of the round part of the hinge, around a margin of 1."""


class LinearSVC(DescentClassifier):
    """A line with a margin between ``classes``; for settings see `DescentClassifier`.

    The loss of a margin z is Huber's: 1 - z below 1 - h, nothing above 1 + h, and a parabola
    between. More than two classes have a line each against all others, in one problem.

    Reference: Chapelle 2007; Chaudhuri, Monteleoni, Sarwate 2011, equation 7.

    Example:
        >>> LinearSVC(epsilon=1, bounds=(0, 120)).get_params()["iterations"]
        40
    """

    curvature = 1 / (2 * HALF_WIDTH)

    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """The slope of the hinge at each row's margins."""
        places = np.ones(1) if self._outputs == 1 else np.arange(self._outputs)
        signs = np.where(labels[:, None] == places, 1.0, -1.0)
        return -signs * np.clip((1 + HALF_WIDTH - signs * scores) / (2 * HALF_WIDTH), 0, 1)
