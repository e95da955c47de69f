"""Two clocks: a stage of CI skips what comes too late; a limit counts what cores were given."""

import os
import subprocess
from pathlib import Path
from time import perf_counter, sleep, time

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


def test_time_that_was_stolen_from_all_cores_is_not_counted() -> None:
    before = "cpu  500 0 200 4000 5 0 8 1000 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
    after = "cpu  900 7 300 4000 9 0 9 1300 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
    ticks = os.sysconf("SC_CLK_TCK")
    stolen = conftest.stolen_seconds(after, 2) - conftest.stolen_seconds(before, 2)
    assert stolen == pytest.approx(300 / ticks / 2)


def test_no_more_is_given_than_passes() -> None:
    began, given = perf_counter(), conftest.given_seconds()
    sleep(0.2)
    waited = conftest.given_seconds() - given
    assert waited <= perf_counter() - began


def test_a_wait_for_a_lock_is_not_forgiven() -> None:
    best = 0.0
    for _ in range(20):
        given = conftest.given_seconds()
        sleep(0.05)
        best = max(best, conftest.given_seconds() - given)
    assert best > 0.02
