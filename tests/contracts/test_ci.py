"""CI tells what it left out: a skipped test fails its run, and so does a stage with too few."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STAND_IN = """#!/usr/bin/env bash
# stands for `just`: a stage "passes" as many tests as PASSED says
[ "$1" != cluster ] || { echo "FAILED tests/test_x.py::test_y"; exit 1; }
[ "$*" != "house --growing" ] || [ -z "$HOUSE_FAILS" ] || exit 1
[ "$1" != bugs ] || { sleep 1; echo "FAILED tests/test_b.py::test_bug"; exit 1; }
echo "ran $*"
[ "$1" = check ] || echo "$PASSED" >> "$TACIT_COUNTED"
"""


def run_stages(
    place: Path, passed: int, *stages: str, house_fails: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `.ci/run` where `just` and `uv` are stand-ins."""
    for name in ("just", "uv"):
        (place / name).write_text(STAND_IN)
        (place / name).chmod(0o755)
    return subprocess.run(
        ["bash", ".ci/run", *stages],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ
        | {"PATH": f"{place}:{os.environ['PATH']}"}
        | {"PASSED": str(passed), "HOUSE_FAILS": house_fails},
    )


def test_a_run_with_all_of_its_tests_passes_and_counts_them(tmp_path: Path) -> None:
    done = run_stages(tmp_path, 10_000, "checks", "edges", "ledger", "timing")
    assert done.returncode == 0, done.stdout
    order = ["== checks", "== edges", "== ledger", "== timing", "30000 passed in "]
    places = [done.stdout.index(line) for line in order]
    assert places == sorted(places)
    assert "s, 10000 tests passed, at least " in done.stdout


@pytest.mark.parametrize("stage", ["edges", "ledger", "timing"])
def test_a_stage_with_too_few_tests_fails_the_run(stage: str, tmp_path: Path) -> None:
    done = run_stages(tmp_path, 0, stage)
    assert done.returncode == 1
    assert f"-- {stage} failed: too few tests" in done.stdout


def test_a_stage_that_fails_does_not_hide_what_others_would_tell(tmp_path: Path) -> None:
    done = run_stages(tmp_path, 10_000, "bugs", "cluster", "oldest", "timing")
    assert done.returncode == 1
    assert "-- cluster failed" in done.stdout
    assert "-- bugs failed" in done.stdout
    assert "== oldest" in done.stdout
    assert "== timing" not in done.stdout  # which runs alone, after all others


def test_nothing_is_tested_where_checks_fail(tmp_path: Path) -> None:
    done = run_stages(tmp_path, 10_000, "house", "oldest", house_fails="yes")
    assert done.returncode == 1
    assert "-- house failed" in done.stdout
    assert "== oldest" not in done.stdout


@pytest.mark.parametrize(
    ("stages", "told"),
    [(("edges", "cluster"), "test_x.py::test_y"), (("bugs", "ledger"), "test_b.py::test_bug")],
)
def test_the_end_of_the_output_says_what_failed(
    stages: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = run_stages(tmp_path, 10_000, *stages)
    assert done.returncode == 1
    end = done.stdout.index("== what failed in ")
    assert told in done.stdout[end:]
    assert "ran ledger" not in done.stdout[end:]


def test_a_stage_that_nobody_has_is_told(tmp_path: Path) -> None:
    done = run_stages(tmp_path, 10_000, "engine")
    assert done.returncode == 2
    assert "no such stage: engine" in done.stdout


SKIPPING = """
import pytest

def test_that_passes():
    pass

def test_that_is_skipped():
    pytest.skip({reason!r})
"""


@pytest.mark.parametrize(
    ("reason", "ended", "workers"),
    [("platform: no such disk here", 0, "0"), ("there was no time left", 1, "1")],
)
def test_a_skip_without_a_platform_fails_the_run(
    reason: str, ended: int, workers: str, tmp_path: Path
) -> None:
    file, counted = tmp_path / "test_skipping.py", tmp_path / "counted"
    file.write_text(SKIPPING.format(reason=reason))
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "conftest"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--rootdir", tmp_path, file],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TACIT_COUNTED": str(counted)},
    )
    assert done.returncode == ended, done.stdout
    assert counted.read_text() == "1\n"
    assert ("which fails CI: there was no time left" in done.stdout) == bool(ended)
