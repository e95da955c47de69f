"""Which of several public classifiers does best on private rows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets

from tacit import core
from tacit.engines import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, Gaussian, inside, together
from tacit.ml.error_counts import FewestErrors, Labelled, LinearRule, rule_of, scored_rows
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import floats_of, parameter
from tacit.ml.pipeline import of_part, prefixed
from tacit.ml.sufficient_statistics import Points
from tacit.noise import Integers
from tacit.numeric import exact
from tacit.plan import Fold, Training, TrainingSteps


class ClassifierChoice(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """One of public linear ``candidates``, chosen by how many private rows it gets wrong.

    Each candidate is a pair: its ``coef_`` and its ``intercept_``, one row for two classes, and
    else one a class. They must not have been fitted to these rows without privacy. Errors are
    counted of rows clamped to the ``bounds``. All candidates are compared by one choice, which
    costs the same however many there are.

    Guarantee: pure ``epsilon``; the counts of errors are not released, only who was chosen.
    Reference: McSherry, Talwar 2007 (the exponential mechanism).

    Example:
        >>> lines = [([1.0], 0.0), ([-1.0], 0.0)]
        >>> choice = ClassifierChoice(lines, epsilon=2, bounds=(-1, 1))
        >>> choice.fit(np.linspace(-1, 1, 100)[:, None], np.arange(100) > 49).best_index_
        0
    """

    delta = 0.0
    """A choice has none."""

    def __init__(
        self,
        candidates: Any = (),
        *,
        epsilon: float = 1.0,
        bounds: Any = None,
        classes: Any = (0, 1),
    ) -> None:
        self.candidates = candidates
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes

    @property
    def classes_(self) -> Any:
        """The public classes, in the order that was given."""
        return np.asarray(self.classes)

    def event(self, training: Training) -> core.Event:
        """One selection; whatever cannot be compared on these rows is refused here."""
        rows = self._labelled(training)
        for rule in self._rules():
            rule.check(rows.axes)
        return self._choice().event(training)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One reading of the rows."""
        rules, rows = self._rules(), self._labelled(training)
        best = yield from self._choice().chosen(rules, rows, training, gateway)
        coef, intercept = self.candidates[best]
        return (
            core.Parameter.of("best_index_", best),
            core.Parameter.of("coef_", np.atleast_2d(np.asarray(coef, dtype=float)).tolist()),
            core.Parameter.of(
                "intercept_", np.atleast_1d(np.asarray(intercept, float)).tolist()
            ),
        )

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row of ``X`` by the chosen candidate."""
        lines = self._asked(X) @ self.coef_.T + self.intercept_
        places = lines.argmax(axis=1) if len(self.coef_) > 1 else (lines[:, 0] > 0).astype(int)
        return self.classes_[places]

    def _labelled(self, training: Training) -> Labelled:
        axes = Points.of(training.features, self.bounds).axes
        return Labelled(axes, training.target, tuple(self.classes_.tolist()))

    def _rules(self) -> list[LinearRule]:
        try:
            pairs = [(coef, intercept) for coef, intercept in self.candidates]
        except (TypeError, ValueError) as error:
            raise InvalidValue(
                "Candidates are pairs of weights and intercepts: [(coef, intercept), ...]."
            ) from error
        return [LinearRule.of(*pair, classes=len(self.classes_)) for pair in pairs]

    def _choice(self) -> FewestErrors:
        if not self.epsilon > 0:
            raise InvalidValue(f"A choice has an epsilon above 0, not {self.epsilon!r}.")
        return FewestErrors(exact(self.epsilon), len(self._rules()))

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._checked(X, y)
        check_classification_targets(target)
        return features, target


# ------------------------------------------------------------------ cross validation
# How well a private classifier does on units that it was not fitted to, fold by fold.


class CrossValidation(PrivateEstimator):
    """The accuracy of a ``model`` in each of so many ``folds`` of the units.

    For each fold the model is fitted to the units of all others, at its own loss, and scored on
    those of the fold: the errors and the rows there are counted, and noise is added to both.
    ``epsilon`` and ``delta`` are those of all scores together.

    Guarantee: a unit is in one fold. Where units are added or removed, it is in all fits but
    one, and those are charged; where one is replaced, another may be in that fold, and all are.
    A unit moves the counts of one fold alone, so that all scores cost what one does.

    Example:
        >>> from tacit.ml.linear_classifiers import LogisticRegression
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

    def event(self, training: Training) -> core.Event:
        """The fits that one unit is in, and the counts of its fold."""
        scored_rows(self.model, training)
        one_way = training.neighbours is core.Neighbours.ADD_REMOVE
        fits = core.Repeated(self.model.event(training), self.folds - one_way)
        return core.Composed((fits, self._noise(training).event(self._moved(training))))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
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

    def _moved(self, training: Training) -> core.Sensitivity:
        """Of the errors and the rows of all folds; two units add up, and never point apart."""
        rule = core.Rule("a unit is in one fold", (f"max_rows={training.max_rows}",))
        square = Fraction(2 * training.max_rows**2 * training.neighbours.additions)
        return core.Sensitivity(square, core.Norm.L2, rule)


