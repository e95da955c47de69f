"""Regression by Huber's M-estimator: noisy descent, a sandwich, and honest intervals."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from tacit.core.event import Composed, Event
from tacit.core.loss import Loss
from tacit.core.parameter import Parameter
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.clipped_sum import ClippedSum, Floats
from tacit.ml.descent import NoisyDescent
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.mallows import MallowsScores
from tacit.ml.packed import intervals, unpacked
from tacit.ml.points import bounds_of
from tacit.ml.sandwich import Sandwich
from tacit.ml.scaled_rows import ScaledRows
from tacit.noise.integers import Integers
from tacit.plan.axis import Axis
from tacit.plan.estimator import Steps
from tacit.plan.training import Training

DESCENT_SHARE = Fraction(3, 4)
"""Of the loss; the two matrices of the sandwich share the rest."""


class HuberRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A line by Huber's scores of residuals over a public ``scale``, and Mallows' weights.

    A row x, scaled and with its constant 1, counts by w = min(1, (norm / |x|)^2), so that
    no row's score w psi(r) x is longer than turn * norm, whatever it holds: robust against
    outliers in the target and in the features alike.

    `interval` has a confidence interval for each coefficient, with the noise in it, where one
    may be printed: where the steps have arrived, and the slope of the scores is known well.

    Guarantee: one count, ``iterations`` gradients and two matrices with Gaussian noise, within
    rho; exact integers and noise.
    Reference: Avella-Medina, Bradshaw, Loh 2023, algorithm 1, with the noise of add/remove or
    replace-one neighbours.

    Example:
        >>> model = HuberRegression(bounds=(0, 120), target_bounds=(0, 5000), scale=300)
        >>> model.get_params()["turn"]
        1.345
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        scales: Any = None,
        target_bounds: Any = None,
        scale: float = 1.0,
        turn: float = 1.345,
        norm: float = 2.0,
        iterations: int = 20,
        rate: float = 2 / 3,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.scales = scales
        self.target_bounds = target_bounds
        self.scale = scale
        self.turn = turn
        self.norm = norm
        self.iterations = iterations
        self.rate = rate

    def event(self, training: Training) -> Event:
        """A descent, and two matrices."""
        matrices = [each.event() for each in self._matrices(training)]
        return Composed((self._descent(training).event(), *matrices))

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """One reading of the rows, and then noisy gradients and matrices of them."""
        scores, descent = self.scores(training), self._descent(training)
        rows = yield scores.rows.step(training)
        units = descent.units(rows, gateway)
        weights = descent.path(rows, scores.gradients, units, gateway)[-1]
        found = self._sandwich(rows, weights, units, training, gateway)
        back = self.scale * scores.rows.back()
        line, start = back @ weights, float(self.target(training).centre)
        covariance = back @ found.covariance @ back.T
        return (
            Parameter.of("coef_", line[1:].tolist()),
            Parameter.of("intercept_", float(line[0] + start)),
            Parameter.of("covariance_", covariance.tolist()),
            Parameter.of("noise_", (back @ found.noise @ back.T).tolist()),
            Parameter.of("honest_", int(found.is_honest)),
        )

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The line at rows ``X``."""
        return self._asked(X) @ self.coef_ + self.intercept_

    def interval(self, confidence: float = 0.95) -> Any:
        """Lower and upper ends for the intercept and each coefficient, where they are honest.

        Guarantee: for independent units the *population's* coefficients are held with that
        confidence, to first order: sampling and noise are both in it.
        """
        if not self.honest_:
            raise InvalidValue(
                "No interval may be printed: the steps have not arrived, or noise hides the "
                "slope. Give scales nearer to how far features deviate, more iterations, more "
                "rows or a larger epsilon."
            )
        centres = np.concatenate([[self.intercept_], self.coef_])
        return intervals(centres, self.covariance_, confidence)

    # ------------------------------------------------------------- parts of a fit

    def _sandwich(
        self,
        rows: Secret[Integers],
        weights: Floats,
        units: float,
        training: Training,
        gateway: Gateway,
    ) -> Sandwich:
        scores, (slope, square) = self.scores(training), self._matrices(training)
        slopes = slope.release(rows, partial(scores.slopes, weights), gateway)
        squares = square.release(rows, partial(scores.squares, weights), gateway)
        return Sandwich(
            slope=unpacked(slopes, len(weights)) / units,
            square=unpacked(squares, len(weights)) / units,
            units=units,
            rate=self.rate,
            iterations=self.iterations,
            gradient_noise=self._descent(training).gradient.deviation / units,
            slope_noise=slope.deviation / units,
            weights=weights,
        )

    def _descent(self, training: Training) -> NoisyDescent:
        return NoisyDescent(
            self.iterations,
            self.scores(training).longest,
            self.rate,
            1 + len(training.features),
            training.neighbours,
            Loss.zcdp(self.rho * DESCENT_SHARE),
        )

    def _matrices(self, training: Training) -> tuple[ClippedSum, ClippedSum]:
        """The sums of slopes, and of squares of scores."""
        size, longest = 1 + len(training.features), self.scores(training).longest
        loss = Loss.zcdp(self.rho * (1 - DESCENT_SHARE) / 2)
        entries = size * (size + 1) // 2
        return (
            ClippedSum(self.norm**2, entries, training.neighbours, loss),
            ClippedSum(longest**2, entries, training.neighbours, loss),
        )

    def scores(self, training: Training) -> MallowsScores:
        """How a row is read, and how much it counts."""
        target = self.target(training)
        bounds = bounds_of(training.features, self.bounds)
        rows = ScaledRows.of(training, bounds, self.scales, (target.steps, target.reach))
        return MallowsScores(rows, float(target.unit) / self.scale, self.turn, self.norm)

    def target(self, training: Training) -> Axis:
        """The target between its public bounds."""
        if training.target is None or not min(self.scale, self.turn, self.norm) > 0:
            raise InvalidValue(
                "A regression needs a target, and a scale, turn and norm above 0; "
                f"{self.scale}, {self.turn} and {self.norm} were given."
            )
        (bounds,) = bounds_of([training.target], self.target_bounds)
        return Axis.of(training.target, bounds)
