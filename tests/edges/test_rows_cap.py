"""F-P6: a cap on rows is a free question about how many there are.

Version 0.1.0 fitted 5,000,000 rows and failed on 5,000,001. There is no cap now: rows are read
in blocks. `TACIT_EDGE_ROWS` says how many are tried; CI takes fewer, and `just edges`
5,000,000.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Bar

import tacit
from tacit.engines.unit_rows import UnitRows
from tacit.errors import InternalError
from tacit.ml.linear_classifiers import LogisticRegression

ROWS = int(os.environ.get("TACIT_EDGE_ROWS", "200000"))
CAP = 1000
"""The cap of the lie, which needs no large table."""


def outcome(folder: Path, people: int) -> str:
    """How a fit of so many people ends."""
    rows = pd.DataFrame(
        {
            "person": np.arange(people),
            "age": np.full(people, 40.0),
            "sick": np.ones(people, dtype=np.int64),
        }
    )
    with tacit.open(
        rows,
        table="people",
        population="people",
        unit="person",
        one_row=True,
        max_groups=1,
        max_rows=1,
        bounds={"age": (0, 120)},
        budget=(1, "1e-6"),
        folder=folder / str(people),
    ) as session:
        try:
            model = LogisticRegression(epsilon=0.01, iterations=1, classes=(0, 1))
            session.fit(model, "people", features=["age"], target="sick")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is seen
            return type(error).__name__
    return "fitted"


def test_one_row_more_changes_no_outcome(
    bar: Bar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [outcome(tmp_path, people) for people in (ROWS, ROWS + 1)]
    text = f"{seen[0]} at {ROWS:,}, {seen[1]} at {ROWS + 1:,}"
    bar("edge rows_cap", text, "fitted both times", set(seen) == {"fitted"})

    def capped(rows: UnitRows, units: Any, columns: Any) -> None:
        """The lie: 0.1.0 had a cap, and failed beyond it."""
        if len(units) > CAP:
            raise InternalError("A table has more rows than a fit may take.")
        added(rows, units, columns)

    added = UnitRows.add
    monkeypatch.setattr(UnitRows, "add", capped)
    seen = [outcome(tmp_path / "lie", people) for people in (CAP, CAP + 1)]
    text = f"{seen[0]} at {CAP:,}, {seen[1]} at {CAP + 1:,}"
    bar("edge rows_cap with a cap, as in 0.1.0", text, "told apart", len(set(seen)) > 1)
