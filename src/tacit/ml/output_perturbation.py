"""Output perturbation: the minimiser of a regularised risk, with Gaussian noise.

Because the risk is strongly convex, one unit can move its minimiser only by a known distance.
`NoisyMinimiser` computes that distance, including how far the solver may stop from the exact
minimiser and the rounding to a grid, and adds noise for it. `OutputPerturbation` is the
estimator for two classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import Any

import numpy as np

from tacit.core import Event, GaussianNoise, Loss, Neighbours, Norm, Rule, Secret, Sensitivity
from tacit.engines import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, Gaussian, inside
from tacit.ml.clipped_sum import STEPS, ScaledRows, clipped_steps, reach_of
from tacit.ml.finite_algebra import Floats, finite, floats_of, root_of
from tacit.ml.linear_classifiers import BINARY, LinearClassifier
from tacit.ml.margin_loss import HINGE, LOGISTIC, MarginLoss
from tacit.ml.regularised_risk import RegularisedRisk, least_tolerance, steps_by_integers
from tacit.noise import Integers, integer_array
from tacit.numeric import exact
from tacit.plan import Training, TrainingSteps

MOST_PENALTY = 1e200
"""The largest penalty; beyond it, grid steps would leave the range of floats."""

MOST_STEPS = 2**15
"""The largest number of scans of the rows by the exact solver, if floats do not converge."""


@dataclass(frozen=True, slots=True)
class NoisyMinimiser:
    """The release of weights that minimise a regularised risk over margins.

    The risk is the sum of the losses and ``penalty`` / 2 times the squared norm of the weights.
    Rows are clipped to norm 1, and a unit has at most ``max_rows`` of them. ``tolerance`` is
    the norm of the gradient up to which the solver may stop; the solver certifies it.

    Guarantee: the weights are released in grid steps of 1 / (STEPS * penalty), and their
    sensitivity to one unit is bounded. This holds because the risk is ``penalty``-strongly
    convex, and a unit's part of the gradient has at most the norm of ``max_rows`` rows. The
    distance between solver and minimiser, and the rounding to the grid, are included.
    Reference: Chaudhuri, Monteleoni, Sarwate 2011, corollary 8, with the solver in it.

    Example:
        >>> from tacit.ml.margin_loss import HINGE
        >>> one = NoisyMinimiser(
        ...     HINGE, 160.0, 0.001, 1, 1, Neighbours.REPLACE_ONE, Loss.zcdp("0.1")
        ... )
        >>> 0.0125 <= float(one.moved.amount) * one.step <= 0.0125 * 1.01
        True
    """

    curve: MarginLoss
    penalty: float
    tolerance: float
    dimensions: int
    max_rows: int
    neighbours: Neighbours
    loss: Loss

    def __post_init__(self) -> None:
        if not (0 < self.penalty < MOST_PENALTY and self.tolerance > 0):
            raise InvalidValue(
                f"The penalty must be between 0 and {MOST_PENALTY:g} and the tolerance above "
                f"0, but {self.penalty} and {self.tolerance} were given."
            )
        least = least_tolerance(self.curve, self.penalty, self.dimensions)
        if exact(self.tolerance) < least:
            raise InvalidValue(
                f"With a penalty of {self.penalty} and {self.dimensions} weights, a gradient "
                f"can be certified to {float(least):.2g}, but not to {self.tolerance}; use a "
                "larger penalty or a larger tolerance."
            )
        steps = steps_by_integers(
            self.curve, self.penalty, self.dimensions, exact(self.tolerance)
        )
        if steps > MOST_STEPS:
            raise InvalidValue(
                f"With {self.dimensions} weights, a penalty of {self.penalty} and a tolerance "
                f"of {self.tolerance}, the solver may need {steps} steps, but at most "
                f"{MOST_STEPS} are allowed; use at most {self._most_weights()} weights, or a "
                "larger penalty or tolerance."
            )

    def _most_weights(self) -> int:
        """Return the largest number of weights for this penalty and tolerance."""
        one = steps_by_integers(self.curve, self.penalty, 1, exact(self.tolerance))
        # steps grow as d (d + 1) / 2
        return max(1, (isqrt(1 + 8 * MOST_STEPS // one) - 1) // 2)

    @property
    def moved(self) -> Sensitivity:
        """The sensitivity of the released weights to one unit, in grid steps."""
        exactly = self.max_rows * self.neighbours.additions * reach_of(self.dimensions)
        # on both neighbouring datasets the solver may stop early, in any direction
        solver = ceil(2 * exact(self.tolerance) * STEPS)
        # rounding: half a step in each weight of either dataset, and less than one for division
        rounding = isqrt(self.dimensions) + 2
        facts = (f"minimisers={exactly}", f"solvers={solver}", f"rounding={rounding}")
        rule = Rule("a strongly convex risk, and a certificate of its solver", facts)
        return Sensitivity.of(exactly + solver + rounding, Norm.L2, rule)

    @property
    def step(self) -> float:
        """The grid step of the released weights."""
        return 1 / (STEPS * self.penalty)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each weight."""
        return float(finite(root_of(self._mechanism().variance) * self.step))

    def event(self) -> GaussianNoise:
        """Describe the release for the accountant: Gaussian noise on the weights."""
        return self._mechanism().event(self.moved)

    def release(
        self, rows: Secret[UnitRows], vectors: Callable[[Integers], Floats], gateway: Gateway
    ) -> Floats:
        """Release the noisy weights.

        ``vectors`` computes from a block of rows the features times the sign of the class.
        """
        steps = inside(rows, lambda table: self._total(table, vectors))
        noisy = self._mechanism().release(steps, self.moved, gateway)
        return finite(floats_of(noisy) * self.step)

    def steps(self, vectors: Floats) -> Integers:
        """Return the exact weights in grid steps, for rows in one matrix; rows are clipped."""
        return self._steps(clipped_steps(vectors, 1.0))

    def _total(self, table: UnitRows, vectors: Callable[[Integers], Floats]) -> Integers:
        """Return the exact weights in grid steps, for rows that are read in blocks."""
        clipped = UnitRows(self.dimensions)
        with np.errstate(all="ignore"):  # `clipped_steps` replaces NaN and infinity by 0
            for block in table.blocks(self.dimensions):
                clipped.add(block[:, 0], clipped_steps(vectors(block), 1.0).T)
        return self._steps(clipped)

    def _steps(self, rows: Integers | UnitRows) -> Integers:
        """Return the exact weights for clipped rows, rounded to grid steps.

        The product is computed with fractions, so it is rounded once and cannot overflow.
        """
        risk = RegularisedRisk(self.curve, self.penalty, rows)
        fine = STEPS * exact(self.penalty)
        weights = risk.minimiser(exact(self.tolerance)).tolist()
        return integer_array([round(Fraction(weight) * fine) for weight in weights])

    def _mechanism(self) -> Gaussian:
        return Gaussian(Fraction(ceil(self.moved.square / (2 * self.loss.amount))))


