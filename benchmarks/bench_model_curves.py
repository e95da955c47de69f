"""What models explain of fresh rows, by rows and epsilon; draws docs/tutorials/models.svg.

`TACIT_CURVE_RUNS` fits are made for each point, each to rows of its own, and the median shown.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from conftest import Bar
from models_plot import Curves, plotted
from sklearn import linear_model
from sklearn.metrics import log_loss, r2_score

from tacit.ml.huber_regression import HuberRegression
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.ml.linear_regression import LinearRegression

PICTURE = Path(__file__).parents[1] / "docs" / "tutorials" / "models.svg"
RUNS = int(os.environ.get("TACIT_CURVE_RUNS", "5"))
SIZES = 100, 300, 1000, 3000, 10_000, 30_000, 100_000
EPSILONS = 0.1, 1.0, 10.0
LINE = np.array([1.0, -0.5, 0.5, 0.25, -0.25])
Rows = tuple[Any, Any]


def plain(rng: np.random.Generator, size: int) -> Rows:
    """Five features, and a target half of whose variance is a line of them, and more."""
    features = rng.uniform(-1, 1, (size, 5))
    return features, features @ LINE + rng.normal(0, 0.4, size)


def wild(rng: np.random.Generator, size: int) -> Rows:
    """The same, but one target in twenty is as large as can be."""
    features, target = plain(rng, size)
    target[rng.random(size) < 0.05] = 10.0
    return features, target


def classes(rng: np.random.Generator, size: int) -> Rows:
    """Two classes, whose log-odds are a steep line."""
    features = rng.uniform(-1, 1, (size, 5))
    odds = 6 * features @ LINE
    return features, (rng.random(size) < 1 / (1 + np.exp(-odds))).astype(int)


def variance(model: Any, features: Any, target: Any) -> float:
    """The share of the variance that is explained."""
    return float(r2_score(target, model.predict(features)))


def entropy(model: Any, features: Any, target: Any) -> float:
    """The share of a coin's log-loss that is saved."""
    said = np.clip(model.predict_proba(features)[:, 1], 1e-9, 1 - 1e-9)
    return float(1 - log_loss(target, said) / np.log(2))


KNOWN: dict[str, Any] = {"bounds": (-1, 1)}
PANELS: dict[str, tuple[Any, Any, Any, Callable[..., Any], Any]] = {
    "linear regression": (
        plain,
        plain,
        variance,
        lambda e: LinearRegression(**KNOWN, epsilon=e, target_bounds=(-3, 3)),
        linear_model.LinearRegression(),
    ),
    "logistic regression": (
        classes,
        classes,
        entropy,
        lambda e: LogisticRegression(**KNOWN, epsilon=e),
        linear_model.LogisticRegression(C=1e6),
    ),
    "Huber's, 5% of targets wild": (
        wild,
        plain,
        variance,
        lambda e: HuberRegression(
            **KNOWN, epsilon=e, scales=0.6, scale=0.4, target_bounds=(-10, 10)
        ),
        linear_model.HuberRegressor(alpha=0.0, max_iter=1000),
    ),
}


def curves(name: str) -> Curves:
    """Without privacy, and at each epsilon, the median share of what can be explained."""
    made, asked, score, model, twin = PANELS[name]
    fresh = asked(np.random.default_rng(0), 50_000)
    models = {"not private": lambda: twin}
    models |= {f"ε = {e:g}": (lambda e=e: model(e)) for e in reversed(EPSILONS)}
    found: dict[str, list[float]] = {each: [] for each in models}
    for size in SIZES:
        rng = np.random.default_rng(size)
        samples = [made(rng, size) for _ in range(RUNS)]
        for each, new in models.items():
            found[each].append(
                float(np.median([score(new().fit(*s), *fresh) for s in samples]))
            )
    return found


def test_more_rows_and_more_epsilon_explain_more(bar: Bar) -> None:
    shown = {name: curves(name) for name in PANELS}
    for name, each in shown.items():
        for curve, shares in each.items():
            said = ", ".join(f"{share:.3f}" for share in shares)
            bar(f"{name}, {curve}, 100 to 100,000 rows", said, "rises", shares[-1] > shares[0])
        exact, wide, one, small = (shares[-1] for shares in each.values())
        near = exact - one
        bar(f"{name}: lost at ε = 1 and 100,000 rows", near, "<= 0.02", near <= 0.02)
        ordered = wide >= one - 0.01 and one >= small - 0.01
        bar(f"{name}: ε 0.1, 1 and 10", f"{small:.3f}, {one:.3f}, {wide:.3f}", "rises", ordered)
    PICTURE.write_text(plotted(shown, SIZES), encoding="utf-8")
    assert PICTURE.exists()
