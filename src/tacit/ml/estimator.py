"""The base class of all estimators, and ``fit`` on arrays.

`PrivateEstimator` holds the parts that all models share: public settings, the conversion of
epsilon and delta to rho, and scikit-learn's interface. `Arrays` presents numpy arrays as a
private table in an engine in memory, so that ``estimator.fit(X, y)`` runs the same code as a
fit through a session.
"""

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
from tacit.accounting import loss_of, rho_within, to_approximate_dp
from tacit.engines.duckdb_files import open_frame
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.repeated_fits import ONE_FIT, warn_of_repeats
from tacit.numeric import exact
from tacit.plan import Scan, Training, TrainingSteps, training_of
from tacit.query import Data, fit_parameters

TABLE, UNIT, TARGET = "rows", "unit", "y"
KINDS = {
    "f": core.Kind.FLOAT,
    "i": core.Kind.INTEGER,
    "u": core.Kind.INTEGER,
    "b": core.Kind.BOOLEAN,
}
"""Column kinds by numpy's type codes; all other types are text."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Features, a target, and the privacy unit of each row.

    Without ``units``, each row is a unit of its own. At most ``max_rows`` rows of a unit count.
    The types of the arrays are public, and nothing else about them is.
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
            raise InvalidValue(
                "Features must be an array with two dimensions, and the target and the units "
                "must have one entry for each row."
            )

    @property
    def catalog(self) -> core.Catalog:
        """The public facts about the arrays: column types, privacy unit and limits."""
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
        """The description of the training: the features, and the target if there is one."""
        target = None if self.target is None else TARGET
        return training_of(Scan(TABLE), self._names, target, self.catalog)

    def data(self) -> Data:
        """Load the rows into an engine in memory."""
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
    """Return the labels as Python strings.

    An array with numpy's text type would pad each label to the length of the longest one.
    """
    found = np.empty(len(labels), dtype=object)
    found[:] = [str(label) for label in labels.tolist()]
    return found


# ------------------------------------------------------------------ base class of estimators


@lru_cache(maxsize=256)
def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rho for an epsilon; cached, because it is a search and each step needs it."""
    return rho_within(epsilon, delta)


class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A scikit-learn estimator that is fitted by the steps of `tacit.plan.estimator`.

    The settings are public: bounds, classes and the privacy loss are arguments of the
    constructor. An estimator learns from the data only through numbers that are released with
    noise. ``epsilon`` and ``delta`` are the loss of one fit. They are converted to the rho for
    which the noise is calibrated.

    ``session.fit(estimator, ...)`` charges a ledger for the fit. ``estimator.fit(X, y)`` runs
    the same fit without a ledger: ``guarantee_`` states the loss of each fit and assumes that
    the rows are fitted once, because nothing adds the losses of several fits. A search or
    cross-validation of scikit-learn fits many times, and warns. Error messages of ``fit`` may
    depend on the arrays, since the caller has them. Error messages of a session never depend
    on a row.
    """

    epsilon: float
    delta: float

    @abstractmethod
    def event(self, training: Training) -> core.Event:
        """Describe everything that a fit will release, from public facts alone."""

    @abstractmethod
    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Yield the steps of a fit, and return the parameters."""

    @property
    def rho(self) -> Fraction:
        """The zCDP loss of one fit; its conversion at ``delta`` is ``epsilon``."""
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise InvalidValue(
                "A fit needs an epsilon above 0 and a delta between 0 and 1, but "
                f"{self.epsilon!r} and {self.delta!r} were given."
            )
        return _rho(exact(self.epsilon), exact(self.delta))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - as scikit-learn calls them
        """Fit to arrays in which each row is a privacy unit; no ledger is charged."""
        features, target = self._validate(X, y)
        return self.fit_to(Arrays(features, target))

    def fit_to(self, arrays: Arrays) -> Self:
        """Fit to arrays that name the privacy unit of each row; no ledger is charged."""
        training = arrays.training
        event = self.event(training)
        parameters = fit_parameters(
            self, training, arrays.data(), charge=b"arrays, and no ledger"
        )
        repeated = warn_of_repeats()
        assumed = (*training.assumptions, ONE_FIT, *([repeated] if repeated else []))
        guarantee = core.Guarantee(
            training.population, self._loss_of(event), assumed, event.numerics
        )
        return self.learn(parameters, guarantee)

    def learn(
        self,
        parameters: Iterable[core.Parameter],
        guarantee: core.Guarantee,
        names: Sequence[str] = (),
    ) -> Self:
        """Store released parameters, their guarantee and the names of the feature columns."""
        if names:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        for each in parameters:
            value = each.nested
            setattr(self, each.name, np.array(value) if each.shape else value)
        self.guarantee_ = guarantee
        return self

    def _loss_of(self, event: core.Event) -> Any:
        """Return the pure loss of an event if it has one, and else its epsilon at delta."""
        try:
            return loss_of(event, core.Measure.PURE)
        except InvalidValue:
            return to_approximate_dp(loss_of(event, core.Measure.ZCDP), exact(self.delta))

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803
        """Return the arrays after scikit-learn's checks."""
        tags = self.__sklearn_tags__()
        if y is None and not tags.target_tags.required:
            return validate_data(self, X), None
        numbers = tags.regressor_tags is not None
        return validate_data(self, X, y, y_numeric=numbers)  # type: ignore[no-any-return]

    def _validate_rows(self, X: Any) -> Any:  # noqa: N803
        """Return rows for a prediction, after checking that the model is fitted."""
        check_is_fitted(self, "guarantee_")
        return validate_data(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise is fresh in each fit, and there is no seed
        return tags
