"""Fits with a canary and without: what a fitted model shows of who was in its data.

A bound passes an honest claim once in 10^6 times at most, by its confidence; at these numbers
of fits it falls to 0 as seldom. `TACIT_MODEL_FITS` says how many fits, on each side: at epsilon
8 there are 400, and `just audit-models` has 12,000, which show something at epsilon 1 too.
"""

import os
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
from conftest import Bar
from fitted_rows import Floats, fitted, table_of, training_like
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Twin

from tacit.accounting.risk import best_auc, gaussian_auc
from tacit.attacks.members_gallery import Predict, confidences, likelihood_ratios
from tacit.attacks.membership import presence
from tacit.audit.lower_bound import Fit, ModelBound
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.mechanisms.gateway import LiveGateway
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.numeric.exact_numbers import exact

pytestmark = pytest.mark.claim

FITS = int(os.environ.get("TACIT_MODEL_FITS", "400"))
MANY, FEW = 12_000, 100
"""As many as show something at epsilon 1, and as show a lie at epsilon 8."""

CONFIDENCE = 1 - 1e-6
DELTA = "1e-6"
OTHERS, STEPS = 200, 5
GATEWAY = LiveGateway(SystemEntropy(b"an audit of models"))


def classifier(epsilon: float) -> Fit:
    """The canary has five rows of one class, far out along a feature that is 0 elsewhere.

    A small rate keeps the weights near 0, where its gradient is longer than the clip for ever.
    """
    model = LogisticRegression(
        epsilon=epsilon, bounds=(-1, 1), scales=0.01, iterations=STEPS, rate=1e-3
    )
    rng = np.random.default_rng(1)
    features = np.column_stack([rng.uniform(-1, 1, OTHERS), np.zeros(OTHERS)])
    classes = rng.integers(0, 2, OTHERS)
    training = training_like(features, classes, Neighbours.ADD_REMOVE)
    rows = model.rows(training)
    far = np.vstack([features, np.tile([0.0, 1.0], (5, 1))])
    tables = {
        True: table_of(rows, far, np.append(classes, [1] * 5), of_last=5),
        False: table_of(rows, features, classes),
    }
    return lambda there: fitted(model, training, tables[there], GATEWAY)["coef_"][0, 1]


def regression(epsilon: float) -> Fit:
    """The canary's score is as long as may be: its features have the norm that counts whole."""
    model = HuberRegression(
        epsilon=epsilon,
        bounds=(-8, 8),
        scales=1.0,
        target_bounds=(-20, 20),
        iterations=STEPS,
        rate=1e-3,
    )
    rng, far = np.random.default_rng(2), sqrt(model.norm**2 - 1)
    features, target = rng.normal(size=(OTHERS, 1)), rng.normal(size=OTHERS)
    training = training_like(features, target, Neighbours.ADD_REMOVE)
    axis, rows = model.target(training), model.scores(training).rows
    steps = np.rint((target - float(axis.centre)) / float(axis.unit)).astype(np.int64)
    tables = {
        True: table_of(rows, np.vstack([features, [[far]]]), np.append(steps, axis.reach)),
        False: table_of(rows, features, steps),
    }

    def fit(there: bool) -> float:  # noqa: FBT001 - as `Fit` has it
        found = fitted(model, training, tables[there], GATEWAY)
        return float(found["intercept_"] + far * found["coef_"][0])

    return fit


MODELS = {"LogisticRegression": classifier, "HuberRegression": regression}


def a_fifth_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DiscreteGaussian.draw

    def weaker(self: DiscreteGaussian, entropy: Entropy, draws: int) -> Integers:
        return honest(DiscreteGaussian(self.variance / 25), entropy, draws)

    monkeypatch.setattr(DiscreteGaussian, "draw", weaker)


def clipped_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ClippedSum._steps

    def each_row(self: ClippedSum, units: Integers, vectors: Floats) -> Integers:
        return honest(self, np.arange(units.size), vectors)

    monkeypatch.setattr(ClippedSum, "_steps", each_row)


LIES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a fifth of the noise in LogisticRegression": ("LogisticRegression", a_fifth_of_the_noise),
    "a fifth of the noise in HuberRegression": ("HuberRegression", a_fifth_of_the_noise),
    "a person's rows clipped one by one": ("LogisticRegression", clipped_by_row),
}


