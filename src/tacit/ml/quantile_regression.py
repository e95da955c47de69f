"""Quantile regression: descent along the scores of a check loss whose corner is rounded."""

from typing import Any

from tacit.core import Event, Loss
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.descent import NoisyDescent
from tacit.ml.robust_scores import MallowsScores, RobustRegression
from tacit.plan import Training, TrainingSteps


class QuantileRegression(RobustRegression):
    """A line below which the target is with probability ``quantile``, whatever the features.

    The check loss has slope quantile - 1 below the line and quantile above it. Between
    ``smoothing`` scales below and above, the slope goes evenly from one to the other, so that
    descent settles; a density that bends there makes the line a little off. Residuals are in
    units of a public ``scale``, and features in their ``scales``.

    There is no interval: how far the rounded corner leads away from the quantile is a fact
    about the people that is not released, and an interval without it would be too short.

    Guarantee: one count and ``iterations`` gradients with Gaussian noise, within rho; exact
    integers and noise. Rows count by Mallows' weights, as in `HuberRegression`.
    Reference: Koenker, Bassett 1978; He, Pan, Tan, Zhou 2023 for the rounded corner.

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
        """One count, and a gradient for each step."""
        return self._descent(training).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One reading of the rows, and then noisy gradients of them."""
        scores, descent = self.scores(training), self._descent(training)
        rows = yield scores.rows.step(training)
        units = descent.units(rows, gateway)
        path = descent.path(rows, scores.gradients, units, gateway)
        # late steps walk around the place: their mean has less noise than the last
        weights = path[len(path) // 2 :].mean(axis=0)
        return self._line(weights, scores.rows, training)

    def scores(self, training: Training) -> MallowsScores:
        """How a row is read, and its score: 2 smoothing times the slope of the check loss."""
        if not (0 < self.quantile < 1 and self.smoothing > 0):
            raise InvalidValue(
                "A quantile is between 0 and 1 and its smoothing above 0, and "
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
