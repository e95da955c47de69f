"""Which of several public classifiers does best on private rows."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.core.event import Event
from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.fewest_errors import FewestErrors, Labelled
from tacit.ml.linear_rule import LinearRule
from tacit.ml.points import Points
from tacit.numeric.exact import exact
from tacit.plan.estimator import Steps
from tacit.plan.training import Training


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

    def event(self, training: Training) -> Event:
        """One selection; whatever cannot be compared on these rows is refused here."""
        rows = self._labelled(training)
        for rule in self._rules():
            rule.check(rows.axes)
        return self._choice().event(training)

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """One reading of the rows."""
        rules, rows = self._rules(), self._labelled(training)
        best = yield from self._choice().chosen(rules, rows, training, gateway)
        coef, intercept = self.candidates[best]
        return (
            Parameter.of("best_index_", best),
            Parameter.of("coef_", np.atleast_2d(np.asarray(coef, dtype=float)).tolist()),
            Parameter.of("intercept_", np.atleast_1d(np.asarray(intercept, float)).tolist()),
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
