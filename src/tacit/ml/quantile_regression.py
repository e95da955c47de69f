"""Quantile regression by noisy gradient descent on a smoothed check loss."""

from typing import Any

from tacit.core import Event, Loss
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.descent import NoisyDescent
from tacit.ml.robust_scores import MallowsScores, RobustRegression
from tacit.plan import Training, TrainingSteps


class QuantileRegression(RobustRegression):
    """A linear model of a conditional quantile: the target lies below it with that probability.

    The check loss has slope quantile - 1 for targets below the model and quantile for targets
    above it. Within ``smoothing`` scales of the model, the slope changes linearly, so that
    descent converges. Where the density of residuals is not linear there, this causes a small
    bias. Residuals are in units of a public ``scale``, and features in units of ``scales``.

    There is no confidence interval. The bias of the smoothing depends on the data and is not
    released, and an interval without it would be too short.

    Guarantee: one count and ``iterations`` gradients with Gaussian noise, within rho; exact
    integers and noise. Rows have Mallows' weights, as in `HuberRegression`.
    Reference: Koenker, Bassett 1978; He, Pan, Tan, Zhou 2023 for the smoothing.

    Example:
        >>> model = QuantileRegression(quantile=0.9, bounds=(0, 120), target_bounds=(0, 5000))
        >>> model.get_params()["smoothing"]
        0.5
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        *,
        quantile: float = 0.5,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        scales: Any = None,
        target_bounds: Any = None,
        scale: float = 1.0,
        smoothing: float = 0.5,
        norm: float = 2.0,
        iterations: int = 20,
        rate: float = 1.5,
    ) -> None:
        self.quantile = quantile
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.scales = scales
        self.target_bounds = target_bounds
        self.scale = scale
        self.smoothing = smoothing
        self.norm = norm
        self.iterations = iterations
        self.rate = rate

    def event(self, training: Training) -> Event:
        """Describe the releases for the accountant: one count, and one gradient per step."""
        return self._descent(training).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Read the rows once, release noisy gradients, and return the line."""
        scores, descent = self.scores(training), self._descent(training)
        rows = yield scores.rows.step(training)
        units = descent.units(rows, gateway)
        path = descent.path(rows, scores.gradients, units, gateway)
        # late steps fluctuate around the solution, so their mean has less noise than the last
        weights = path[len(path) // 2 :].mean(axis=0)
        return self._line(weights, scores.rows, training)

    def scores(self, training: Training) -> MallowsScores:
        """Return the scores of rows: 2 smoothing times the slope of the check loss."""
        if not (0 < self.quantile < 1 and self.smoothing > 0):
            raise InvalidValue(
                "The quantile must be between 0 and 1 and the smoothing above 0, but "
                f"{self.quantile} and {self.smoothing} were given."
            )
        shift = self.smoothing * (2 * self.quantile - 1)
        return self._mallows(training, self.smoothing, shift)

    def _descent(self, training: Training) -> NoisyDescent:
        scores = self.scores(training)
        return NoisyDescent(
            self.iterations,
            scores.longest,
            self.rate / (2 * self.smoothing),
            1 + len(training.features),
            training.neighbours,
            Loss.zcdp(self.rho),
        )
