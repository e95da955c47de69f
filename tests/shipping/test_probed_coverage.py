"""Probes report the branches that coverage.py's trace function would report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData
from probed_coverage import Branches, convert

ROOT = Path(__file__).parents[2]

SAMPLE = """
import contextlib


def kinds(value):
    match value:
        case int() | bool():
            return "number"
        case str() if value:
            found = "text"
        case (
            list()
            | tuple()
        ):
            found = "many"
    try:
        return found
    except NameError:
        return None
    finally:
        value = None


def walk(values, limit):
    total = 0
    for value in values:
        if value is None:
            continue
        with contextlib.suppress(TypeError):
            if value > limit:
                break
            total += value
        while total > 100:
            total -= 100
            if total == 7:
                total = 8
    else:
        total += 1
    if (
        total == 1
        and values
    ):
        return [each for each in values if each]
    if total < 0:
        total = 0


def last(flag):
    if flag:
        print("never")


def nested(rows):
    for row in rows:
        for cell in row:
            if cell:
                return cell
            elif cell is None:
                pass
    return None
"""
CALLS = (
    "kinds(1), kinds('a'), kinds([1]), walk([1, 2], 5), walk([9], 5), nested([[0, 3]])",
    "kinds(1.5), walk([], 5), last(False), nested([[None], []])",
    "kinds(''), walk([None, 'a', 107], 999)",
    "kinds(()), walk([205], 999), last(True)",
)
PROBED = """
import sys
from pathlib import Path
from probed_coverage import Probes
folder = Path(sys.argv[1])
probes = Probes(folder)
sys.path.insert(0, str(folder))
import sample
from sample import *
eval(sys.argv[2])
probes.write(folder / "written.json")
"""
TRACED = """
import sys
from coverage import Coverage
folder = sys.argv[1]
options = {"branch": True, "source": [folder], "config_file": False}
measuring = Coverage(data_file=folder + "/traced", **options)
sys.path.insert(0, folder)
with measuring.collect():
    import sample
    from sample import *
    eval(sys.argv[2])
measuring.save()
"""


def branches_of(data: Path, sample: Path) -> tuple[set[int], set[tuple[int, int]]]:
    """The statements and the branches that were not run, as coverage.py reports them."""
    report = Coverage(data_file=str(data), branch=True, config_file=False)
    report.load()
    analysis = report._analyze(str(sample))  # no public name has the branches
    missing = analysis.missing_branch_arcs().items()
    return set(analysis.missing), {(line, to) for line, ways in missing for to in ways}


def measured(place: Path, calls: str) -> Path:
    """Run the sample with probes and with a trace function, each in a process of its own."""
    sample = place / "sample.py"
    sample.write_text(SAMPLE)
    for script in (PROBED, TRACED):
        subprocess.run(
            [sys.executable, "-c", script, str(place), calls],
            check=True,
            env={"PYTHONPATH": str(ROOT / "shipping"), "PYTHONDONTWRITEBYTECODE": "1"},
        )
    return sample


def test_what_is_loaded_before_its_probes_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text("READ = 1\n")
    early = PROBED.replace(
        "probes = Probes", "sys.path.insert(0, str(folder))\nimport sample\nprobes = Probes", 1
    )
    done = subprocess.run(
        [sys.executable, "-c", early, str(tmp_path), "READ"],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "shipping")},
    )
    assert done.returncode != 0
    assert "These were loaded before their probes: sample." in done.stderr


def test_tests_whose_folder_loads_tacit_are_measured(tmp_path: Path) -> None:
    folder = ROOT / "tests/console"  # its conftest.py imports a server
    place = tmp_path / "written"
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", folder],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"TACIT_PROBED": str(place)},
    )
    files = json.loads(Path(f"{place}.None.json").read_text())
    assert "src/tacit/core/release.py" in {
        str(Path(each).relative_to(ROOT)) if Path(each).is_absolute() else each
        for each in files
    }


@pytest.mark.parametrize("calls", CALLS)
def test_probes_report_what_a_trace_function_reports(calls: str, tmp_path: Path) -> None:
    sample = measured(tmp_path, calls)
    convert([tmp_path / "written.json"], CoverageData(str(tmp_path / "probed")), tmp_path)
    traced = branches_of(tmp_path / "traced", sample)
    assert traced[1]
    assert branches_of(tmp_path / "probed", sample) == traced


def test_branches_that_are_not_translated_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie takes SlipCover's branches for coverage.py's."""
    sample = measured(tmp_path, CALLS[0])
    monkeypatch.setattr(Branches, "translated", lambda _, passed, __: set(passed))
    convert([tmp_path / "written.json"], CoverageData(str(tmp_path / "probed")), tmp_path)
    assert branches_of(tmp_path / "probed", sample) != branches_of(tmp_path / "traced", sample)
