"""The weekly release goes as its page tells it."""

from pathlib import Path

import pytest
from walking import Walk

PAGE = (Path(__file__).parents[2] / "docs/tutorials/weekly-release.md").read_text()


def test_the_weekly_release_goes_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert PAGE.count("\n$ tacit publish ") >= 8
    assert Walk(monkeypatch).through(PAGE) == []
