"""Linear classifiers by noisy gradient descent: logistic regression and a linear SVM.

`LinearClassifier` holds the public classes, the reading of rows and the predictions.
`DescentClassifier` adds noisy gradient descent, and its two subclasses add a loss function.
The guarantee holds for every loss function and every data set, because each unit's gradient is
clipped.
"""

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
    """A classifier with one linear score per public class, or one score for two classes."""

    bounds: Any
    scales: Any
    classes: Any
    fit_intercept: bool

    @property
    def classes_(self) -> Any:
        """The public classes, in the given order."""
        return np.array(self.classes)

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """Return the score of each class.

        For two classes, this is one score per row, which is above 0 where the second class is
        more likely.
        """
        scores = self._validate_rows(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if self._outputs == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class with the largest score for each row of ``X``."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0) * 1 if self._outputs == 1 else scores.argmax(axis=1)]

    def rows(self, training: Training) -> ScaledRows:
        """Return the reader of rows: scaled features, and the index of the class."""
        if training.target is None or len(set(self.classes)) < max(BINARY, len(self.classes)):
            raise InvalidValue(
                "A classifier needs a target and at least two different public classes, but "
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
        """The constant entry of every row, for the intercept."""
        return 1.0

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes) == BINARY else len(self.classes)

    def _lines(self, weights: Floats, scaled: ScaledRows) -> tuple[Parameter, Parameter]:
        """Return the coefficients and intercepts in the units of the original features."""
        found = weights.reshape(-1, scaled.dimensions) @ scaled.back().T
        return (
            parameter("coef_", found[:, 1:]),
            parameter("intercept_", found[:, 0]),
        )

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._validate(X, y)
        check_classification_targets(target)
        return features, target


# ------------------------------------------------------------------ noisy gradient descent

STRIDE = 4.0
"""The step size, as a multiple of the largest step that is stable for the worst rows.

The worst case is rows of norm 1 that all have the same direction.
"""


class DescentClassifier(LinearClassifier):
    """A linear classifier of public ``classes`` that is fitted by noisy gradient descent.

    Features are scaled by their public ``bounds`` (or ``scales``). In each of the
    ``iterations``, every *unit's* gradient, over all of its rows, is clipped to the norm
    ``clip`` and rounded to integers, and their sum gets Gaussian noise. The weights are the
    mean of the second half of the path. All classes are one optimisation problem, whose
    gradient is clipped as one vector. The ``rate`` is `STRIDE` divided by the largest curvature
    of the loss, unless it is given. A clip below the norm of the longest gradient means less
    noise and some bias: for rows of norm 1, a clip of 1/2 was better than 1 for epsilons up to
    3.

    The privacy proof uses neither the loss function nor the convergence of the solver, so no
    exact minimiser is needed. An intercept costs one more entry of the gradient, and no more.

    Guarantee: a count and ``iterations`` gradients with Gaussian noise, within rho; exact
    integers and noise.
    """

    curvature: ClassVar[float]
    """The largest second derivative of the loss with respect to a score."""

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
        """The largest constant, up to 1, for which the steps of the intercept converge.

        All rows change the intercept in the same direction. With several classes, the Hessian
        can be twice as large as with one score; hence the factor of 2.
        """
        return 1 / sqrt(max(1.0, 2 * self._rate * self.curvature))

    @abstractmethod
    def _loss_slopes(self, scores: Floats, labels: Integers) -> Floats:
        """Return the derivative of each row's loss with respect to each of its scores.

        A row's result must depend on that row only.
        """

    def event(self, training: Training) -> Event:
        """Describe the releases for the accountant: one count, and one gradient per step."""
        return self._descent(training, self.rows(training)).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Read the rows once, release noisy gradients, and return the averaged weights."""
        scaled = self.rows(training)
        descent = self._descent(training, scaled)
        rows = yield scaled.step(training)

        def gradients(weights: Floats, table: Integers) -> Floats:
            features = scaled.features(table)
            scores = line_at(features, weights.reshape(-1, scaled.dimensions))
            # the gradient of a row and a class is the slope of its loss times the features
            slopes = self._loss_slopes(scores, table[:, -1])
            each: Floats = slopes[:, :, None] * features[:, None, :]
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


# ------------------------------------------------------------------ loss functions


class LogisticRegression(DescentClassifier):
    """Logistic regression over public ``classes``; for settings see `DescentClassifier`.

    More than two classes are fitted together with a softmax, and not one against the rest.

    Example:
        >>> model = LogisticRegression(epsilon=1, bounds=(0, 120), classes=("no", "yes"))
        >>> model.classes_.tolist()
        ['no', 'yes']
    """

    curvature = 0.25

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the probability of each class for each row of ``X``."""
        scores = self.decision_function(X)
        if self._outputs == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def _loss_slopes(self, scores: Floats, labels: Integers) -> Floats:
        """Return the predicted probabilities less the observed classes (1 or 0)."""
        if self._outputs == 1:
            return np.asarray(expit(scores) - labels[:, None])
        return np.asarray(softmax(scores, axis=1) - np.eye(len(self.classes))[labels])


HALF_WIDTH = 0.5
"""Half the width of the interval around margin 1 in which the hinge loss is smoothed."""


class LinearSVC(DescentClassifier):
    """A linear support vector machine; for settings see `DescentClassifier`.

    The loss is the smoothed hinge of a margin z: 1 - z below 1 - h, 0 above 1 + h, and a
    parabola between, with h = `HALF_WIDTH`. With more than two classes, each has a score
    against all others, and all are fitted as one problem.

    Reference: Chapelle 2007; Chaudhuri, Monteleoni, Sarwate 2011, equation 7.

    Example:
        >>> LinearSVC(epsilon=1, bounds=(0, 120)).get_params()["iterations"]
        40
    """

    curvature = 1 / (2 * HALF_WIDTH)

    def _loss_slopes(self, scores: Floats, labels: Integers) -> Floats:
        """Return the derivative of the smoothed hinge loss with respect to each score."""
        places = np.ones(1) if self._outputs == 1 else np.arange(self._outputs)
        signs = np.where(labels[:, None] == places, 1.0, -1.0)
        return -signs * np.clip((1 + HALF_WIDTH - signs * scores) / (2 * HALF_WIDTH), 0, 1)
