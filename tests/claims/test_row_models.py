"""Figures of models on rows: excess risk (T53), with its lie."""

import numpy as np
import pytest
from conftest import Bar
from fitted_rows import fitted, minimiser, risk, table_of, training_like, unit_ball

from tacit.core.privacy_unit import Neighbours
from tacit.mechanisms.gateway import LiveGateway
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.numeric.entropy import SystemEntropy

pytestmark = pytest.mark.claim

GATEWAY = LiveGateway(SystemEntropy(b"models on rows"))
REPLACE = Neighbours.REPLACE_ONE


def test_t53_the_excess_risk_of_a_classifier(bar: Bar) -> None:
    """At epsilon 1 on 5,000 rows of 20 features; the lectures' baseline beside it."""
    rng = np.random.default_rng(53)
    features, classes = unit_ball(rng, 5000, 20)
    best = risk(features, classes, minimiser(features, classes, 1e-3))
    model = LogisticRegression(epsilon=1, bounds=(-1, 1), fit_intercept=False)
    training = training_like(features, classes, REPLACE)
    table = table_of(model.rows(training), features, classes)
    found = [fitted(model, training, table, GATEWAY)["coef_"][0] for _ in range(60)]
    ours = float(np.mean([risk(features, classes, each) for each in found])) - best
    bar("T53 excess risk at epsilon 1, 20 features", ours, "<= 0.0080", ours <= 0.0080)
    # the lectures': a regularised minimiser with noise of its sensitivity, 2 / penalty
    lies = []
    for penalty in (20.0, 50.0, 100.0, 200.0):
        exact = minimiser(features, classes, penalty)
        ways = rng.normal(size=(20, 20))
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        noisy = exact + ways * rng.gamma(20, 2 / penalty, (20, 1))
        lies.append(np.mean([risk(features, classes, each) for each in noisy]) - best)
    part = ours / float(min(lies))
    bar(
        "T53 the same over output perturbation at its best penalty", part, "<= 0.2", part <= 0.2
    )
