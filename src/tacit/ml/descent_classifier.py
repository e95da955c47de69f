"""Classifiers by noisy gradient descent: what logistic regression and an SVM share."""

from abc import abstractmethod
from math import sqrt
from typing import Any, ClassVar

from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.mechanisms.gateway import Gateway
from tacit.ml.descent import NoisyDescent
from tacit.ml.linear_classifier import LinearClassifier
from tacit.ml.scaled_rows import ScaledRows, line_at
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers
from tacit.plan.estimator import Steps
from tacit.plan.training import Training

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

    def steps(self, training: Training, gateway: Gateway) -> Steps:
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
