"""The page about models runs as it stands."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/tutorials/models.md").read_text()


def run(text: str) -> dict[str, object]:
    known: dict[str, object] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)), known)  # noqa: S102 - our own page
    return known


def test_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    known = run(PAGE)
    shown = capsys.readouterr().out
    assert "Price: epsilon" in shown
    assert "By itself, this release about workers satisfies" in shown
    assert {"model", "scaler", "components", "clusters"} < known.keys()


def test_a_page_that_leaves_out_the_bounds_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lie = PAGE.replace('"hours": (0, 60), "pay"', '"pay"')
    with pytest.raises(ValueError, match="no bounds"):
        run(lie)
