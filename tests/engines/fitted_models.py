"""Every model, on sums or on rows, and tables of people to fit it to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from tacit.core.privacy_unit import Neighbours
from tacit.engines.reference import Reference, Row, Tables
from tacit.ml.estimator import Arrays
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.k_means import KMeans
from tacit.ml.linear_classifiers import LinearSVC, LogisticRegression
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.naive_bayes import GaussianNB
from tacit.ml.output_perturbation import OutputPerturbation
from tacit.ml.pca import PCA
from tacit.ml.pipeline import StandardScaler
from tacit.ml.quantile_regression import QuantileRegression
from tacit.query.paid_work import Data

BOUNDS: dict[str, Any] = {"bounds": ([-1, 0], [1, 50]), "epsilon": 5.0}
MODELS: dict[str, Callable[[], Any]] = {
    "regression": lambda: LinearRegression(**BOUNDS, target_bounds=(-1, 2)),
    "regression in a ball": lambda: LinearRegression(
        **BOUNDS, target_bounds=(-1, 2), norm=0.8, fit_intercept=False
    ),
    "naive Bayes": lambda: GaussianNB(**BOUNDS, classes=[0, 1]),
    "scaler": lambda: StandardScaler(**BOUNDS),
    "components": lambda: PCA(1, **BOUNDS, norm=1),
    "clusters": lambda: KMeans(3, **BOUNDS),
    "logistic": lambda: LogisticRegression(**BOUNDS, iterations=3),
    "support vectors": lambda: LinearSVC(**BOUNDS, iterations=3),
    "minimiser": lambda: OutputPerturbation(**BOUNDS, loss="hinge", penalty=2.0),
    "Huber": lambda: HuberRegression(**BOUNDS, target_bounds=(-1, 2), iterations=3),
    "Huber by Newton": lambda: HuberRegression(
        **BOUNDS, target_bounds=(-1, 2), solver="newton", iterations=2
    ),
    "quantile": lambda: QuantileRegression(**BOUNDS, target_bounds=(-1, 2), iterations=3),
}


@dataclass(frozen=True)
class People:
    """Rows of units: their numbers, their features and their targets, which may be NULL."""

    units: list[int]
    rows: list[tuple[float | None, float | None, float | None]]

    def shown(self, max_rows: int, neighbours: Neighbours) -> Arrays:
        """As arrays of the same shape, whose catalogue is all that is used of them."""
        count = max(1, len(self.units))
        units = np.arange(count)
        return Arrays(np.zeros((count, 2)), np.zeros(count), units, max_rows, neighbours)

    @property
    def tables(self) -> Tables:
        """As the tables of the slow engine."""
        named: list[Row] = [
            {"unit": unit, "x0": one, "x1": other, "y": target}
            for unit, (one, other, target) in zip(self.units, self.rows, strict=True)
        ]
        return {("rows",): named}

    def data(self, arrays: Arrays) -> Data:
        return Data(Reference(dict(self.tables)), arrays.catalog, b"arrays")


def neighbouring(number: int) -> tuple[Arrays, People, People]:
    """Two tables that differ by one unit, whose rows lie at the ends of all bounds."""
    numbers = np.random.default_rng(number)
    relation = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)[number % 2]
    others = [_person(numbers) for _ in range(int(numbers.integers(0, 5)))]
    here = [*others, _extreme(numbers)]
    there = [*others, _extreme(numbers)] if relation is Neighbours.REPLACE_ONE else others
    pair = _people(here), _people(there)
    arrays = pair[0].shown(1 + number % 3, relation)
    return arrays, *(pair if numbers.integers(2) else pair[::-1])


def _person(numbers: Generator) -> list[Any]:
    rows = numbers.uniform([-2, -10, -2], [2, 60, 3], size=(numbers.integers(1, 4), 3))
    return [[*row[:2], int(row[2] > 0)] for row in rows.tolist()]


def _extreme(numbers: Generator) -> list[Any]:
    ends = [(-1e300, -1.0, 1.0, 0.9, None), (-5.0, 0.0, 50.0, 1e300), (0, 1, -1, 2, None)]
    count = int(numbers.integers(1, 6))
    one = [end[int(numbers.integers(len(end)))] for end in ends]
    # all at one end is what moves a sum most
    same = bool(numbers.integers(2))
    return [
        one if same else [end[int(numbers.integers(len(end)))] for end in ends]
        for _ in range(count)
    ]


def _people(people: Sequence[Sequence[Any]]) -> People:
    units = [unit for unit, rows in enumerate(people) for _ in rows]
    return People(units, [tuple(row) for rows in people for row in rows])
