"""Arrays as a private table: what a library user gives to ``fit``, answered as any other."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit import core
from tacit.accounting import loss_of, promised, rho_within
from tacit.engines.duckdb_files import open_frame
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.numeric import exact
from tacit.plan import Scan, Training, TrainingSteps, training_of
from tacit.query import Data, fitted

TABLE, UNIT, TARGET = "rows", "unit", "y"
KINDS = {
    "f": core.Kind.FLOAT,
    "i": core.Kind.INTEGER,
    "u": core.Kind.INTEGER,
    "b": core.Kind.BOOLEAN,
}
"""Kinds by the types of arrays; all others are text."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Features, a target, and whose each row is: without ``units``, each row is its own.

    A unit keeps at most ``max_rows`` of its rows. Types are public, and nothing else is.
    """

    features: NDArray[Any]
    target: NDArray[Any] | None = None
    units: NDArray[Any] | None = None
    max_rows: int = 1
    neighbours: core.Neighbours = core.Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        lengths = {
            len(each) for each in (self.features, self.target, self.units) if each is not None
        }
        if self.features.ndim != 2 or len(lengths) > 1:  # noqa: PLR2004 - rows and columns
            raise InvalidValue("Features are a table of rows, each with its target and unit.")

    @property
    def catalog(self) -> core.Catalog:
        """What is publicly known of them: types, and whose rows they are."""
        columns = [core.Column(UNIT, core.Kind.INTEGER)]
        columns += [core.Column(name, core.Kind.FLOAT) for name in self._names]
        if self.target is not None:
            columns.append(
                core.Column(TARGET, KINDS.get(self.target.dtype.kind, core.Kind.TEXT))
            )
        alone = self.units is None
        unit = core.PrivacyUnit("unit", self.neighbours)
        rows = core.Dataset(
            TABLE,
            TABLE,
            core.Schema(tuple(columns)),
            core.UnitColumn(UNIT, one_row=alone, unique_by_constraint=alone),
            core.Limits(1, self.max_rows, max_rows_in_all=self.max_rows),
            core.Location("memory", (TABLE,)),
            core.Epoch("1"),
        )
        return core.Catalog((core.Population(TABLE, unit),), (rows,))

    @property
    def training(self) -> Training:
        """The features, and the target where there is one."""
        target = None if self.target is None else TARGET
        return training_of(Scan(TABLE), self._names, target, self.catalog)

    def data(self) -> Data:
        """The rows, in an engine in memory."""
        units: NDArray[Any] = np.arange(len(self.features))
        if self.units is not None:
            units = np.unique(self.units, return_inverse=True)[1]
        columns: dict[str, NDArray[Any]] = {UNIT: units}
        features = np.asarray(self.features, dtype=np.float64)
        columns |= {name: features[:, at] for at, name in enumerate(self._names)}
        if self.target is not None:
            text = self.target.dtype.kind not in KINDS
            columns[TARGET] = _texts(self.target) if text else self.target
        return Data(open_frame(columns, TABLE), self.catalog, salt=b"arrays")

    @property
    def _names(self) -> list[str]:
        return [f"x{place}" for place in range(self.features.shape[1])]


def _texts(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as texts of Python: an array of text would make each as long as the longest."""
    found = np.empty(len(labels), dtype=object)
    found[:] = [str(label) for label in labels.tolist()]
    return found


# ------------------------------------------------------------------ estimator
# What all models share: public settings, a guarantee, and ``fit`` over arrays.


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
    def event(self, training: Training) -> core.Event:
        """All that fitting will release, from public facts alone."""

    @abstractmethod
    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
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
        guarantee = core.Guarantee(
            training.population, self._lost(event), training.assumptions, event.numerics
        )
        return self.learn(parameters, guarantee)

    def learn(
        self,
        parameters: Iterable[core.Parameter],
        guarantee: core.Guarantee,
        names: Sequence[str] = (),
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

    def _lost(self, event: core.Event) -> Any:
        """The pure loss of an event, where it has one, and else its epsilon at delta."""
        try:
            return loss_of(event, core.Measure.PURE)
        except InvalidValue:
            return promised(loss_of(event, core.Measure.ZCDP), exact(self.delta))

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
