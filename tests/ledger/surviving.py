"""What must hold after a crash: the answers that left, against the ledger that is found."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

from asking import ask, run
from conftest import given_seconds
from crashing import LEASE_MS, PEOPLE, Case, Received

from tacit.errors import AnswerLost, AnswerPending, LedgerBroken
from tacit.ledger.book import Book
from tacit.ledger.budget import find_budget
from tacit.ledger.chain import head_of, walk
from tacit.ledger.charge import Charge, ChargeRequest
from tacit.ledger.entries import Charged
from tacit.ledger.ledger import Ledger
from tacit.ledger.reserve import stored_body
from tacit.store.connect import open_store
from tacit.store.store import SqlStore


@dataclass
class Figures:
    """What was seen over all crashes so far."""

    crashes: int = 0
    answers: int = 0
    uncharged: int = 0
    changed: int = 0
    redrawn: int = 0
    broken: int = 0
    lost: int = 0
    slowest_restart: float = 0.0
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path) -> Self:
        """The figures of the run before, where there was one."""
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        """Keep the figures: the old ones or the new ones are there, never half of them."""
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)) + "\n")
        new.replace(path)


class Survey:
    """Looks at a store after each crash, and reads of its chain what is new.

    ``ledger`` is what asks again; the lies put another one here.
    """

    def __init__(
        self, address: str, figures: Figures, ledger: Callable[[SqlStore], Ledger] = Ledger
    ) -> None:
        self._address = address
        self._figures = figures
        self._ledger = ledger
        self._book = Book(PEOPLE.name)
        self._receipts: dict[bytes, bytes] = {}
        """The receipt of each charge, by its request."""
        self._probes = 0

    def look(self, case: Case, received: list[Received]) -> None:
        """Start again, and compare what left with what is recorded."""
        began = given_seconds()
        with closing(open_store(self._address)) as store:
            self._probes += 1
            probe = ask(f"probe {case.run} {self._probes}", of=PEOPLE)
            Ledger(store).reserve(probe, lease_ms=LEASE_MS)
            restart = given_seconds() - began
            figures = self._figures
            figures.slowest_restart = max(figures.slowest_restart, restart)
            figures.crashes += 1
            figures.answers += len(received)
            try:
                self._read(store)
                self._compare(store, case, received)
                ledger = self._ledger(store)
                # the last that was sent, the one that was on its way, and the one after it
                for number in range(max(0, len(received) - 1), len(received) + 2):
                    self._ask_again(ledger, case.question(number))
                self._read(store)
            except LedgerBroken:
                figures.broken += 1
                raise

    def _read(self, store: SqlStore) -> None:
        """Read on in the chain; what it adds up to is what the store shows."""
        book = self._book
        with store.reading() as work:
            for entry in walk(work, book.population, book.seq):
                act = book.read(entry)
                if isinstance(act, Charged):
                    request = bytes.fromhex(act.request)
                    if request in self._receipts:
                        raise book.entry_error("a request was charged twice")
                    self._receipts[request] = entry.hash
            shown = find_budget(work, book.population).spent
            if shown != book.spent or head_of(work, book.population) != (book.seq, book.head):
                raise book.entry_error("the sum that the store shows is not that of the chain")

    def _compare(self, store: SqlStore, case: Case, received: list[Received]) -> None:
        with store.reading() as work:
            for sent in received:
                question = case.question(sent.number)
                receipt = self._receipts.get(question.request_key)
                body = stored_body(work, question.release_key)
                self._figures.uncharged += receipt is None
                told = self._book.kept.get(question.release_key)
                same = body == sent.answer.body and told == sha256(sent.answer.body).digest()
                self._figures.changed += receipt is not None and not (
                    same and sent.answer.receipt == receipt
                )

    def _ask_again(self, ledger: Ledger, question: ChargeRequest) -> None:
        """The same request: the same bytes, or nothing; never a second draw."""
        paid = question.request_key in self._receipts
        told = self._book.kept.get(question.release_key)
        try:
            found = self._reserve(ledger, question)
        except AnswerLost:
            self._figures.lost += 1
            # what is stored is not lost
            self._figures.changed += told is not None
            return
        if isinstance(found, Charge):
            self._figures.redrawn += paid
            found = ledger.keep(found, run(found))
        elif told is not None:
            self._figures.changed += sha256(found.body).digest() != told

    def _reserve(self, ledger: Ledger, question: ChargeRequest) -> object:
        while True:
            try:
                return ledger.reserve(question, lease_ms=LEASE_MS)
            except AnswerPending as pending:
                time.sleep(max(0, pending.until - time.time_ns() // 1_000_000 + 1) / 1000)
