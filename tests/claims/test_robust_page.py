"""The page about robust statistics says what the laws of the noise say: tables and charts."""

import os
import re
from pathlib import Path

import pytest
from conftest import Bar
from robust_curves import POISON, SIZES, curves, drawn

pytestmark = pytest.mark.claim

PLACE = Path(__file__).parents[2] / "docs" / "explanation"
PAGE = PLACE / "robust.md"
NEAR = 0.01
"""The figures come from laws and a fixed seed; what is left is how numbers are printed."""


def rows(story: str) -> list[str]:
    return [
        f"| {story} | {name} | {' | '.join(f'{error:.3g}' for error in errors)} |"
        for name, errors in curves(story).items()
    ]


def said(text: str, story: str) -> dict[str, list[float]]:
    found = re.findall(rf"^\| {story} \| ([^|]+) \|((?: [\d.]+ \|)+)$", text, re.MULTILINE)
    return {name: [float(cell) for cell in cells.split("|")[:-1]] for name, cells in found}


def wrong(text: str, story: str) -> list[str]:
    """Curves whose figures are missing on the page, or off."""
    page = said(text, story)
    return [
        name
        for name, errors in curves(story).items()
        if len(page.get(name, [])) != len(errors)
        or any(abs(a / b - 1) > NEAR for a, b in zip(page[name], errors, strict=True))
    ]


if "TACIT_DRAW" in os.environ:  # `just robust-page` writes the page anew

    def test_write_the_figures_and_charts() -> None:
        (PLACE / "robust").mkdir(exist_ok=True)
        head = " | ".join(f"n = {size:,}" for size in SIZES)
        table = [f"| values | estimator | {head} |", "| --- " * (2 + len(SIZES)) + "|"]
        for story in POISON:
            (PLACE / "robust" / f"{story}.svg").write_text(drawn(story), encoding="utf-8")
            table += rows(story)
        inner = "\n".join(table)
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(
            "(?s)<!-- figures -->.*<!-- end -->",
            f"<!-- figures -->\n{inner}\n<!-- end -->",
            page,
        )
        PAGE.write_text(page, encoding="utf-8")


@pytest.mark.parametrize("story", POISON)
def test_a_figure_is_what_the_laws_say(story: str, bar: Bar) -> None:
    off = wrong(PAGE.read_text(encoding="utf-8"), story)
    for name, errors in curves(story).items():
        shown = ", ".join(f"{error:.3g}" for error in errors)
        bar(
            f"{story} values, error of {name}, n = 100 to 10,000",
            shown,
            "as on the page",
            name not in off,
        )
    assert (PLACE / "robust" / f"{story}.svg").read_text(encoding="utf-8") == drawn(story)


def test_another_figure_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    line = next(
        each for each in page.splitlines() if each.startswith("| poisoned | mean, ε = 1 |")
    )
    lie = page.replace(line, line.replace("| 2.5 |", "| 2.6 |"))
    assert lie != page
    assert wrong(lie, "poisoned") == ["mean, ε = 1"]


def test_the_code_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall("(?s)```python\n(.*?)```", PAGE.read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out.splitlines()
    assert len(blocks) == 2
    assert (
        printed[0] == "gross error sensitivity: a diagnostic for the owner, not a sensitivity"
    )
    assert printed[1] == "PermuteAndFlipSelectionV2(epsilon=Fraction(1, 1))"
    assert abs(float(printed[2].split()[0]) - 22_900) < 3000
