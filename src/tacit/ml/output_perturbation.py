"""The lectures' private learning: a regularised minimiser, with noise on what comes out."""

from typing import Any

import numpy as np

from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.linear_classifier import BINARY, LinearClassifier
from tacit.ml.margin_loss import HINGE, LOGISTIC
from tacit.ml.noisy_minimiser import NoisyMinimiser
from tacit.ml.scaled_rows import ScaledRows
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers
from tacit.plan.estimator import Steps
from tacit.plan.training import Training

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

    def steps(self, training: Training, gateway: Gateway) -> Steps:
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
