"""Starts writers on a disk that fails, and judges what they leave behind."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fault import PLANS, Case, Report, Step
from judging import complaints

from tacit.ledger.charge import StoredRelease
from tacit.store.connect import open_store

HERE = Path(__file__).parent
ASKED = [plan for plans in PLANS for plan in plans]

Writer = Callable[..., tuple[Case, Report]]
"""What fails, as `Case` says it, to the case and what came of it."""


def nothing() -> None:
    """What is done after a store was made and before it is used, unless something is."""


@contextmanager
def failing_writer(place: Path) -> Iterator[Writer]:
    """A process that forks a writer for each case; see `faulty`."""
    numbers, spare = count(), place / "spare"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(_compiled(place / "faults.so")),
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)]),
    }
    with subprocess.Popen(
        [sys.executable, HERE / "faulty.py", spare],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout

        def write(
            folder: Path | None = None, prepare: Callable[[], None] = nothing, **how: Any
        ) -> tuple[Case, Report]:
            case = Case(str(folder or place / str(next(numbers))), **how)
            if case.used:
                shutil.copytree(spare, case.folder)
            prepare()
            print(json.dumps(asdict(case)), file=process.stdin, flush=True)
            return case, Report.of(process.stdout.readline())

        write(used=False)  # once this is answered, the spare is there to be copied
        yield write
        process.stdin.close()


def _compiled(made: Path) -> Path:
    """The library that makes a process's disk fail."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("there is no C compiler (cc), and the tests of faults need one")
    command = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", made, HERE / "faults.c"], check=True)
    return made


def refused(step: Step) -> bool:
    return step.outcome in {"StoreFailed", "ConnectionLost"}


def seen(report: Report, *, grouped: bool = False) -> list[str]:
    """What the writer should not have seen: faults passed over, and answers after one.

    A fault within a group may be that of another member, or of a unit of work that was rolled
    back and written again.
    """
    wrong = []
    for step, before in zip(report.steps, [None, *report.steps], strict=False):
        failed = before and before.store == step.store and before.outcome != "done"
        if step.outcome == "done" and (step.hits or failed) and not grouped:
            wrong.append(f"{step.name} was done on a disk that failed")
        if step.outcome != "done" and not refused(step):
            wrong.append(f"{step.name} was refused with {step.outcome}")
    return wrong


def judge(case: Case, report: Report) -> list[str]:
    """All that is wrong with what was received and with the store that is left."""
    received = {
        step.name: StoredRelease(bytes.fromhex(step.body), bytes.fromhex(step.receipt))
        for step in report.steps
        if step.body
    }
    with closing(open_store(case.address)) as store:
        return seen(report, grouped=case.grouped) + complaints(store, received, ASKED)


@dataclass
class Sweep:
    """How many calls failed, one at a time, and what was wrong after which."""

    points: int = 0
    wrong: dict[int, list[str]] = field(default_factory=dict)


def sweep(write: Writer, **how: Any) -> Sweep:
    """Let the first call fail, then the second, and so on until none is left to fail."""
    swept = Sweep()
    for at in count(1):
        case, report = write(at=at, **how)
        if not report.hits:
            return swept
        swept.points = at
        if wrong := judge(case, report):
            swept.wrong[at] = wrong
        shutil.rmtree(case.folder)
    raise AssertionError