def _counted(
    table: core.Secret[UnitRows], rule: LinearRule, rows: Labelled
) -> core.Secret[Integers]:
    """How many rows the rule gets wrong, and how many there are."""

    def counted(found: UnitRows) -> Integers:
        missed = size = 0
        for block in found.blocks(len(rows.classes)):
            missed += int(rule.missed(block, rows.axes).sum())
            size += len(block)
        return np.array([missed, size])

    return inside(table, counted)


# ------------------------------------------------------------------ model search
# A search for settings: candidates are fitted, all are charged, and one is chosen.

BEST = "best"


class ModelSearch(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Of private ``candidates``, fitted to all folds but one, that which errs least on it.

    Candidates are linear classifiers or pipelines of one, over the same classes and bounds.
    Each is fitted at its own loss. Which is best is a choice by the exponential mechanism, on
    its errors in the fold that was left out: the errors themselves are not released, nor what
    was learned by those that were not chosen.

    Guarantee: the sum of what all candidates lose, and ``epsilon`` for the choice. Trying many
    settings is not free, and is not charged as if the best had been the only one.

    Example:
        >>> from tacit.ml.linear_classifiers import LogisticRegression
        >>> tried = [LogisticRegression(rate=rate, bounds=(0, 1)) for rate in (1, 16)]
        >>> len(ModelSearch(tried, epsilon=0.5).candidates)
        2
    """

    def __init__(
        self,
        candidates: Any = (),
        *,
        folds: int = 5,
        epsilon: float = 1.0,
        delta: float = 1e-6,
    ) -> None:
        self.candidates = candidates
        self.folds = folds
        self.epsilon = epsilon
        self.delta = delta

    def event(self, training: Training) -> core.Event:
        """All fits, and the choice."""
        self._rows(training)
        fits = [model.event(training) for model in self.candidates]
        return core.Composed((*fits, self._choice().event(training)))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """The steps of each candidate outside of the last fold, and one reading of it."""
        fold, choice = Fold(self.folds - 1, self.folds), self._choice()
        fitted = []
        for model in self.candidates:
            found = yield from model.steps(replace(training, fold=fold.others), gateway)
            fitted.append(found)
        rules = [rule_of(*each) for each in zip(self.candidates, fitted, strict=True)]
        held = replace(training, fold=fold)
        best = yield from choice.chosen(rules, self._rows(training), held, gateway)
        return (core.Parameter.of("best_index_", best), *prefixed(BEST, fitted[best]))

    def learn(
        self,
        parameters: Iterable[core.Parameter],
        guarantee: core.Guarantee,
        names: Sequence[str] = (),
    ) -> Self:
        """Which was chosen, as ``best_index_``, and itself as ``best_estimator_``."""
        found = list(parameters)
        super().learn([each for each in found if "__" not in each.name], guarantee, names)
        chosen = clone(self.candidates[self.best_index_])
        self.best_estimator_ = chosen.learn(of_part(BEST, found), guarantee, names)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the chosen candidate predicts."""
        return self.best_estimator_.predict(X)

    def _rows(self, training: Training) -> Labelled:
        rows = {scored_rows(model, training) for model in self.candidates}
        if len(rows) != 1:
            raise InvalidValue(
                "A search has one candidate or more, and all are compared on the same classes "
                "and bounds."
            )
        return rows.pop()

    def _choice(self) -> FewestErrors:
        if not self.epsilon > 0:
            raise InvalidValue(f"A search has an epsilon above 0, not {self.epsilon!r}.")
        return FewestErrors(exact(self.epsilon), len(self.candidates))
