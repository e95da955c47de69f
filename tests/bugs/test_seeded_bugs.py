"""Every bug that once broke a real system is caught by a named test when it is seeded here.

Numbers are those of the list TD-10 of the threat model.
"""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from conftest import Bar

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PASSED, FAILED = 0, 1


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUGS = {path.stem: load(path) for path in sorted(HERE.glob("bug_*.py"))}


def run(test: str, bug: str | None) -> subprocess.CompletedProcess[str]:
    """One test in a fresh interpreter, with the bug or without."""
    environment = {key: value for key, value in os.environ.items() if "COV" not in key}
    environment |= {"PYTHONPATH": str(HERE), "TACIT_HYPOTHESIS_PROFILE": "ci"}
    if bug:
        environment["TACIT_SEEDED_BUG"] = bug
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "seeding", "-p", "no:cacheprovider", "-q", test],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize("name", BUGS)
def test_a_seeded_bug_is_caught_by_its_test(name: str, bar: Bar) -> None:
    bug = BUGS[name]
    honest = run(bug.CAUGHT_BY, bug=None)
    assert honest.returncode == PASSED, honest.stdout
    seeded = run(bug.CAUGHT_BY, bug=name)
    assert seeded.returncode == FAILED, seeded.stdout
    # the `bar` fixture tells what falls short after its test, which pytest calls an error
    assert any(f"{word} {bug.CAUGHT_BY}" in seeded.stdout for word in ("FAILED", "ERROR"))
    assert bug.SHOWN in seeded.stdout, seeded.stdout
    test = bug.CAUGHT_BY.split("::")[-1]
    bar(f"{name.replace('_', ' ')}, seeded and", "caught", f"caught by {test}", True)


def test_a_bug_whose_place_is_gone_is_told() -> None:
    done = run(BUGS["bug_27_float_accumulator"].CAUGHT_BY, bug="gone")
    assert done.returncode not in {PASSED, FAILED}
    assert "gone replaces tacit.core.loss:Loss.no_such_method, which is gone" in done.stdout
