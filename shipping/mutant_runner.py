"""Run tests against mutants, each in a process forked from one that has the libraries loaded.

Importing pytest, numpy, SQLAlchemy and the other libraries takes longer than most unit tests.
They are loaded once, and `tacit` is not: each child imports it with its own change. Both kinds
of tools that exist (one process for each mutant; all mutants in one rewritten copy) are slower
or change less of the code; ``docs/adr`` says why in the record of this tool.
"""

import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mutant_import import install, prepare

ROOT = Path(__file__).parents[1]

LIBRARIES = (
    *("pytest", "numpy", "sqlglot", "sqlglot.optimizer", "sqlalchemy", "duckdb", "alembic"),
    *(
        "hypothesis",
        "cryptography",
        "click",
        "rich",
        "tomlkit",
        "scipy.stats",
        "_pytest.doctest",
    ),
)

WAITS = 6
"""How much longer than its seconds of processors a child may take, where cores are shared."""

SURVIVED, CAUGHT, TIMEOUT, UNTESTED = "survived", "caught", "timeout", "untested"


@dataclass(frozen=True, slots=True)
class Job:
    """A change, and the tests to run against it: batches of test names, or whole files."""

    name: str
    change: dict[str, object] | None
    batches: tuple[tuple[str, ...], ...]
    seconds: float
    """The time that these tests take without a change."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a job: its outcome, the first test that failed, and its cost."""

    outcome: str
    by: str
    seconds: float
    """Seconds of processors, which other work on the machine does not change."""


class _Chosen:
    """A plugin of pytest that keeps the chosen tests, in their order, and notes a failure."""

    def __init__(self, tests: tuple[str, ...], note: Path) -> None:
        self._order = {test: place for place, test in enumerate(tests)}
        self._whole = not any("::" in test for test in tests)
        self._note = note

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out all tests but the chosen ones; where files are chosen, keep all."""
        if self._whole:
            return
        last = len(self._order)
        left = [item for item in items if item.nodeid not in self._order]
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order.get(item.nodeid, last))
        config.hook.pytest_deselected(items=left)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down the first test that fails."""
        if report.failed and not self._note.exists():
            self._note.write_text(report.nodeid)


def load_libraries() -> None:
    """Import what all children need, but nothing of `tacit`."""
    for name in LIBRARIES:
        importlib.import_module(name)  # noqa: TID251 - a list of names
    loaded = [name for name in sys.modules if name.partition(".")[0] == "tacit"]
    if loaded:
        message = f"{loaded[0]} was imported before its change could be applied."
        raise RuntimeError(message)


def _child(job: Job, tests: tuple[str, ...], folder: Path, keywords: str) -> int:
    """Run tests with the change in this process; return pytest's exit code."""
    os.setsid()  # so that a timeout ends all that the tests start
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(ROOT)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    if job.change is not None:
        install(prepare(folder, job.change))
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    options = ["-x", "-q", "--no-header", "--tb=short", "--hypothesis-seed=0", "-k", keywords]
    options += ["-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder / 'tmp'}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are loaded already
    return int(pytest.main([*options, *files], plugins=[_Chosen(tests, folder / "failed")]))


def _run_batch(
    job: Job, tests: tuple[str, ...], folder: Path, keywords: str, limit: float
) -> Verdict:
    """Fork a child for one batch, with a limit on its seconds of processors."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            code = _child(job, tests, folder, keywords)
        except BaseException:  # noqa: BLE001 - nothing above this frame may run twice
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code, cost = _wait(child, WAITS * limit)
    note = folder / "failed"
    if code in {None, -signal.SIGXCPU}:
        outcome = TIMEOUT
    elif code == pytest.ExitCode.OK:
        outcome = SURVIVED
    elif code == pytest.ExitCode.NO_TESTS_COLLECTED:
        outcome = UNTESTED
    else:
        outcome = CAUGHT
    failed = note.read_text() if note.exists() else f"pytest ended with code {code}"
    return Verdict(outcome, failed if outcome == CAUGHT else "", cost)


def _wait(child: int, limit: float) -> tuple[int | None, float]:
    """Wait for a child, and return its exit code and its seconds of processors.

    Where the limit of seconds is passed, the child and its own children are killed, and None
    stands for the exit code.
    """
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        time.sleep(0.02)
    for kill in (os.killpg, os.kill):  # the group, or a child that has not made one yet
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue
    _, _, used = os.wait4(child, 0)
    return None, used.ru_utime + used.ru_stime


def run(job: Job, folder: Path, keywords: str, slack: float) -> Verdict:
    """Run the batches of a job until one of them fails; a timeout counts as a failure."""
    limit = 20 + slack * job.seconds
    cost, last = 0.0, Verdict(UNTESTED, "", 0.0)
    for tests in job.batches:
        last = _run_batch(job, tests, folder, keywords, limit)
        cost += last.seconds
        if last.outcome in {CAUGHT, TIMEOUT}:
            break
    return Verdict(last.outcome, last.by, cost)


def run_all(
    jobs: Iterable[Job], home: Path, keywords: str, workers: int, slack: float = 5
) -> Iterator[tuple[Job, Verdict]]:
    """Run jobs in ``workers`` processes, each of which forks a child for each batch."""
    load_libraries()
    waiting = list(jobs)
    if workers == 1:
        for job in waiting:
            yield job, run(job, home / "run-0", keywords, slack)
        return
    yield from _share(
        waiting, workers, lambda job, at: run(job, home / f"run-{at}", keywords, slack)
    )


def _share(
    jobs: list[Job], workers: int, work: Callable[[Job, int], Verdict]
) -> Iterator[tuple[Job, Verdict]]:
    """Share jobs between forked workers, every n-th to each, and yield verdicts at once."""
    read, write = os.pipe()
    children = []
    for at in range(workers):
        child = os.fork()
        if child == 0:
            os.close(read)
            for place in range(at, len(jobs), workers):
                done = work(jobs[place], at)
                # a line shorter than PIPE_BUF is written as a whole
                line = json.dumps([place, done.outcome, done.by[:1000], done.seconds])
                os.write(write, f"{line}\n".encode())
            os._exit(0)
        children.append(child)
    os.close(write)
    with os.fdopen(read) as lines:
        for line in lines:
            place, outcome, by, seconds = json.loads(line)
            yield jobs[place], Verdict(outcome, by, seconds)
    for child in children:
        os.waitpid(child, 0)
