"""A release as it is shown, and what it becomes."""

import json
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import extras
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Answer, BudgetSummary, Guarantee, Release, ReleasedColumn
from tacit.errors import InvalidValue, MissingExtra

RELEASE = Release(
    (
        ReleasedColumn("ward", ("east", "west")),
        ReleasedColumn(
            "pay",
            (Fraction(100, 3), Fraction(2)),
            ((Fraction(31), Fraction(36)), None),
            Fraction(19, 20),
        ),
    ),
    Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1)),
    receipt=b"\x01\xff",
)
STANDING = BudgetSummary(
    "patients",
    Loss.zcdp("0.0011020245"),
    Loss.zcdp("0.0022"),
    Loss.zcdp("0.175749908689"),
    Loss.approximate("0.3", "1e-6"),
    Loss.approximate(3, "1e-6"),
    more=14,
)
SENTENCE = "By itself, this release about patients satisfies differential privacy with ε = 1"


def test_a_release_is_a_table_with_its_intervals_and_its_guarantee() -> None:
    assert repr(RELEASE).splitlines() == [
        "ward   pay  95%",
        "east  33.3  [31, 36]",
        "west     2  not known",
        "",
        SENTENCE,
        "for adding or removing one person, with all their rows.",
    ]


def test_an_answer_says_what_it_cost_and_how_many_more_fit() -> None:
    shown = repr(Answer.of(RELEASE, STANDING))
    assert shown.startswith(repr(RELEASE))
    assert "This answer cost rho 0.001103. Spent about patients so far:\nepsilon 0.3" in shown
    assert "(rho 0.0022 of 0.17575)" in shown
    assert shown.endswith("About 14 more questions like this fit.")
    again = Answer.of(RELEASE, replace(STANDING, cost=Loss.zcdp(0), more=1))
    assert "This answer was paid for before." in repr(again)
    assert repr(again).endswith("About 1 more question like this fits.")


def test_a_notebook_sees_the_same() -> None:
    shown = Answer.of(RELEASE, STANDING)._repr_html_()
    for part in ("33.3", "[31, 36]", SENTENCE, "About 14 more questions"):
        assert part in shown


def test_what_is_computed_from_an_answer_is_an_answer() -> None:
    answer = Answer.of(RELEASE, STANDING)
    assert isinstance(answer.map("ward", str), Answer)


def test_frames_hold_the_values_and_the_ends_of_their_intervals() -> None:
    wanted = {
        "ward": ["east", "west"],
        "pay": [100 / 3, 2.0],
        "pay_low": [31.0, None],
        "pay_high": [36.0, None],
    }
    frame = RELEASE.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == list(wanted)
    assert frame["pay_low"].isna().tolist() == [False, True]
    assert isinstance(RELEASE.to_polars(), pl.DataFrame)
    assert RELEASE.to_polars().to_dict(as_series=False) == wanted
    assert isinstance(RELEASE.to_arrow(), pa.Table)
    assert RELEASE.to_arrow().to_pydict() == wanted


def test_json_holds_the_guarantee_and_the_receipt() -> None:
    told = json.loads(json.dumps(RELEASE.to_dict()))
    assert told["columns"]["pay_high"] == [36, None]
    assert told["confidence"] == {"pay": 0.95}
    assert told["guarantee"].startswith(SENTENCE)
    assert told["receipt"] == "01ff"


def test_a_library_that_is_missing_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(extras.EXTRAS, "polars", "a_library_that_nobody_installs")
    with pytest.raises(MissingExtra, match=r'pip install "tacit\[polars\]"'):
        RELEASE.to_polars()


def test_a_chart_draws_the_first_noisy_column_or_the_one_that_is_named() -> None:
    assert RELEASE.chart() == RELEASE.chart("pay")
    assert [row["label"] for row in RELEASE.chart()["data"]["values"]] == ["east", "west"]
    with pytest.raises(InvalidValue, match="'ward' holds text"):
        RELEASE.chart("ward")
    with pytest.raises(InvalidValue, match="No column has intervals"):
        RELEASE.map("pay", lambda value: value).chart()
