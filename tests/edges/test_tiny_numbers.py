"""F-P7: settings whose squares underflow let one person move a sum 2^20 times too far.

Version 0.1.0 clipped a gradient by a norm whose squares were 0, so that it was not clipped, and
its guard squared integers in 64 bits, which wrapped to 0 as well. Two coefficients at epsilon
0.01 then told how many people have an age above 0, exactly.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Bar

import tacit
from tacit.errors import TacitError
from tacit.ml import clipped_sum, registry
from tacit.ml.clipped_sum import STEPS, reach_of
from tacit.ml.finite_algebra import Floats
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.noise.integers import Integers

PEOPLE = 1200
TABLES = (1000, 1001, 1002)
GRADIENT = 5.00000225675314e-171
"""What one person at the upper bound adds, by the grid of 0.1.0: half of bound over scale."""


def counts_read(folder: Path) -> tuple[int, int]:
    """How many of the counts are read exactly, and how many fits are refused."""
    read = refused = 0
    for positive in TABLES:
        draw = np.random.default_rng(positive)
        age = np.concatenate([draw.uniform(1, 100, positive), np.zeros(PEOPLE - positive)])
        draw.shuffle(age)
        height = draw.uniform(100, 200, PEOPLE)
        rows = pd.DataFrame({"person": range(PEOPLE), "age": age, "height": height, "sick": 0})
        with tacit.open(
            rows,
            table="people",
            population="people",
            unit="person",
            one_row=True,
            max_groups=1,
            max_rows=1,
            bounds={"age": (0, 120), "height": (50, 250)},
            budget=(1, "1e-6"),
            folder=folder / str(positive),
        ) as session:
            model = LogisticRegression(
                epsilon=0.01,
                delta=1e-7,
                bounds=(0, 1e-90),
                scales=1e80,
                classes=(0, 1),
                clip=GRADIENT * 2.0**-20,
                iterations=1,
                rate=1e60,
                fit_intercept=False,
            )
            try:
                session.fit(model, "people", features=["age", "height"], target="sick")
            except TacitError:
                refused += 1
                continue
            first, second = model.coef_[0]
            read += bool(second) and abs(first / second * PEOPLE - positive) < 0.2
    return read, refused


def clipped_in_0_1_0(vectors: Floats, clip: float) -> Integers:
    """The lie: squares underflow, and the guard wraps."""
    with np.errstate(all="ignore"):
        norms = np.sqrt((vectors**2).sum(axis=1))
        factors = STEPS / np.maximum(norms, clip)
        steps = np.rint(np.nan_to_num(vectors * factors[:, None])).astype(np.int64)
        sure = np.einsum("ij,ij->i", steps, steps) <= reach_of(vectors.shape[1]) ** 2
    return np.asarray(steps * sure[:, None])


def test_tiny_settings_read_no_count(
    bar: Bar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, refused = counts_read(tmp_path / "refused")
    bar("edge tiny_numbers: counts read exactly", f"{read} of 3", "0 of 3", read == 0)
    assert refused == len(TABLES)  # such settings have a range, and it is said
    # without that range the clipping holds by itself
    monkeypatch.setattr(registry, "LEAST", 0.0)
    read, refused = counts_read(tmp_path / "clipped")
    bar("edge tiny_numbers: the same by clipping alone", f"{read} of 3", "0 of 3", read == 0)
    assert refused == 0
    monkeypatch.setattr(clipped_sum, "clipped_steps", clipped_in_0_1_0)
    read, _ = counts_read(tmp_path / "lie")
    bar("edge tiny_numbers: the same as in 0.1.0", f"{read} of 3", "3 of 3", read == 3)
