"""A writer whose disk fails where it is told, and what it received before and after.

Run as a program under `faults.c`, it reads cases, a line of JSON each, and forks a child for
each: Python starts once, and a case costs milliseconds.
"""

import ctypes
import gc
import json
import os
import resource
import sqlite3
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeVar

from asking import LEASE_MS, answer, ask, open_pure, run
from fault import NOTHING_YET, PLANS, Case, Report, Step
from lying import LEDGERS, start_lying

from tacit.errors import TacitError
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.committer import Waiting, Written
from tacit.ledger.group_write import AnswerWriting, ChargeWriting, Member
from tacit.ledger.ledger import Ledger
from tacit.numeric.entropy import fresh_bytes
from tacit.store.connect import open_store

T = TypeVar("T")

KINDS = {"writes": 1, "syncs": 2, "reads": 3, "folders": 4}
"""As in `faults.c`."""


class Disk:
    """The shim's symbols in this process."""

    def __init__(self) -> None:
        self._shim = ctypes.CDLL(None)

    def _int(self, name: str) -> ctypes.c_int:
        return ctypes.c_int.in_dll(self._shim, name)

    def _long(self, name: str) -> ctypes.c_long:
        return ctypes.c_long.in_dll(self._shim, name)

    def fail(self, case: Case) -> None:
        (ctypes.c_char * 4096).in_dll(self._shim, "fault_place").value = case.folder.encode()
        self._int("fault_error").value = case.error
        self._int("fault_sticky").value = case.sticky
        self._int("fault_torn").value = case.torn
        self._long("fault_at").value = case.at
        self._int("fault_kind").value = KINDS[case.kind]
        if case.limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.limit, resource.RLIM_INFINITY))

    @property
    def calls(self) -> int:
        return self._long("fault_calls").value

    @property
    def hits(self) -> int:
        return self._long("fault_hits").value


class Walk:
    """Opens a store, asks, closes it and opens it again, whatever fails."""

    def __init__(self, case: Case, disk: Disk) -> None:
        self._case = case
        self._disk = disk
        self.report = Report()

    def go(self) -> Report:
        all_plans = PLANS if self._case.used else NOTHING_YET
        for number, plans in enumerate(all_plans[:1] if self._case.dies else all_plans):
            self._through(number, plans)
        self.report.calls, self.report.hits = self._disk.calls, self._disk.hits
        return self.report

    def _through(self, number: int, plans: tuple[str, ...]) -> None:
        store = self._attempt(Step("open", number), lambda _: open_store(self._case.address))
        if store is None:
            return
        if self._case.dies:
            _stand_by(self._case.file)
        ledger = LEDGERS.get(self._case.lie, Ledger)(store)
        if number == 0 and not self._case.used:
            self._attempt(Step("budget", number), lambda _: open_pure(ledger))
        if self._case.grouped:
            self._ask_together(ledger, number, plans)
            plans = ()
        for plan in plans:
            self._attempt(Step(plan, number), lambda step: self._ask(ledger, step))
        if not self._case.dies:
            store.close()

    def _attempt(self, step: Step, act: Callable[[Step], T]) -> T | None:
        self.report.steps.append(step)
        before = self._disk.hits
        try:
            return act(step)
        except TacitError as error:
            step.outcome = type(error).__name__
        except Exception:  # noqa: BLE001 - the judge accepts none, and shows it
            step.outcome = traceback.format_exc()
        finally:
            step.hits = self._disk.hits - before
        return None

    def _ask(self, ledger: Ledger, step: Step) -> None:
        def reach(point: str) -> None:
            step.calls[point] = self._disk.calls

        got = answer(ledger, ask(step.name), reach)
        step.body, step.receipt = got.body.hex(), got.receipt.hex()

    def _ask_together(self, ledger: Ledger, number: int, plans: tuple[str, ...]) -> None:
        """Ask all ``plans`` as threads would that wait at the same time."""
        steps = [Step(plan, number) for plan in plans]
        self.report.steps += steps
        now = ledger._clock()
        charging = {
            step.name: ChargeWriting(ask(step.name), fresh_bytes(16), now, now + LEASE_MS)
            for step in steps
        }
        charged = self._write_together(ledger, steps, charging)
        paid = {name: each for name, each in charged.items() if isinstance(each, Charge)}
        keeping = {name: AnswerWriting(each, run(each), now) for name, each in paid.items()}
        kept = self._write_together(
            ledger, [each for each in steps if each.name in paid], keeping
        )
        for step in steps:
            got = kept.get(step.name, charged.get(step.name))
            if isinstance(got, StoredRelease):
                step.body, step.receipt = got.body.hex(), got.receipt.hex()

    def _write_together(
        self, ledger: Ledger, steps: list[Step], members: Mapping[str, Member]
    ) -> dict[str, Written]:
        """Write ``members`` in one group, and each alone that the group hands back."""
        committer, before = ledger._committer, self._disk.hits
        waiting = {name: Waiting(member) for name, member in members.items()}
        committer._write_all(list(waiting.values()))
        found: dict[str, Written] = {}
        for step in steps:
            mine = waiting[step.name]
            try:
                outcome = committer._alone(mine.member) if mine.by_itself else mine.outcome
            except TacitError as error:
                outcome = error
            if isinstance(outcome, BaseException):
                step.outcome = type(outcome).__name__
            elif outcome is not None:
                found[step.name] = outcome
            step.hits = self._disk.hits - before
        return found


bystanders: list[sqlite3.Connection] = []


def _stand_by(file: str) -> None:
    """A connection that nobody closes."""
    bystanders.append(sqlite3.connect(file))
    bystanders[-1].execute("SELECT count(*) FROM sqlite_master").fetchall()


def main(spare: str) -> None:
    """``spare`` becomes a used store, for tests to copy; all is imported and kept by then."""
    disk = Disk()
    Walk(Case(spare, used=False), disk).go()
    gc.freeze()
    for line in sys.stdin:
        case = Case(**json.loads(line))
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            start_lying(case.lie)
            disk.fail(case)
            report = Walk(case, disk).go()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            os.write(writing, _line(report))
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(child, 0)  # told only when its locks are gone with it
        died = _line(Report([Step("open", 0, f"it died: {status}")], calls=1, hits=1))
        with os.fdopen(reading, "rb") as told:
            os.write(1, died if status else told.read())


def _line(report: Report) -> bytes:
    return json.dumps(asdict(report)).encode() + b"\n"


if __name__ == "__main__":
    main(sys.argv[1])
