"""Writers that die: how each of them is killed follows from the number of its case alone."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from random import Random

import asking
from asking import Point, answer, ask, population

from tacit.errors import StoreFailed
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.numeric.entropy import fresh_bytes
from tacit.store.connect import open_store

LEASE_MS = 30
"""Short, so that nobody waits long for a writer that is dead."""

POINTS = tuple(
    f"{when} {step}"
    for step in ("reserve", "run", "keep", "answer")
    for when in ("before", "after")
)
LONGEST = 0.06
"""Seconds that a writer works where it is killed at a random moment."""

OPENED = b"opened"
PATIENCE = 60
PEOPLE = population("crashes")

Send = Callable[[StoredRelease], None]
Walk = Callable[[Ledger, ChargeRequest, Point, Send], None]
"""How a writer goes from a question to an answer that it sends."""


@dataclass(frozen=True)
class Case:
    """One crash. ``run`` makes its keys new where a case is done again."""

    number: int
    run: str

    @property
    def point(self) -> str | None:
        """Where the writer kills itself; every second one is killed from outside."""
        return POINTS[self.number // 2 % len(POINTS)] if self.number % 2 else None

    @property
    def at_question(self) -> int:
        """At which of its questions the writer kills itself."""
        return Random(self.number).randrange(4)  # noqa: S311 - a test that can be repeated

    @property
    def delay(self) -> float:
        """After how many seconds of work the writer is killed from outside."""
        return Random(self.number).uniform(0, LONGEST)  # noqa: S311

    @property
    def stopped(self) -> bool:
        """Whether it is stopped before it is killed."""
        return self.number % 8 == 0

    @property
    def early(self) -> bool:
        """Whether the seconds count from its start, so that it may not have begun to work."""
        return self.number % 8 == 4

    def question(self, number: int) -> ChargeRequest:
        return ask(f"{self.run} {self.number} {number}", of=PEOPLE)


@dataclass(frozen=True)
class Received:
    """An answer that left, and so is known to somebody, whatever the ledger says."""

    number: int
    answer: StoredRelease


def charge_then_release(
    ledger: Ledger, question: ChargeRequest, reach: Point, send: Send
) -> None:
    """The path that Tacit takes."""
    found = answer(ledger, question, reach)
    reach("before answer")
    send(found)
    reach("after answer")


def release_then_charge(
    ledger: Ledger, question: ChargeRequest, reach: Point, send: Send
) -> None:
    """The lie: the answer leaves, and is paid for a moment later."""
    reach("before run")
    body = fresh_bytes(48)
    reach("after run")
    reach("before answer")
    send(StoredRelease(body, b""))
    reach("after answer")
    reach("before reserve")
    paid = ledger.reserve(question, lease_ms=LEASE_MS)
    reach("after reserve")
    if isinstance(paid, Charge):
        reach("before keep")
        ledger.keep(paid, body)
        reach("after keep")


def write(address: str, case: Case, walk: Walk, pipe: Connection) -> None:
    """Ask question after question, and send each answer, until killed."""
    asking.LEASE_MS = LEASE_MS
    with closing(open_store(address)) as store:
        ledger = Ledger(store)
        pipe.send_bytes(OPENED)
        for number in count():

            def reach(point: str, number: int = number) -> None:
                if (point, number) == (case.point, case.at_question):
                    os.kill(os.getpid(), signal.SIGKILL)

            def send(found: StoredRelease, number: int = number) -> None:
                # one write of less than a page arrives whole, or not at all
                pipe.send_bytes(f"{number} {found.body.hex()} {found.receipt.hex()}".encode())

            try:
                walk(ledger, case.question(number), reach, send)
            except StoreFailed:
                return


@contextmanager
def writer(address: str, case: Case, walk: Walk) -> Iterator[tuple[BaseProcess, Connection]]:
    """A writer at work, forked from a process that has all code loaded and no store open."""
    context = get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=write, args=(address, case, walk, theirs))
    process.start()
    theirs.close()
    try:
        yield process, mine
    finally:
        process.kill()
        process.join()
        process.close()
        mine.close()


def killed(address: str, case: Case, walk: Walk = charge_then_release) -> list[Received]:
    """What a writer sent before it was killed."""
    with writer(address, case, walk) as (process, pipe):
        if case.point is None and process.pid is not None:
            if not case.early:
                pipe.poll(PATIENCE)
            time.sleep(case.delay)
            if case.stopped:
                os.kill(process.pid, signal.SIGSTOP)
                time.sleep(LONGEST / 50)
            process.kill()
        process.join(PATIENCE)
        if process.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"{case} did not die as it should: {process.exitcode}")
        return drained(pipe)


def drained(pipe: Connection) -> list[Received]:
    """All that a dead writer has sent."""
    received = []
    while True:
        try:
            line = pipe.recv_bytes()
        except EOFError:
            return received
        if line != OPENED:
            number, body, receipt = line.decode().split(" ")
            sent = StoredRelease(bytes.fromhex(body), bytes.fromhex(receipt))
            received.append(Received(int(number), sent))
