"""The guides for officers run as they are written, and their odds are those of the code."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from walking import Walk

from tacit.accounting import best_auc, exchange

GUIDES = Path(__file__).parents[2] / "docs/how-to"
NAMES = ("choose-a-budget", "file-a-dpia", "respond-to-an-incident")


def page(name: str) -> str:
    return (GUIDES / f"{name}.md").read_text()


@pytest.mark.parametrize(("name", "least"), [*zip(NAMES, (8, 7, 10), strict=True)])
def test_a_guide_goes_as_it_is_written(
    name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page(name)
    assert text.count("\n$ tacit ") >= least
    assert Walk(monkeypatch).through(text) == []


def test_a_guide_that_forgets_to_freeze_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lie = page("respond-to-an-incident").replace("$ tacit freeze patients --as olga\n", "")
    wrong = Walk(monkeypatch).through(lie.partition("## 2.")[0])
    assert len(wrong) == 1


def wrong_odds(text: str) -> list[str]:
    """Rows of the table of odds that are not those of the code, rounded as they are printed."""
    rows = re.findall(r"^\| ([\d.]+)" + 3 * r" \| ([\d.]+)%" + r" \|$", text, re.MULTILINE)
    assert len(rows) >= 6
    found = []
    for epsilon, *printed in rows:
        right = float(best_auc(Fraction(epsilon)))
        odds = right / (1 - right)
        both = float(best_auc(*exchange(Fraction(epsilon))))
        exact = (100 * right, 100 * odds * 0.01 / (odds * 0.01 + 0.99), 100 * both)
        for said, value in zip(printed, exact, strict=True):
            digits = len(said.partition(".")[2])
            if abs(float(said) - value) > 0.5 * 10**-digits + 1e-9:
                found.append(f"{epsilon}: {said} for {value:.3f}")
    return found


def test_the_odds_of_the_guide_are_those_of_the_code() -> None:
    text = page("choose-a-budget")
    assert wrong_odds(text) == []
    assert wrong_odds(text.replace("| 73.1% |", "| 71.1% |")) != []
