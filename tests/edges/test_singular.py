"""F-P8: a solver that fails on equal rows tells whether somebody's row is another.

The analyst's own bounds make all rows equal, and a small penalty leaves the matrix of a Newton
step singular to floats. In version 0.1.0 the fit failed then, and one person with another row
mended it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Bar

import tacit
from tacit.ml.finite_algebra import Floats
from tacit.ml.output_perturbation import OutputPerturbation
from tacit.ml.regularised_risk import RegularisedRisk

TABLES = 5


def outcome(folder: Path, seed: int, *, target: bool) -> str:
    """How a fit ends, with the person whose row is another, or without."""
    draw = np.random.default_rng(seed)
    age = draw.integers(1, 100, 5000).astype(float)
    sick = (draw.random(5000) < 0.05).astype(int)
    if target:
        age, sick = np.append(age, 0.0), np.append(sick, 1)
    with tacit.open(
        pd.DataFrame({"person": range(len(age)), "age": age, "sick": sick}),
        table="people",
        population="people",
        unit="person",
        one_row=True,
        max_groups=1,
        max_rows=1,
        bounds={"age": (0, 120)},
        budget=(1, "1e-6"),
        folder=folder / f"{seed} {target}",
    ) as session:
        model = OutputPerturbation(
            epsilon=0.01,
            delta=1e-7,
            bounds=(-1, 1),
            classes=(0, 1),
            penalty=1e-14,
            tolerance=18.0,
        )
        try:
            session.fit(model, "people", features=["age"], target="sick")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is seen
            return type(error).__name__
    return "fitted"


def told(folder: Path) -> list[tuple[str, str]]:
    """The tables that are told apart by how their fits end."""
    seen = [
        (outcome(folder, seed, target=False), outcome(folder, seed, target=True))
        for seed in range(TABLES)
    ]
    return [pair for pair in seen if pair[0] != pair[1]]


def minimiser_in_0_1_0(risk: RegularisedRisk, tolerance: Any) -> Floats:
    """The lie: Newton's steps, by a solver that raises."""
    weights = np.zeros(risk.dimensions)
    here = risk.at(weights)
    while here.longest > tolerance:
        way = -np.linalg.solve(risk._curvature(weights, risk.penalty), here.floats)
        there = risk.at(weights + way)
        while there.longest > here.longest / 2 and there.floats @ way > 0:
            way /= 2
            there = risk.at(weights + way)
        weights, here = weights + way, there
    return weights


def test_no_fit_fails_by_one_person(
    bar: Bar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = told(tmp_path / "now")
    bar("edge singular: tables told apart", f"{len(apart)} of 5", "0 of 5", not apart)
    monkeypatch.setattr(RegularisedRisk, "minimiser", minimiser_in_0_1_0)
    apart = told(tmp_path / "lie")
    bar("edge singular: the same as in 0.1.0", f"{len(apart)} of 5", "> 0 of 5", bool(apart))
