"""Regression by Huber's M-estimator: noisy steps, a sandwich, and honest intervals."""

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
"""Of the loss, for the steps; the two matrices of the sandwich share the rest."""

STEPS = {"descent": 20, "newton": 4}
"""Solvers, and how many steps each takes where no number is given."""


class HuberRegression(RobustRegression):
    """A line by Huber's scores of residuals over a public ``scale``, and Mallows' weights.

    A row x, scaled and with its constant 1, counts by w = min(1, (norm / |x|)^2), so that
    no row's score w psi(r) x is longer than turn * norm, whatever it holds: robust against
    outliers in the target and in the features alike.

    `interval` has a confidence interval for each coefficient, with the noise in it, where one
    may be printed: where the steps have arrived, and the slope of the scores is known well.

    The ``solver`` goes by "descent", 20 ``iterations`` of ``rate`` if not told otherwise, or by
    "newton", 4 that each buy a slope too: that needs no rate, and no noise that hides a slope.

    Guarantee: one count, a gradient (and slope) for each of the ``iterations``, and two
    matrices with Gaussian noise, within rho; exact integers and noise.
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
        """All steps, and two matrices."""
        return Composed((self._walk(training).event(), self._sandwich(training).event()))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One reading of the rows, and then noisy gradients and matrices of them."""
        scores, walk = self.scores(training), self._walk(training)
        rows = yield scores.rows.step(training)
        units = walk.units(rows, gateway)
        if isinstance(walk, NoisyNewton):
            path = walk.path(rows, scores, units, gateway)
        else:
            path = walk.path(rows, scores.gradients, units, gateway)
        sandwich = self._sandwich(training)
        found = sandwich.release(rows, scores, walk.arrival(path, units), units, gateway)
        back = self.scale * scores.rows.back()
        return (
            *self._line(path[-1], scores.rows, training),
            parameter("covariance_", back @ found.covariance @ back.T),
            parameter("noise_", back @ found.noise @ back.T),
            Parameter.of("honest_", int(found.is_honest)),
        )

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

    def _walk(self, training: Training) -> NoisyDescent | NoisyNewton:
        """The steps to the weights, by either solver."""
        if self.solver not in STEPS:
            raise InvalidValue(f"Solvers are {', '.join(STEPS)}, and not {self.solver!r}.")
        steps = STEPS[self.solver] if self.iterations is None else self.iterations
        longest, dimensions = self.scores(training).longest, 1 + len(training.features)
        loss = Loss.zcdp(self.rho * WALK_SHARE)
        if self.solver == "newton":
            steepest = self.norm**2
            return NoisyNewton(steps, longest, steepest, dimensions, training.neighbours, loss)
        return NoisyDescent(steps, longest, self.rate, dimensions, training.neighbours, loss)

    def _sandwich(self, training: Training) -> NoisySandwich:
        """The sums of slopes, and of squares of scores."""
        loss = Loss.zcdp(self.rho * (1 - WALK_SHARE))
        dimensions, longest = 1 + len(training.features), self.scores(training).longest
        return NoisySandwich(self.norm**2, longest, dimensions, training.neighbours, loss)

    def scores(self, training: Training) -> MallowsScores:
        """How a row is read, and how much it counts."""
        if not self.turn > 0:
            raise InvalidValue(f"Scores turn above 0, and {self.turn} was given.")
        return self._mallows(training, self.turn)
