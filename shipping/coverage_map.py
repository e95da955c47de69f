"""Record which unit tests execute which lines, and how long each test takes.

The map is built folder by folder, each by one run of pytest under coverage with a context for
each test, and kept in ``.mutants/map``. A folder that was recorded for the same sources is not
run again, so that an interrupted build goes on where it stopped.

A line that runs in another process (a worker) is not seen. A line whose result is cached by the
process is seen in the first test that needs it; `CoverageMap.tests_of` therefore returns the
other tests of the same test files too, after those that are known to execute the line.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
LOG = "TACIT_MUTANTS_LOG"
SETTINGS = "[run]\nsource = tacit\nbranch = false\ndisable_warnings = no-data-collected\n"

# the plugin of the recorded run ---------------------------------------------------------------

_seconds: dict[str, float] = {}
_failed: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a test's phases, and note a test that did not pass."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the seconds of all tests that passed."""
    place = os.environ.get(LOG)
    if place:
        passed = {name: took for name, took in _seconds.items() if name not in _failed}
        Path(place).write_text(json.dumps({"seconds": passed, "failed": sorted(_failed)}))


# building -------------------------------------------------------------------------------------


def digest(files: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def source_digest() -> str:
    """Return a hash of all sources, and of what all tests share."""
    return digest([*(ROOT / "src" / "tacit").rglob("*.py"), ROOT / "conftest.py"])


def groups(places: list[str]) -> list[Path]:
    """Return what one run records each: folders, and test files that stand above them."""
    found: list[Path] = []
    for place in places:
        folder = ROOT / place
        if not folder.exists():
            message = f"{place} does not exist: name folders of tests below {ROOT}."
            raise SystemExit(message)
        inner = {path.parent for path in folder.rglob("test_*.py")} - {folder}
        if inner:
            found += sorted({folder / path.relative_to(folder).parts[0] for path in inner})
            found += sorted(folder.glob("test_*.py"))
        else:  # one folder, or one file
            found.append(folder)
    return found


def _files(group: Path) -> list[Path]:
    return [group] if group.is_file() else list(group.rglob("*.py"))


def record(places: list[str], keywords: str, home: Path) -> list[Path]:
    """Build what is missing of the map, and return the stem of each group's record."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings").write_text(SETTINGS)
    source, stems = source_digest(), []
    for group in groups(places):
        name = "-".join(group.relative_to(ROOT).with_suffix("").parts)
        stem = home / f"{name}.{source}.{digest(_files(group))}"
        stems.append(stem)
        if not stem.with_name(f"{stem.name}.json").exists():
            for old in home.glob(f"{name}.*"):
                old.unlink()
            print(f"recording {group.relative_to(ROOT)}", flush=True)
            _run(group, keywords, home, stem)
    return stems


def _run(group: Path, keywords: str, home: Path, stem: Path) -> None:
    options = ["-q", "-p", "coverage_map", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["--cov=tacit", f"--cov-config={home / 'settings'}", "--cov-context=test"]
    options += ["--cov-report=", "-k", keywords, str(group.relative_to(ROOT))]
    unfinished = home / "unfinished.json"
    environment = {
        **os.environ,
        "COVERAGE_FILE": f"{stem}.coverage",
        LOG: str(unfinished),
        "PYTHONPATH": str(Path(__file__).parent),
        "OPENBLAS_NUM_THREADS": "1",
    }
    log = home / f"{stem.name}.log"
    with log.open("w") as written:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            cwd=ROOT,
            env=environment,
            stdout=written,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode not in {0, 1, 5}:
        message = f"The tests of {group} could not be recorded: see {log}."
        raise SystemExit(message)
    unfinished.rename(stem.with_name(f"{stem.name}.json"))


# asking ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CoverageMap:
    """Which tests execute which lines, from the records of several groups."""

    stems: tuple[Path, ...]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """The seconds of each test that passed."""
        found: dict[str, float] = {}
        for stem in self.stems:
            text = stem.with_name(f"{stem.name}.json").read_text()
            found |= json.loads(text)["seconds"]
        return found

    @cached_property
    def _lines(self) -> dict[str, dict[int, set[str]]]:
        """For each source file and line, the tests that execute it, "" for an import."""
        found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for stem in self.stems:
            file = Path(f"{stem}.coverage")
            if not file.exists():
                continue
            data = CoverageData(str(file))
            data.read()
            for path in data.measured_files():
                for line, contexts in data.contexts_by_lineno(path).items():
                    found[path][line] |= {context.rpartition("|")[0] for context in contexts}
        return found

    def tests_of(self, path: Path, first: int, last: int, around: range) -> list[str]:
        """Return the tests that execute a statement, the quickest first.

        A statement that only runs on import (a constant, the default of a parameter) counts for
        all tests of the function around it, or of the whole file where it is in no function.

        Args:
            path: the source file.
            first: the first line of the statement.
            last: its last line.
            around: the lines of the function that the statement stands in, none at the top.
        """
        lines = self._lines.get(str(path), {})
        own = self._tests_in(lines, range(first, last + 1))
        known = own & set(self.seconds)
        if not known and own:  # on import alone
            known = self._tests_in(lines, around or range(1, 10**6)) & set(self.seconds)
        return self._with_siblings(known)

    @staticmethod
    def _tests_in(lines: dict[int, set[str]], span: range) -> set[str]:
        return {test for line, tests in lines.items() if line in span for test in tests}

    def _with_siblings(self, tests: set[str]) -> list[str]:
        files = {test.partition("::")[0] for test in tests}
        others = {test for test in self.seconds if test.partition("::")[0] in files} - tests
        quickest = self.seconds.__getitem__
        return [*sorted(tests, key=quickest), *sorted(others, key=quickest)]
