"""Arrays as a private table: what a library user gives to ``fit``, answered as any other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.population import Population
from tacit.core.schema import Schema
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.engines.duckdb_source import open_frame
from tacit.errors import InvalidValue
from tacit.plan.relation import Scan
from tacit.plan.training import Training, training_of
from tacit.query.fit import Data

TABLE, UNIT, TARGET = "rows", "unit", "y"
KINDS = {"f": Kind.FLOAT, "i": Kind.INTEGER, "u": Kind.INTEGER, "b": Kind.BOOLEAN}
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
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        lengths = {
            len(each) for each in (self.features, self.target, self.units) if each is not None
        }
        if self.features.ndim != 2 or len(lengths) > 1:  # noqa: PLR2004 - rows and columns
            raise InvalidValue("Features are a table of rows, each with its target and unit.")

    @property
    def catalog(self) -> Catalog:
        """What is publicly known of them: types, and whose rows they are."""
        columns = [Column(UNIT, Kind.INTEGER)]
        columns += [Column(name, Kind.FLOAT) for name in self._names]
        if self.target is not None:
            columns.append(Column(TARGET, KINDS.get(self.target.dtype.kind, Kind.TEXT)))
        alone = self.units is None
        unit = PrivacyUnit("unit", self.neighbours)
        rows = Dataset(
            TABLE,
            TABLE,
            Schema(tuple(columns)),
            UnitColumn(UNIT, one_row=alone, unique_by_constraint=alone),
            Limits(1, self.max_rows, max_rows_in_all=self.max_rows),
            Location("memory", (TABLE,)),
            Epoch("1"),
        )
        return Catalog((Population(TABLE, unit),), (rows,))

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
