"""A crowd of processes that all ask the ledger at one moment, round after round."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Protocol, Self

from asking import answer
from sqlalchemy import create_engine

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken, TacitError
from tacit.ledger.charge import ChargeRequest
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store
from tacit.store.store import SqlStore

SIZE = 64
PATIENCE = 120
"""Seconds after which a crowd that hangs is given up."""

Opening = Callable[[SqlStore], Ledger]
"""How a ledger is made on a store: the real one, or the lie."""


class Gate(Protocol):
    """Opens when all of the crowd stand before it."""

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True)
class Outcome:
    """What one of the crowd was told: an answer, or an error by its name and text."""

    error: str
    text: str
    body: bytes
    receipt: bytes


class Crowd:
    """Processes that are started once; each opens the store by itself.

    They are forked, so whoever starts a crowd has no store open: a connection that two
    processes share belongs to neither.
    """

    def __init__(self, address: str) -> None:
        create_engine("postgresql+psycopg://").dispose()  # loads the driver once, not 64 times
        context = get_context("fork")
        gate = context.Barrier(SIZE)
        self._pipes = []
        self._processes = []
        for _ in range(SIZE):
            mine, theirs = context.Pipe()
            process = context.Process(target=_member, args=(address, gate, theirs))
            process.start()
            theirs.close()
            self._pipes.append(mine)
            self._processes.append(process)
        self.opened = self._gather()

    def race(
        self, questions: Sequence[ChargeRequest], ledger: Opening = Ledger
    ) -> list[Outcome]:
        """What each of the crowd is told when all ask at once, each their own question."""
        for pipe, question in zip(self._pipes, questions, strict=True):
            pipe.send((ledger, question))
        return self._gather()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            process.kill()
            process.join()
            process.close()
            pipe.close()

    def _gather(self) -> list[Outcome]:
        outcomes = []
        for pipe in self._pipes:
            if not pipe.poll(PATIENCE):
                raise TimeoutError
            outcomes.append(pipe.recv())
        return outcomes


def _member(address: str, gate: Gate, pipe: Connection) -> None:
    """One of the crowd: opens the store with all others, then asks whatever it is given."""
    starter = os.getppid()
    gate.wait(PATIENCE)
    try:
        store = open_store(address)
    except TacitError as error:
        pipe.send(_told(error))
        return
    with closing(store):
        pipe.send(Outcome("", "", b"", b""))
        while os.getppid() == starter:
            if not pipe.poll(1):
                continue
            ledger, question = pipe.recv()
            mine = ledger(store)
            gate.wait(PATIENCE)
            try:
                found = answer(mine, question)
            except TacitError as error:
                pipe.send(_told(error))
            else:
                pipe.send(Outcome("", "", found.body, found.receipt))


def _told(error: TacitError) -> Outcome:
    return Outcome(type(error).__name__, str(error), b"", b"")


def faults(
    ledger: Ledger, population: str, outcomes: Sequence[Outcome], *, fit: int, cost: Loss
) -> list[str]:
    """What is wrong with a round in which exactly ``fit`` questions of ``cost`` fit."""
    found = []
    refused = [outcome for outcome in outcomes if outcome.error]
    granted = len({outcome.receipt for outcome in outcomes if not outcome.error})
    if granted != fit or len(refused) != len(outcomes) - fit:
        found.append(f"{granted} were granted and {len(refused)} refused; {fit} fit")
    if {outcome.error for outcome in refused} - {"BudgetExceeded"}:
        found.append(f"refused by {sorted({outcome.error for outcome in refused})}")
    if len({outcome.text for outcome in refused}) > 1:
        found.append("refusals differ from each other")
    if ledger.status(population).spent != cost * fit:
        found.append("what is spent is not what was granted")
    try:
        ledger.verify(population)
    except LedgerBroken as error:
        found.append(str(error))
    return found