def told_at(epsilon: float) -> float:
    """The most that an AUC may be: that of Gaussian noise of the rho for ``epsilon``."""
    mu = sqrt(2 * LogisticRegression(epsilon=epsilon).rho)
    return float(gaussian_auc(exact(round(mu, 9))))


# `just audit-models` has fits enough for epsilon 1
@pytest.mark.parametrize("epsilon", [8, 1] if FITS >= MANY else [8])
@pytest.mark.parametrize("name", MODELS)
def test_a_canary_shows_some_of_the_claim_and_no_more(
    name: str, epsilon: int, bar: Bar
) -> None:
    claimed = Loss.approximate(epsilon, DELTA)
    shown = ModelBound.of(MODELS[name](epsilon), FITS, claimed, CONFIDENCE)
    bar(
        f"{name} at epsilon {epsilon}, {FITS} fits with a canary and without: epsilon at least",
        shown.epsilon,
        f"above 0, <= {epsilon}",
        0 < shown.epsilon <= epsilon,
    )
    limit = told_at(epsilon)
    told = presence("canary in a model", name, shown.with_it, shown.without, limit)
    bar(
        f"{name} at epsilon {epsilon}, whether the canary is in: AUC",
        told.success.value,
        f"<= {limit:.3f}, or <= {float(best_auc(exact(epsilon))):.3f} by epsilon alone",
        told.verdict.good,
    )


@pytest.mark.parametrize("lie", LIES)
def test_a_model_that_loses_more_is_convicted(
    lie: str, monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    name, tell = LIES[lie]
    tell(monkeypatch)
    claimed = Loss.approximate(8, DELTA)
    shown = ModelBound.of(MODELS[name](8), FEW, claimed, CONFIDENCE)
    bar(f"{lie}, claimed at epsilon 8: epsilon at least", shown.epsilon, "> 8", shown.convicts)


# ------------------------------------------------------------------ anybody, not a canary

PEOPLE, WIDTH, SHADOWS, TARGETS = 160, 76, 64, 12


def ours(epsilon: float) -> Any:
    """The fits of a classifier of our own."""
    model = LogisticRegression(epsilon=epsilon, bounds=(-1, 1))

    def fit(features: Floats, labels: Integers) -> Predict:
        training = training_like(features, labels, Neighbours.ADD_REMOVE)
        table = table_of(model.rows(training), features, labels)
        found = fitted(model, training, table, GATEWAY)

        def predict(rows: Floats) -> Floats:
            yes = expit(rows @ found["coef_"][0] + found["intercept_"][0])
            return np.column_stack([1 - yes, yes])

        return predict

    return fit


def twin(features: Floats, labels: Integers) -> Predict:
    """The fit of scikit-learn's, which promises nothing."""
    return Twin(C=10.0).fit(features, labels).predict_proba  # type: ignore[no-any-return]


def test_a_model_hardly_tells_whom_it_has_seen(bar: Bar) -> None:
    """LiRA on people like all others: 76 features at random, and labels that are coins."""
    random = np.random.default_rng(16)
    features = random.choice([-1.0, 1.0], (PEOPLE, WIDTH))
    labels = random.integers(0, 2, PEOPLE)
    runs = SHADOWS + TARGETS
    used = np.stack([random.permutation(PEOPLE) < PEOPLE // 2 for _ in range(runs)])
    members = used[SHADOWS:]
    for fit, epsilon in ((twin, None), (ours(8), 8), (ours(1), 1)):
        seen = confidences(fit, features, labels, used)
        ratios = np.array(
            [likelihood_ratios(seen[:SHADOWS], used[:SHADOWS], each) for each in seen[SHADOWS:]]
        )
        limit = told_at(epsilon or 8)
        told = presence("membership", "a model", ratios[members], ratios[~members], limit)
        value = told.success.value
        if epsilon:
            name, wanted, good = f"epsilon {epsilon}", f"<= {limit:.3f}", told.verdict.good
        else:  # as a lie, it promised epsilon 1
            name, wanted, good = "not private", ">= 0.8", value >= 0.8
            assert told.success.low > told_at(1)
        bar(f"LiRA, 64 shadow models, LogisticRegression, {name}: AUC", value, wanted, good)
