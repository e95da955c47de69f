"""A search for settings: candidates are fitted, all are charged, and one is chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.base import ClassifierMixin, clone

from tacit.core.event import Composed, Event
from tacit.core.guarantee import Guarantee
from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.fewest_errors import FewestErrors, Labelled
from tacit.ml.pipeline import of_part, prefixed
from tacit.ml.scored import rule_of, scored_rows
from tacit.numeric.exact import exact
from tacit.plan.estimator import Steps
from tacit.plan.fold import Fold
from tacit.plan.training import Training

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
        >>> from tacit.ml.logistic_regression import LogisticRegression
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

    def event(self, training: Training) -> Event:
        """All fits, and the choice."""
        self._rows(training)
        fits = [model.event(training) for model in self.candidates]
        return Composed((*fits, self._choice().event(training)))

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """The steps of each candidate outside of the last fold, and one reading of it."""
        fold, choice = Fold(self.folds - 1, self.folds), self._choice()
        fitted = []
        for model in self.candidates:
            found = yield from model.steps(replace(training, fold=fold.others), gateway)
            fitted.append(found)
        rules = [rule_of(*each) for each in zip(self.candidates, fitted, strict=True)]
        held = replace(training, fold=fold)
        best = yield from choice.chosen(rules, self._rows(training), held, gateway)
        return (Parameter.of("best_index_", best), *prefixed(BEST, fitted[best]))

    def learn(
        self, parameters: Iterable[Parameter], guarantee: Guarantee, names: Sequence[str] = ()
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
