"""Mutants are run with their change, in the process and in those that it starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from coverage_map import ROOT, CoverageMap
from mutant_runner import CAUGHT, SURVIVED, UNTESTED, Verdict
from mutations import FIXED, Mutant, mutants_of

from mutants import (
    Planner,
    Reason,
    Verdicts,
    all_fixed,
    as_entry,
    bars,
    function_around,
    reasons,
)

SOURCE = "def floor_of(a: int) -> int:\n    return max(a, 0)\n"
MUTANTS = mutants_of("tacit.plan.a", SOURCE)


def test_a_child_imports_the_change_and_so_do_its_own_children(tmp_path: Path) -> None:
    package = tmp_path / "tacit"
    (package / "plan").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "plan" / "a.py").write_text(SOURCE)
    inside = (
        "import subprocess, sys\n"
        "from tacit.plan.a import floor_of\n"
        "print(floor_of(-5), flush=True)\n"
        "again = 'from tacit.plan.a import floor_of; print(floor_of(-5))'\n"
        "subprocess.run([sys.executable, '-c', again], check=True)\n"
    )
    swapped = next(each for each in MUTANTS if "min(a, 0)" in each.after)
    printed = {}
    for name, change in {"plain": None, "changed": swapped.change}.items():
        start = (
            f"import os, pathlib, sys; sys.path[:0] = [{str(ROOT / 'shipping')!r}]\n"
            f"os.environ['PYTHONPATH'] = {str(tmp_path)!r}\n"
            f"sys.path.append({str(tmp_path)!r})\n"
            "from mutant_import import install, prepare\n"
            f"change = {change!r}\n"
            f"if change: install(prepare(pathlib.Path({str(tmp_path / 'run')!r}), change))\n"
        )
        done = subprocess.run(
            [sys.executable, "-S", "-c", start + inside],
            capture_output=True,
            text=True,
            check=True,
        )
        printed[name] = done.stdout.split()
    assert printed == {"plain": ["0", "0"], "changed": ["-5", "-5"]}


RUNS = """
import sys
sys.path.insert(0, {shipping!r})
from pathlib import Path
import mutant_runner
mutant_runner.ROOT = Path({root!r})
mutant_runner.LIBRARIES = ("pytest",)
from mutant_runner import Job, run_all
jobs = [Job(name, change, ((test,),), 1.0) for name, change, test in {jobs!r}]
for job, verdict in run_all(jobs, Path({root!r}) / "home", "not slow", {workers}):
    print(job.name, verdict.outcome, verdict.by)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_change_that_a_test_notices_is_caught(tmp_path: Path, workers: int) -> None:
    (tmp_path / "tacit" / "plan").mkdir(parents=True)
    (tmp_path / "tacit" / "__init__.py").touch()
    (tmp_path / "tacit" / "plan" / "a.py").write_text(SOURCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "test_a.py").write_text(
        "from tacit.plan.a import floor_of\n"
        "def test_weak(): assert floor_of(0) == 0\n"
        "def test_strong(): assert floor_of(-5) == 0\n"
    )
    change = next(each for each in MUTANTS if "min(a, 0)" in each.after).change
    jobs = [
        ("none", None, "test_a.py::test_strong"),
        ("weak", change, "test_a.py::test_weak"),
        ("strong", change, "test_a.py::test_strong"),
        ("missing", change, "test_a.py::test_gone"),
    ]
    text = RUNS.format(
        shipping=str(ROOT / "shipping"), root=str(tmp_path), jobs=jobs, workers=workers
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert sorted(done.stdout.splitlines()) == [
        "missing untested ",
        "none survived ",
        "strong caught test_a.py::test_strong",
        "weak survived ",
    ]


class _Map(CoverageMap):
    """A map that is written by hand instead of recorded."""

    seconds = {"t.py::a": 1.0, "t.py::b": 2.0, "u.py::c": 50.0}  # noqa: RUF012
    _lines = {"p": {1: {""}, 2: {"t.py::a"}, 5: {"u.py::c"}, 9: {""}}}  # noqa: RUF012


def test_tests_are_chosen_by_the_lines_that_they_execute() -> None:
    known = _Map(())
    assert known.tests_of(Path("p"), 2, 3, range(1, 4)) == ["t.py::a", "t.py::b"]
    # a default runs on import: the tests of its function count
    assert known.tests_of(Path("p"), 1, 1, range(1, 4)) == ["t.py::a", "t.py::b"]
    # so do all tests of the file for a constant at its top
    assert "u.py::c" in known.tests_of(Path("p"), 9, 9, range(0))
    # nothing runs these lines
    assert known.tests_of(Path("p"), 3, 3, range(3, 4)) == []
    assert known.tests_of(Path("q"), 1, 1, range(1, 4)) == []


def test_long_tests_are_left_out_by_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mutants.module_paths", lambda: {"tacit.plan.a": Path("p")})
    monkeypatch.setattr("mutants.function_around", lambda _path, _line: range(1, 6))
    known = _Map(())
    mutant = Mutant("tacit.plan.a", "f", "constant", "1", "2", 5, 5, 0)
    assert Planner((known,), 60).job(mutant).batches == (("u.py::c",),)
    assert Planner((known,), 10).job(mutant).batches == ()


def test_bars_count_survivors_and_reasons() -> None:
    mutant = MUTANTS[0]
    caught = {name: Verdict(CAUGHT, "t.py::a", 1.0) for name in FIXED}
    why = Reason(mutant.package, mutant.function, mutant.before, mutant.after, "same")

    def verdicts(outcome: str, fixed: dict[str, Verdict], known: list[Reason]) -> list[bool]:
        done = {mutant: Verdict(outcome, "", 1.0)}
        return [bar.ok for bar in bars(done, fixed, known, stale=0)[0]]

    assert verdicts(CAUGHT, caught, []) == [True, True, True, True]
    assert verdicts(SURVIVED, caught, []) == [False, False, True, True]
    assert verdicts(UNTESTED, caught, [why]) == [False, True, True, True]
    assert not verdicts(CAUGHT, {FIXED[0]: caught[FIXED[0]]}, [])[3]
    missed = {**caught, FIXED[1]: Verdict(SURVIVED, "", 1.0)}
    assert not verdicts(CAUGHT, missed, [])[3]
    shown = bars({mutant: Verdict(SURVIVED, "", 1.0)}, caught, [], stale=2)
    assert str(shown[0][0]) == "bar mutants caught: 0.0% of 1 (wanted 85%) short"
    assert not shown[0][2].ok
    assert shown[1] == [mutant]


def test_the_printed_entry_of_a_survivor_is_read_back() -> None:
    for mutant in MUTANTS:
        (why,) = reasons(as_entry(mutant))
        assert why.fits(mutant)
        assert sum(why.fits(other) for other in MUTANTS) == 1


def test_kept_verdicts_hold_for_the_same_sources_and_tests(tmp_path: Path) -> None:
    file, own = tmp_path / "verdicts", "tests/shipping/test_mutants.py::test_x"
    keeper = Verdicts(file, "source", "tests")
    keeper.add("a", Verdict(CAUGHT, own, 1.0))
    keeper.add("b", Verdict(SURVIVED, "", 1.0))
    assert set(keeper.read()) == {"a", "b"}
    assert set(Verdicts(file, "source", "other tests").read()) == {"a"}
    assert Verdicts(file, "other source", "tests").read() == {}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    changed = [json.dumps({**line, "by_digest": "other"}) for line in lines[:1]]
    file.write_text("\n".join(changed))
    assert Verdicts(file, "source", "other tests").read() == {}


def test_the_function_around_a_line_is_the_innermost(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("X = 1\ndef f():\n    def g():\n        return 1\n    return g\n")
    assert function_around(path, 4) == range(3, 5)
    assert function_around(path, 5) == range(2, 6)
    assert not function_around(path, 1)


def test_each_fixed_mutant_has_one_place_in_this_repository() -> None:
    assert sorted(each.name for each in all_fixed()) == sorted(FIXED)


def test_reasons_of_this_repository_can_be_read() -> None:
    found = reasons((ROOT / "tests/mutants/harmless.toml").read_text())
    assert all(why.reason for why in found)
