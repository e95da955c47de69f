"""Logistic regression beside diffprivlib's, in its own environment: the excess risk.

The same rows, loss and relation (one unit replaced), and for each the best of its settings with
hindsight: the rate of ours at one clip, the strength C of theirs. Theirs is pure epsilon; ours
has a delta of 10**-6.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from conftest import Bar, Peer
from fitted_rows import fitted, minimiser, risk, table_of, training_like, unit_ball

from tacit.core.privacy_unit import Neighbours
from tacit.mechanisms.gateway import LiveGateway
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.numeric.entropy import SystemEntropy

GATEWAY = LiveGateway(SystemEntropy(b"beside a peer"))
REPLACE = Neighbours.REPLACE_ONE
RUNS = int(os.environ.get("TACIT_RUNS", "40"))
CLIP = 0.5
"""Half of the longest gradient: half the noise, for a bias that is less than what it saves."""
RATES = 4.0, 8.0, 16.0, 32.0, 64.0
STRENGTHS = 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002
WANTED = {
    (20, 0.5): (0.024, 1.1),
    (20, 1.0): (0.0080, 1.1),
    (20, 3.0): (0.0014, 1.1),
    (100, 0.5): (0.020, 0.45),
    (100, 1.0): (0.0065, 0.45),
    (100, 3.0): (0.0012, 0.45),
}
"""By features and epsilon: the most that ours may be, and as a part of the peer's."""


@pytest.mark.parametrize(("dimensions", "epsilon"), WANTED)
def test_excess_risk_beside_diffprivlib(
    dimensions: int, epsilon: float, tmp_path: Path, peer: Peer, bar: Bar
) -> None:
    size = 5000 if dimensions == 20 else 20_000
    features, classes = unit_ball(np.random.default_rng(dimensions), size, dimensions)
    best = risk(features, classes, minimiser(features, classes, 1e-3))

    def excess(weights: list[np.ndarray]) -> float:
        return float(np.mean([risk(features, classes, each) for each in weights])) - best

    training = training_like(features, classes, REPLACE)
    ours = []
    for rate in RATES:
        model = LogisticRegression(
            epsilon=epsilon, bounds=(-1, 1), rate=rate, clip=CLIP, fit_intercept=False
        )
        table = table_of(model.rows(training), features, classes)
        found = [fitted(model, training, table, GATEWAY)["coef_"][0] for _ in range(RUNS)]
        ours.append(excess(found))
    rows = tmp_path / "rows.npz"
    np.savez(rows, features=features, classes=classes)
    said = peer("diffprivlib", rows, epsilon, RUNS, *STRENGTHS, script="logistic.py")
    theirs = [excess([np.array(w) for w in each]) for each in said["weights"].values()]
    most, part = WANTED[dimensions, epsilon]
    name = f"T53 {dimensions} features, epsilon {epsilon:g}"
    bar(f"{name}, excess risk", min(ours), f"<= {most}", min(ours) <= most)
    ratio = min(ours) / min(theirs)
    bar(f"{name}, over diffprivlib's {min(theirs):.4f}", ratio, f"<= {part}", ratio <= part)
