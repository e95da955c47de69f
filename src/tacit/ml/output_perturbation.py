"""The minimiser of a regularised risk with Gaussian noise for what one unit moves it."""

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
from tacit.noise import Integers, packed
from tacit.numeric import exact
from tacit.plan import Training, TrainingSteps

MOST_PENALTY = 1e200
"""Beyond it steps would leave the floats."""

MOST_STEPS = 2**15
"""How often integers may have to read the rows, where floats do not arrive."""


@dataclass(frozen=True, slots=True)
class NoisyMinimiser:
    """Weights that minimise losses of margins and ``penalty`` / 2 times their squared length.

    Rows are shortened to length one; a unit has at most ``max_rows`` of them. ``tolerance`` is
    how long the gradient may still be where the solver ends, by its certificate.

    Guarantee: released in steps of 1 / (STEPS * penalty), of which one unit moves the weights
    by at most `moved`: the risk is ``penalty``-strongly convex, and a unit's part of its
    gradient is no longer than ``max_rows`` rows. What the solver left, and what rounding to
    steps adds, is charged.
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
                f"A minimiser needs a penalty between 0 and {MOST_PENALTY:g} and a tolerance "
                f"above 0, and {self.penalty} and {self.tolerance} were given."
            )
        least = least_tolerance(self.curve, self.penalty, self.dimensions)
        if exact(self.tolerance) < least:
            raise InvalidValue(
                f"With a penalty of {self.penalty} and {self.dimensions} weights a gradient "
                f"can be certified to {float(least):.2g}, and not to {self.tolerance}; raise "
                "one of the two."
            )
        steps = steps_by_integers(
            self.curve, self.penalty, self.dimensions, exact(self.tolerance)
        )
        if steps > MOST_STEPS:
            raise InvalidValue(
                f"With {self.dimensions} weights, a penalty of {self.penalty} and a tolerance "
                f"of {self.tolerance} a minimiser may take {steps} steps on some table, and "
                f"{MOST_STEPS} are the most; take {self._most_weights()} weights or fewer, or "
                "raise the penalty or the tolerance."
            )

    def _most_weights(self) -> int:
        """How many weights can be minimised with this penalty and tolerance."""
        one = steps_by_integers(self.curve, self.penalty, 1, exact(self.tolerance))
        # steps grow as d (d + 1) / 2
        return max(1, (isqrt(1 + 8 * MOST_STEPS // one) - 1) // 2)

    @property
    def moved(self) -> Sensitivity:
        """How many steps one unit moves the released weights at most."""
        exactly = self.max_rows * self.neighbours.additions * reach_of(self.dimensions)
        # both neighbours' solvers may stop short, each in its own direction
        solver = ceil(2 * exact(self.tolerance) * STEPS)
        # half a step in each weight of either, and less than one step for their division
        rounding = isqrt(self.dimensions) + 2
        facts = (f"minimisers={exactly}", f"solvers={solver}", f"rounding={rounding}")
        rule = Rule("a strongly convex risk, and a certificate of its solver", facts)
        return Sensitivity.of(exactly + solver + rounding, Norm.L2, rule)

    @property
    def step(self) -> float:
        """Of the weights that are released."""
        return 1 / (STEPS * self.penalty)

    @property
    def deviation(self) -> float:
        """Of the noise of each weight."""
        return float(finite(root_of(self._mechanism().variance) * self.step))

    def event(self) -> GaussianNoise:
        """Gaussian noise, once."""
        return self._mechanism().event(self.moved)

    def release(
        self, rows: Secret[UnitRows], vectors: Callable[[Integers], Floats], gateway: Gateway
    ) -> Floats:
        """The noisy weights for what ``vectors`` makes of rows, each times its class' sign."""
        steps = inside(rows, lambda table: self._total(table, vectors))
        noisy = self._mechanism().release(steps, self.moved, gateway)
        return finite(floats_of(noisy) * self.step)

    def steps(self, vectors: Floats) -> Integers:
        """The weights for rows that fit one matrix, in steps; rows are shortened first."""
        return self._steps(clipped_steps(vectors, 1.0))

    def _total(self, table: UnitRows, vectors: Callable[[Integers], Floats]) -> Integers:
        """The same for rows that are read in blocks."""
        shortened = UnitRows(self.dimensions)
        with np.errstate(all="ignore"):  # what is no number counts as nothing
            for block in table.blocks(self.dimensions):
                shortened.add(block[:, 0], clipped_steps(vectors(block), 1.0).T)
        return self._steps(shortened)

    def _steps(self, rows: Integers | UnitRows) -> Integers:
        """The weights in steps, at most as many as rows times `STEPS`.

        They become integers as fractions: no product of floats is rounded, and none can leave
        the integers.
        """
        risk = RegularisedRisk(self.curve, self.penalty, rows)
        fine = STEPS * exact(self.penalty)
        weights = risk.minimiser(exact(self.tolerance)).tolist()
        return packed([round(Fraction(weight) * fine) for weight in weights])

    def _mechanism(self) -> Gaussian:
        return Gaussian(Fraction(ceil(self.moved.square / (2 * self.loss.amount))))


# ------------------------------------------------------------------ output perturbation
# The lectures' private learning: a regularised minimiser, with noise on what comes out.

CURVES = {"hinge": HINGE, "logistic": LOGISTIC}


class OutputPerturbation(LinearClassifier):
    """A line between two classes that minimises a regularised risk, with noise on its weights.

    Features are scaled by their public ``bounds`` (or ``scales``), and a row, with its constant
    1, is divided by ``norm`` and shortened to length one. Its ``loss`` is that of logistic
    regression or of a support vector machine ("hinge", rounded). The risk is the *sum* of the
    rows' losses and ``penalty`` / 2 times the squared length of the weights, the intercept's
    too: scikit-learn's C is 1 / penalty. The lectures' mean loss and lambda |w|^2 over n rows
    is a penalty of 2 n lambda; with lambda / 2 it is n lambda.

    `LogisticRegression` and `LinearSVC` are far nearer to the best line at the same loss; this
    one is their baseline, and shows what a proof about a minimiser needs.

    Guarantee: one Gaussian release within rho. One unit moves the weights by its rows over the
    penalty, or by twice that where it is replaced; how far the solver's certificate leaves it
    from the minimiser, ``tolerance`` over penalty, is charged for both neighbours.
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
        """Gaussian noise, once."""
        return self.noisy(training, self.rows(training)).event()

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One reading of the rows, and their minimiser with noise."""
        scaled = self.rows(training)
        noisy = self.noisy(training, scaled)
        rows = yield scaled.step(training)

        def signed(table: Integers) -> Floats:
            signs = 2.0 * table[:, -1] - 1
            return np.asarray(scaled.features(table) * (signs / self.norm)[:, None])

        return self._lines(noisy.release(rows, signed, gateway) / self.norm, scaled)

    def noisy(self, training: Training, scaled: ScaledRows) -> NoisyMinimiser:
        """What is released, from public settings alone."""
        if len(self.classes) != BINARY or self.loss not in CURVES or not self.norm > 0:
            raise InvalidValue(
                "Output perturbation is for two classes, a loss of hinge or logistic and a "
                f"norm above 0; {len(self.classes)}, {self.loss!r} and {self.norm} were given."
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
