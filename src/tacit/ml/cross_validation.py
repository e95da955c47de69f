"""How well a private classifier does on units that it was not fitted to, fold by fold."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.event import Composed, Event, Repeated
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.engines.unit_rows import UnitRows
from tacit.mechanisms.gateway import Gateway, inside, together
from tacit.mechanisms.gaussian import Gaussian
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.fewest_errors import Labelled
from tacit.ml.linear_rule import LinearRule
from tacit.ml.scored import rule_of, scored_rows
from tacit.ml.total_algebra import floats_of, parameter
from tacit.noise.integers import Integers
from tacit.plan.estimator import Steps
from tacit.plan.fold import Fold
from tacit.plan.training import Training


class CrossValidation(PrivateEstimator):
    """The accuracy of a ``model`` in each of so many ``folds`` of the units.

    For each fold the model is fitted to the units of all others, at its own loss, and scored on
    those of the fold: the errors and the rows there are counted, and noise is added to both.
    ``epsilon`` and ``delta`` are those of all scores together.

    Guarantee: a unit is in one fold. Where units are added or removed, it is in all fits but
    one, and those are charged; where one is replaced, another may be in that fold, and all are.
    A unit moves the counts of one fold alone, so that all scores cost what one does.

    Example:
        >>> from tacit.ml.logistic_regression import LogisticRegression
        >>> CrossValidation(LogisticRegression(), folds=3).get_params(deep=False)["folds"]
        3
    """

    def __init__(
        self, model: Any = None, *, folds: int = 5, epsilon: float = 1.0, delta: float = 1e-6
    ) -> None:
        self.model = model
        self.folds = folds
        self.epsilon = epsilon
        self.delta = delta

    def event(self, training: Training) -> Event:
        """The fits that one unit is in, and the counts of its fold."""
        scored_rows(self.model, training)
        one_way = training.neighbours is Neighbours.ADD_REMOVE
        fits = Repeated(self.model.event(training), self.folds - one_way)
        return Composed((fits, self._noise(training).event(self._moved(training))))

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """The fits, one for each fold, and at last the counts of all folds at once."""
        rows, counts = scored_rows(self.model, training), []
        for number in range(self.folds):
            fold = Fold(number, self.folds)
            others = replace(training, fold=fold.others)
            found = yield from self.model.steps(others, gateway)
            table = yield rows.step(replace(training, fold=fold))
            counts.append(_counted(table, rule_of(self.model, found), rows))
        noisy = self._noise(training).release(together(counts), self._moved(training), gateway)
        errors, sizes = floats_of(noisy).reshape(-1, 2).T
        scores = np.clip(1 - errors / np.maximum(sizes, 1), 0, 1)
        return (parameter("test_scores_", scores), parameter("mean_score_", scores.mean()))

    def _noise(self, training: Training) -> Gaussian:
        return Gaussian(self._moved(training).square / (2 * self.rho))

    def _moved(self, training: Training) -> Sensitivity:
        """Of the errors and the rows of all folds; two units add up, and never point apart."""
        rule = Rule("a unit is in one fold", (f"max_rows={training.max_rows}",))
        square = Fraction(2 * training.max_rows**2 * training.neighbours.additions)
        return Sensitivity(square, Norm.L2, rule)


def _counted(table: Secret[UnitRows], rule: LinearRule, rows: Labelled) -> Secret[Integers]:
    """How many rows the rule gets wrong, and how many there are."""

    def counted(found: UnitRows) -> Integers:
        missed = size = 0
        for block in found.blocks(len(rows.classes)):
            missed += int(rule.missed(block, rows.axes).sum())
            size += len(block)
        return np.array([missed, size])

    return inside(table, counted)
