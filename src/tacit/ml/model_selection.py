"""Private selection of classifiers: by public weights, by cross-validation, by a search.

`ClassifierChoice` chooses among classifiers whose weights are public already. `CrossValidation`
estimates the accuracy of a private classifier on units to which it was not fitted.
`ModelSearch` fits several private classifiers, charges all of them, and chooses one.
"""

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
from tacit.ml.pipeline import add_prefix, of_part
from tacit.ml.sufficient_statistics import Points
from tacit.noise import Integers
from tacit.numeric import exact
from tacit.plan import Fold, Training, TrainingSteps


class ClassifierChoice(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A private choice of one of several public linear classifiers by its number of errors.

    Each candidate is a pair of ``coef_`` and ``intercept_``, with one row of weights for two
    classes, and otherwise one for each class. The candidates must not have been fitted to these
    rows without privacy. Errors are counted on rows that are clamped to the ``bounds``. All
    candidates are compared in one choice, and its cost does not depend on their number.

    Guarantee: pure ``epsilon``; only the choice is released, and the error counts are not.
    Reference: McSherry, Talwar 2007 (the exponential mechanism).

    Example:
        >>> lines = [([1.0], 0.0), ([-1.0], 0.0)]
        >>> choice = ClassifierChoice(lines, epsilon=2, bounds=(-1, 1))
        >>> choice.fit(np.linspace(-1, 1, 100)[:, None], np.arange(100) > 49).best_index_
        0
    """

    delta = 0.0
    """The choice has pure differential privacy, so its delta is 0."""

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
        """The public classes, in the given order."""
        return np.asarray(self.classes)

    def event(self, training: Training) -> core.Event:
        """Describe the release: one selection. Candidates that do not fit the rows raise."""
        rows = self._labelled_rows(training)
        for rule in self._rules():
            rule.check(rows.axes)
        return self._choice().event(training)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Read the rows once and choose a candidate."""
        rules, rows = self._rules(), self._labelled_rows(training)
        best = yield from self._choice().choose(rules, rows, training, gateway)
        coef, intercept = self.candidates[best]
        return (
            core.Parameter.of("best_index_", best),
            core.Parameter.of("coef_", np.atleast_2d(np.asarray(coef, dtype=float)).tolist()),
            core.Parameter.of(
                "intercept_", np.atleast_1d(np.asarray(intercept, float)).tolist()
            ),
        )

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class of each row of ``X`` by the chosen candidate."""
        lines = self._validate_rows(X) @ self.coef_.T + self.intercept_
        places = lines.argmax(axis=1) if len(self.coef_) > 1 else (lines[:, 0] > 0).astype(int)
        return self.classes_[places]

    def _labelled_rows(self, training: Training) -> Labelled:
        axes = Points.of(training.features, self.bounds).axes
        return Labelled(axes, training.target, tuple(self.classes_.tolist()))

    def _rules(self) -> list[LinearRule]:
        try:
            pairs = [(coef, intercept) for coef, intercept in self.candidates]
        except (TypeError, ValueError) as error:
            raise InvalidValue(
                "Candidates must be pairs of weights and intercepts: [(coef, intercept), ...]."
            ) from error
        return [LinearRule.of(*pair, classes=len(self.classes_)) for pair in pairs]

    def _choice(self) -> FewestErrors:
        if not self.epsilon > 0:
            raise InvalidValue(f"A choice needs an epsilon above 0, not {self.epsilon!r}.")
        return FewestErrors(exact(self.epsilon), len(self._rules()))

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        features, target = super()._validate(X, y)
        check_classification_targets(target)
        return features, target


# ------------------------------------------------------------------ cross-validation


class CrossValidation(PrivateEstimator):
    """Cross-validation: the noisy accuracy of a ``model`` in each fold of the units.

    For each of the ``folds``, the model is fitted to the units of all other folds, at its own
    privacy loss, and scored on the units of the fold: errors and rows are counted, and noise is
    added to both. ``epsilon`` and ``delta`` are the loss of all scores together.

    Guarantee: a unit is in one fold. Where units are added or removed, a unit takes part in all
    fits but one, and these are charged. Where a unit is replaced, the new unit may be in
    another fold, and all fits are charged. A unit changes the counts of one fold only, so that
    the scores of all folds together cost as much as one.

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
        """Describe the releases: the fits that contain one unit, and the counts of folds."""
        scored_rows(self.model, training)
        one_way = training.neighbours is core.Neighbours.ADD_REMOVE
        fits = core.Repeated(self.model.event(training), self.folds - one_way)
        return core.Composed((fits, self._noise(training).event(self._sensitivity(training))))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Fit once for each fold, then release the counts of all folds together."""
        rows, counts = scored_rows(self.model, training), []
        for number in range(self.folds):
            fold = Fold(number, self.folds)
            others = replace(training, fold=fold.others)
            found = yield from self.model.steps(others, gateway)
            table = yield rows.step(replace(training, fold=fold))
            counts.append(_count_errors(table, rule_of(self.model, found), rows))
        moved = self._sensitivity(training)
        noisy = self._noise(training).release(together(counts), moved, gateway)
        errors, sizes = floats_of(noisy).reshape(-1, 2).T
        scores = np.clip(1 - errors / np.maximum(sizes, 1), 0, 1)
        return (parameter("test_scores_", scores), parameter("mean_score_", scores.mean()))

    def _noise(self, training: Training) -> Gaussian:
        return Gaussian(self._sensitivity(training).square / (2 * self.rho))

    def _sensitivity(self, training: Training) -> core.Sensitivity:
        """Return the L2 sensitivity of the error and row counts of all folds.

        Counts are not negative. So the square of the difference between two units' counts is
        at most the sum of their squares, which is the factor `additions` for a replaced unit.
        """
        rule = core.Rule("a unit is in one fold", (f"max_rows={training.max_rows}",))
        square = Fraction(2 * training.max_rows**2 * training.neighbours.additions)
        return core.Sensitivity(square, core.Norm.L2, rule)


def _count_errors(
    table: core.Secret[UnitRows], rule: LinearRule, rows: Labelled
) -> core.Secret[Integers]:
    """Return the number of misclassified rows and the number of rows, as a secret."""

    def count(found: UnitRows) -> Integers:
        errors = size = 0
        for block in found.blocks(len(rows.classes)):
            errors += int(rule.error_indicators(block, rows.axes).sum())
            size += len(block)
        return np.array([errors, size])

    return inside(table, count)


# ------------------------------------------------------------------ model search

BEST = "best"
"""The prefix of the chosen candidate's parameters."""


class ModelSearch(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A search for the best of several private classifiers on a fold that is left out.

    Candidates are linear classifiers, or pipelines with one, over the same classes and bounds.
    Each is fitted to all folds but the last, at its own privacy loss. The exponential mechanism
    then chooses one by its errors in the last fold. The error counts are not released, and
    neither are the parameters of candidates that were not chosen.

    Guarantee: the sum of the losses of all candidates, and ``epsilon`` for the choice. Trying
    many settings is charged in full, and not as if the best one had been the only one.

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
        """Describe the releases for the accountant: all fits, and the choice."""
        self._rows(training)
        fits = [model.event(training) for model in self.candidates]
        return core.Composed((*fits, self._choice().event(training)))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Fit each candidate outside the last fold, then read that fold once to choose."""
        fold, choice = Fold(self.folds - 1, self.folds), self._choice()
        fitted = []
        for model in self.candidates:
            found = yield from model.steps(replace(training, fold=fold.others), gateway)
            fitted.append(found)
        rules = [rule_of(*each) for each in zip(self.candidates, fitted, strict=True)]
        left_out = replace(training, fold=fold)
        best = yield from choice.choose(rules, self._rows(training), left_out, gateway)
        return (core.Parameter.of("best_index_", best), *add_prefix(BEST, fitted[best]))

    def learn(
        self,
        parameters: Iterable[core.Parameter],
        guarantee: core.Guarantee,
        names: Sequence[str] = (),
    ) -> Self:
        """Store the index of the choice, and the chosen estimator with its parameters.

        They are the attributes ``best_index_`` and ``best_estimator_``.
        """
        found = list(parameters)
        super().learn([each for each in found if "__" not in each.name], guarantee, names)
        chosen = clone(self.candidates[self.best_index_])
        self.best_estimator_ = chosen.learn(of_part(BEST, found), guarantee, names)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the predictions of the chosen candidate."""
        return self.best_estimator_.predict(X)

    def _rows(self, training: Training) -> Labelled:
        rows = {scored_rows(model, training) for model in self.candidates}
        if len(rows) != 1:
            raise InvalidValue(
                "A search needs at least one candidate, and all candidates must have the same "
                "classes and bounds."
            )
        return rows.pop()

    def _choice(self) -> FewestErrors:
        if not self.epsilon > 0:
            raise InvalidValue(f"A search needs an epsilon above 0, not {self.epsilon!r}.")
        return FewestErrors(exact(self.epsilon), len(self.candidates))
