"""A stage of CI whose time is over skips what has not begun, and says so."""

import os
import subprocess
from pathlib import Path
from time import time

import conftest
import pytest

ROOT = Path(__file__).parents[2]


def test_a_test_begins_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "ENDS", time() + 60)
    conftest.pytest_runtest_setup()


def test_a_test_that_comes_too_late_is_skipped_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conftest, "ENDS", time() - 1)
    with pytest.raises(pytest.skip.Exception, match="no time left"):
        conftest.pytest_runtest_setup()


def test_a_stage_that_comes_too_late_is_left_out_and_named() -> None:
    done = subprocess.run(
        ["bash", ".ci/run", "bugs", "cluster"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"TACIT_CI_MINUTES": "0"},
    )
    assert done.stdout.count("left out") == 2
    assert "== bugs" in done.stdout
