"""What all models share: public settings, a guarantee, and ``fit`` over arrays."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.accounting.convert import rho_within
from tacit.accounting.price import loss_of
from tacit.accounting.promise import promised
from tacit.core.event import Event
from tacit.core.guarantee import Guarantee
from tacit.core.measure import Measure
from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.arrays import Arrays
from tacit.numeric.exact import exact
from tacit.plan.estimator import Steps
from tacit.plan.training import Training
from tacit.query.fit import fitted


@lru_cache(maxsize=256)
def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho for an epsilon, which is searched for, and asked for at every step."""
    return rho_within(epsilon, delta)


class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A scikit-learn estimator that is fitted by the steps of `tacit.plan.estimator`.

    Its settings are public: bounds, classes and the loss stand in the constructor, and nothing
    is learned from data but what is released with noise. ``epsilon`` and ``delta`` are those of
    one fit, converted to the rho that its noise is made for.

    ``session.fit(estimator, ...)`` charges a ledger for it. ``estimator.fit(X, y)`` does the
    same without one: ``guarantee_`` says what it lost, each time, and nobody adds that up. What
    it refuses there is for whoever holds the arrays; no refusal of a session looks at a row.
    """

    epsilon: float
    delta: float

    @abstractmethod
    def event(self, training: Training) -> Event:
        """All that fitting will release, from public facts alone."""

    @abstractmethod
    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """The steps of a fit, and at their end the parameters."""

    @property
    def rho(self) -> Fraction:
        """What one fit may lose, as zCDP: its conversion at ``delta`` is ``epsilon``."""
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise InvalidValue(
                "A fit has an epsilon above 0 and a delta between 0 and 1, not "
                f"{self.epsilon!r} and {self.delta!r}."
            )
        return _rho(exact(self.epsilon), exact(self.delta))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - as scikit-learn calls them
        """Learn from arrays, each row of which is a unit of its own; nothing is charged."""
        features, target = self._checked(X, y)
        return self.fit_to(Arrays(features, target))

    def fit_to(self, arrays: Arrays) -> Self:
        """Learn from arrays that say whose rows they are."""
        training = arrays.training
        event = self.event(training)
        parameters = fitted(self, training, arrays.data(), charge=b"arrays, and no ledger")
        guarantee = Guarantee(
            training.population, self._lost(event), training.assumptions, event.numerics
        )
        return self.learn(parameters, guarantee)

    def learn(
        self, parameters: Iterable[Parameter], guarantee: Guarantee, names: Sequence[str] = ()
    ) -> Self:
        """This estimator with what was learned, what that lost, and of which columns."""
        if names:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        for each in parameters:
            value = each.nested
            setattr(self, each.name, np.array(value) if each.shape else value)
        self.guarantee_ = guarantee
        return self

    def _lost(self, event: Event) -> Any:
        """The pure loss of an event, where it has one, and else its epsilon at delta."""
        try:
            return loss_of(event, Measure.PURE)
        except InvalidValue:
            return promised(loss_of(event, Measure.ZCDP), exact(self.delta))

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        """The arrays, as scikit-learn checks them."""
        tags = self.__sklearn_tags__()
        if y is None and not tags.target_tags.required:
            return validate_data(self, X), None
        numbers = tags.regressor_tags is not None
        return validate_data(self, X, y, y_numeric=numbers)  # type: ignore[no-any-return]

    def _asked(self, X: Any) -> Any:  # noqa: N803
        """The rows that a fitted model is asked about."""
        check_is_fitted(self, "guarantee_")
        return validate_data(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise is fresh, and no seed makes it otherwise
        return tags
