"""Robust linear regression: Huber's M-estimator with confidence intervals.

The weights are found by noisy gradient descent or Newton's method. Two more noisy matrices give
the sandwich estimator of their covariance, to which the variance of the privacy noise is added.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import Composed, Event, Loss, Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.descent import NoisyDescent
from tacit.ml.finite_algebra import parameter
from tacit.ml.newton import NoisyNewton, NoisySandwich
from tacit.ml.robust_scores import MallowsScores, RobustRegression, intervals
from tacit.plan import Training, TrainingSteps

WALK_SHARE = Fraction(3, 4)
"""The share of the privacy loss for the steps; the two sandwich matrices share the rest."""

STEPS = {"descent": 20, "newton": 4}
"""The solvers, with the default number of steps of each."""


class HuberRegression(RobustRegression):
    """A linear regression with Huber's loss of residuals, and Mallows' weights of rows.

    Residuals r are in units of a public ``scale``. A row x, scaled and with its constant 1, has
    the weight w = min(1, (norm / |x|)^2), so that the norm of a row's score w psi(r) x is at
    most turn * norm for every row. The regression is therefore robust against outliers both in
    the target and in the features.

    `interval` returns a confidence interval for each coefficient that includes the privacy
    noise. It is available if the steps have converged and the slope of the scores is known well
    enough.

    The ``solver`` is "descent", with 20 ``iterations`` of the given ``rate`` by default, or
    "newton", with 4 by default. Each Newton step also releases a slope matrix. Newton's method
    needs no rate, but it works only if the noise is small compared with the slope.

    Guarantee: one count, a gradient (and for "newton" a slope) for each of the ``iterations``,
    and two matrices with Gaussian noise, within rho; exact integers and noise.
    Reference: Avella-Medina, Bradshaw, Loh 2023, algorithms 1 and 2, with the noise of
    add/remove or replace-one neighbours.

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
        solver: str = "descent",
        iterations: int | None = None,
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
        self.solver = solver
        self.iterations = iterations
        self.rate = rate

    def event(self, training: Training) -> Event:
        """Describe the releases for the accountant: all steps, and two matrices."""
        return Composed((self._walk(training).event(), self._sandwich(training).event()))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Read the rows once, release noisy gradients and matrices, and return the line."""
        scores, walk = self.scores(training), self._walk(training)
        rows = yield scores.rows.step(training)
        units = walk.units(rows, gateway)
        if isinstance(walk, NoisyNewton):
            path = walk.path(rows, scores, units, gateway)
        else:
            path = walk.path(rows, scores.gradients, units, gateway)
        sandwich = self._sandwich(training)
        found = sandwich.release(rows, scores, walk.last_iterate(path, units), units, gateway)
        back = self.scale * scores.rows.back()
        return (
            *self._line(path[-1], scores.rows, training),
            parameter("covariance_", back @ found.covariance @ back.T),
            parameter("noise_", back @ found.noise @ back.T),
            Parameter.of("honest_", int(found.is_honest)),
        )

    def interval(self, confidence: float = 0.95) -> Any:
        """Return the lower and upper ends for the intercept and for each coefficient.

        Guarantee: for independent units, the interval contains the *population's* coefficient
        with that confidence, to first order. It covers both sampling error and privacy noise.

        Raises:
            InvalidValue: if the steps have not converged, or if the slope is too uncertain.
        """
        if not self.honest_:
            raise InvalidValue(
                "No interval may be printed, because the steps have not converged or the "
                "noise is too large for the slope. Use scales closer to the standard "
                "deviations of the features, more iterations, more rows or a larger epsilon."
            )
        centres = np.concatenate([[self.intercept_], self.coef_])
        return intervals(centres, self.covariance_, confidence)

    # ------------------------------------------------------------- parts of a fit

    def _walk(self, training: Training) -> NoisyDescent | NoisyNewton:
        """Return the iteration of the chosen solver."""
        if self.solver not in STEPS:
            raise InvalidValue(
                f"The solver must be one of {', '.join(STEPS)}, but {self.solver!r} was given."
            )
        steps = STEPS[self.solver] if self.iterations is None else self.iterations
        longest, dimensions = self.scores(training).longest, 1 + len(training.features)
        loss = Loss.zcdp(self.rho * WALK_SHARE)
        if self.solver == "newton":
            steepest = self.norm**2
            return NoisyNewton(steps, longest, steepest, dimensions, training.neighbours, loss)
        return NoisyDescent(steps, longest, self.rate, dimensions, training.neighbours, loss)

    def _sandwich(self, training: Training) -> NoisySandwich:
        """Return the two matrices of the sandwich: sums of slopes and of squared scores."""
        loss = Loss.zcdp(self.rho * (1 - WALK_SHARE))
        dimensions, longest = 1 + len(training.features), self.scores(training).longest
        return NoisySandwich(self.norm**2, longest, dimensions, training.neighbours, loss)

    def scores(self, training: Training) -> MallowsScores:
        """Return the score function: it scales rows, and bounds the weight of each."""
        if not self.turn > 0:
            raise InvalidValue(
                "The setting turn, the residual at which Huber's loss becomes linear, must be "
                f"above 0, but {self.turn} was given."
            )
        return self._mallows(training, self.turn)
