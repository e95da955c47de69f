"""Every model beside its non-private twin: how good it is, and how much longer it takes.

`TACIT_TWIN_ROWS` is the number of rows, each of 50 features: 200,000.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Bar
from sklearn import (
    cluster,
    decomposition,
    linear_model,
    metrics,
    naive_bayes,
    preprocessing,
    svm,
)
from stopwatch import timed

from tacit.ml.huber_regression import HuberRegression
from tacit.ml.k_means import KMeans
from tacit.ml.linear_classifiers import LinearSVC, LogisticRegression
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.naive_bayes import GaussianNB
from tacit.ml.output_perturbation import OutputPerturbation
from tacit.ml.pca import PCA
from tacit.ml.pipeline import StandardScaler
from tacit.ml.quantile_regression import QuantileRegression

SIZE = int(os.environ.get("TACIT_TWIN_ROWS", "200000")), 50
EPSILONS = 0.1, 1.0, 10.0
FEW = 5_000
"""Rows on which a linear program of a quantile ends within minutes."""

WIDE = {"bounds": (-5, 5)}
SHORT = {**WIDE, "scales": 7.0}
"""Rows of 50 deviations are seven long, and one after this."""

STEEP = {**SHORT, "rate": 64.0}
"""They point every way, so that no slope is as steep as where all point one way."""

ROBUST = {**WIDE, "scales": 1.0, "norm": 8.0, "target_bounds": (-9, 9), "scale": 0.5}
THREE = {"classes": (0, 1, 2)}

Made = Callable[[float], Any]
TWINS: dict[str, tuple[str, Made, Any]] = {
    "linear regression": (
        "line",
        lambda e: LinearRegression(epsilon=e, **WIDE, target_bounds=(-9, 9), norm=2.5),
        linear_model.LinearRegression(),
    ),
    "Huber's regression, descent": (
        "line",
        lambda e: HuberRegression(epsilon=e, **ROBUST),
        linear_model.HuberRegressor(),
    ),
    "Huber's regression, Newton": (
        "line",
        lambda e: HuberRegression(epsilon=e, **ROBUST, solver="newton"),
        linear_model.HuberRegressor(),
    ),
    "quantile regression": (
        "quantile",
        lambda e: QuantileRegression(quantile=0.75, epsilon=e, **ROBUST),
        linear_model.QuantileRegressor(quantile=0.75, alpha=0),
    ),
    "logistic regression": (
        "two",
        lambda e: LogisticRegression(epsilon=e, **STEEP),
        linear_model.LogisticRegression(),
    ),
    "logistic regression, three classes": (
        "three",
        lambda e: LogisticRegression(epsilon=e, **STEEP, **THREE),
        linear_model.LogisticRegression(),
    ),
    "support vector machine": (
        "two",
        lambda e: LinearSVC(epsilon=e, **STEEP),
        svm.LinearSVC(),
    ),
    "output perturbation": (
        "two",
        lambda e: OutputPerturbation(epsilon=e, **SHORT),
        linear_model.LogisticRegression(C=0.01),
    ),
    "naive Bayes": (
        "two",
        lambda e: GaussianNB(epsilon=e, **WIDE, classes=[0, 1]),
        naive_bayes.GaussianNB(),
    ),
    "scaler": (
        "spread",
        lambda e: StandardScaler(epsilon=e, **WIDE),
        preprocessing.StandardScaler(),
    ),
    "components": (
        "variance",
        lambda e: PCA(5, epsilon=e, **WIDE, norm=2.5),
        decomposition.PCA(5),
    ),
    "clusters": (
        "nearness",
        lambda e: KMeans(8, epsilon=e, **WIDE, norm=2.5),
        cluster.KMeans(8, n_init=1, random_state=0),
    ),
}


def table(task: str) -> tuple[Any, Any]:
    """Rows around eight centres, or around none, and a target by the first features."""
    numbers = np.random.default_rng(9)
    rows = numbers.normal(size=SIZE)
    if task in {"variance", "nearness", "spread"}:
        centres = numbers.normal(size=(8, SIZE[1]))
        rows = centres[numbers.integers(0, 8, SIZE[0])] + 0.5 * rows
    line = rows[:, 0] - rows[:, 1] + 0.5 * numbers.normal(size=SIZE[0])
    match task:
        case "two":
            return rows, (line > 0).astype(int)
        case "three":
            return rows, np.digitize(line, [-0.7, 0.7])
    return rows, line


def quality(task: str, model: Any, rows: Any, target: Any) -> float:
    """How good a model is, in its own terms: the greater the better."""
    match task:
        case "quantile":
            return float(metrics.d2_pinball_score(target, model.predict(rows), alpha=0.75))
        case "spread":
            return float(-np.abs(model.transform(rows).std(axis=0) - 1).max())
        case "variance":
            return float(np.var((rows - model.mean_) @ model.components_.T, axis=0).sum())
        case "nearness":
            return float(-(model.transform(rows).min(axis=1) ** 2).mean())
    return float(model.score(rows, target))


@pytest.mark.parametrize("name", TWINS)
def test_every_model_beside_its_twin(name: str, bar: Bar) -> None:
    task, made, twin = TWINS[name]
    rows, target = table(task)
    few = FEW if task == "quantile" else SIZE[0]
    exact_seconds, _ = timed(lambda: twin.fit(rows[:few], target[:few]))
    best = quality(task, twin, rows, target)
    beside = f"non-private {best:.4g}" + (f" of {few:,} rows" if few < SIZE[0] else "")
    for epsilon in EPSILONS:
        seconds, model = timed(lambda e=epsilon: made(e).fit(rows, target))
        shown = f"{name}, n = {SIZE[0]:,}, d = {SIZE[1]}, epsilon = {epsilon:g}"
        bar(f"{shown}: quality", quality(task, model, rows, target), beside, ok=True)
        bar(f"{shown}: times slower", seconds / exact_seconds, "told", ok=True)
