"""Models from sums at their real size, beside what they would be without privacy.

`TACIT_MODEL_RUNS` says how many fits a figure is the mean or the median of. A claim falls short
of its bar by chance with a probability below 10^-6: bars are six deviations or more away.
"""

import os
from fractions import Fraction
from math import log

import numpy as np
import pytest
from conftest import Bar
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.cluster import KMeans as ExactKMeans
from sklearn.linear_model import LinearRegression as Exact

from tacit.ml.k_means import KMeans
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.pca import PCA
from tacit.ml.sufficient_statistics import Matrix

RUNS = int(os.environ.get("TACIT_MODEL_RUNS", "3"))
MANY = 20
Table = NDArray[np.float64]


class OriginalNoise(LinearRegression):
    """A lie about "one budget": epsilon and delta in thirds, as AdaSSP was published."""

    @property
    def rho(self) -> Fraction:
        deviation = log(6 / self.delta) ** 0.5 / (self.epsilon / 3)
        return Fraction(1 / deviation**2)


class RandomStart(KMeans):
    """A lie about the coreset: Lloyd begins at points that say nothing of the rows."""

    def _initial_centres(self, coreset: Matrix, weights: Matrix) -> Matrix:
        del weights
        size = coreset.shape[1]
        return np.vstack([np.eye(size), -np.eye(size)])[: self.n_clusters] / 2


def line(numbers: Generator, direction: Table, rows: int) -> tuple[Table, Table]:
    """Rows of about two thirds of the norm, whose target is a line of them and noise."""
    size = len(direction)
    features = 0.65 * numbers.normal(size=(rows, size)) / size**0.5
    target = 0.8 * (features @ direction / 0.65 + 0.15 * numbers.normal(size=rows))
    return features, target


@pytest.mark.parametrize("kind", [LinearRegression, OriginalNoise])
def test_t54_regression_under_one_budget(kind: type[LinearRegression], bar: Bar) -> None:
    numbers, scores, exact = np.random.default_rng(54), [], []
    for _ in range(RUNS):
        direction = numbers.normal(size=20)
        direction /= np.linalg.norm(direction)
        fresh = line(numbers, direction, 20_000)
        table = line(numbers, direction, 10_000)
        model = kind(
            epsilon=0.5, bounds=(-1, 1), target_bounds=(-1, 1), norm=1, fit_intercept=False
        )
        scores.append(model.fit(*table).score(*fresh))
        exact.append(Exact(fit_intercept=False).fit(*table).score(*fresh))
    score = float(np.mean(scores))
    if kind is OriginalNoise:
        assert score < 0.58
        return
    bar("T54: R^2, n = 10,000, d = 20, epsilon = 0.5", score, ">= 0.58", score >= 0.58)
    least = float(np.mean(exact))
    bar("T54: R^2 of least squares there", least, "0.69", abs(least - 0.69) < 0.02)


@pytest.mark.parametrize("norm", [1, None])
def test_t59_components_capture_the_variance(norm: float | None, bar: Bar) -> None:
    numbers, kept = np.random.default_rng(59), []
    for _ in range(RUNS):
        turned, _ = np.linalg.qr(numbers.normal(size=(20, 20)))
        widths = np.append([0.6, 0.5, 0.4], np.full(17, 0.05))
        rows = numbers.normal(size=(1000, 20)) * widths @ turned
        rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        model = PCA(3, epsilon=1, bounds=(-1, 1), norm=norm, centred=False).fit(rows)
        best = np.linalg.eigvalsh(rows.T @ rows)[-3:].sum()
        kept.append(((rows @ model.components_.T) ** 2).sum() / best)
    captured = float(np.mean(kept))
    if norm is None:
        # a lie about the length of rows, for which noise is twenty times larger
        assert captured < 0.975
        return
    name = "T59: captured variance, n = 1,000, d = 20, k = 3, epsilon = 1"
    bar(name, captured, ">= 0.975", captured >= 0.975)


@pytest.mark.parametrize("kind", [KMeans, RandomStart])
def test_t60_clusters_cost_little_more(kind: type[KMeans], bar: Bar) -> None:
    numbers, ratios = np.random.default_rng(60), []
    for _ in range(RUNS):
        centres = numbers.normal(size=(8, 10))
        centres *= 0.7 / np.linalg.norm(centres, axis=1, keepdims=True)
        rows = centres[numbers.integers(0, 8, 20_000)]
        rows += 0.08 / 10**0.5 * numbers.normal(size=rows.shape)
        best = ExactKMeans(8, n_init=1, init=centres).fit(rows).inertia_
        model = kind(8, epsilon=1, bounds=(-1, 1), norm=1).fit(rows)
        ratios.append(float((model.transform(rows).min(axis=1) ** 2).sum() / best))
    median, mean = float(np.median(ratios)), float(np.mean(ratios))
    if kind is RandomStart:
        assert median > 1.25
        return
    bar("T60: median cost beside non-private k-means", median, "<= 1.25", median <= 1.25)
    if RUNS >= MANY:  # of few runs one bad start decides
        bar("T60: mean cost beside non-private k-means", mean, "<= 2", mean <= 2)