# ------------------------------------------------------------------ the estimator

CURVES = {"hinge": HINGE, "logistic": LOGISTIC}


class OutputPerturbation(LinearClassifier):
    """A linear classifier for two classes: a regularised minimiser with noise on its weights.

    Features are scaled by their public ``bounds`` (or ``scales``), and a row, with its constant
    1, is divided by ``norm`` and clipped to norm 1. The ``loss`` is "logistic", as in logistic
    regression, or "hinge", as in a support vector machine, smoothed. The risk is the *sum* of
    the rows' losses and ``penalty`` / 2 times the squared norm of the weights, including the
    intercept: scikit-learn's C is 1 / penalty. Where a textbook minimises the mean loss plus
    lambda |w|^2 over n rows, the penalty is 2 n lambda; with lambda / 2 |w|^2, it is n lambda.

    `LogisticRegression` and `LinearSVC` are much more accurate at the same privacy loss. This
    estimator is a baseline for them, and shows what a proof about a minimiser requires.

    Guarantee: one Gaussian release within rho. Adding or removing one unit moves the minimiser
    by at most ``max_rows`` / penalty, and replacing one by twice that. The solver's distance
    from the minimiser, at most ``tolerance`` / penalty, is added for both neighbours.
    Reference: Chaudhuri, Monteleoni, Sarwate 2011, algorithm 1, with Gaussian noise.

    Example:
        >>> model = OutputPerturbation(bounds=(0, 120), classes=("no", "yes"), loss="hinge")
        >>> model.get_params()["penalty"]
        100.0
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        scales: Any = None,
        classes: Any = (0, 1),
        loss: str = "logistic",
        penalty: float = 100.0,
        norm: float = 1.0,
        tolerance: float = 0.001,
        fit_intercept: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.scales = scales
        self.classes = classes
        self.loss = loss
        self.penalty = penalty
        self.norm = norm
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept

    def event(self, training: Training) -> Event:
        """Describe the release for the accountant: Gaussian noise on the weights."""
        return self.noisy(training, self.rows(training)).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Read the rows once, and return their minimiser with noise."""
        scaled = self.rows(training)
        noisy = self.noisy(training, scaled)
        rows = yield scaled.step(training)

        def times_sign(table: Integers) -> Floats:
            signs = 2.0 * table[:, -1] - 1
            return np.asarray(scaled.features(table) * (signs / self.norm)[:, None])

        return self._lines(noisy.release(rows, times_sign, gateway) / self.norm, scaled)

    def noisy(self, training: Training, scaled: ScaledRows) -> NoisyMinimiser:
        """Return the release that a fit makes, from public settings alone."""
        if len(self.classes) != BINARY or self.loss not in CURVES or not self.norm > 0:
            raise InvalidValue(
                "Output perturbation needs two classes, a loss of 'hinge' or 'logistic', and "
                f"a norm above 0, but {len(self.classes)} classes, {self.loss!r} and "
                f"{self.norm} were given."
            )
        return NoisyMinimiser(
            CURVES[self.loss],
            self.penalty,
            self.tolerance,
            scaled.dimensions,
            training.max_rows,
            training.neighbours,
            Loss.zcdp(self.rho),
        )
