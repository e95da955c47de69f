"""Leases: which process computes the answer to a charge, and how others learn that it ended.

A process that has charged a question has a lease on the answer, until a time that is stored
with it. Others who ask the same question wait for the answer while the lease lasts. A process
that computes for long extends its lease again and again, so that a lease can be short: if the
process is killed, others learn it after a few seconds.

A lease can also run out because the store did not respond for a while, or because a process was
stopped for a moment, although the answer will still come. Such a lease is *silent*: it ran out,
and nobody ended it. A process that waits should look again for longer than the pause between
two extensions before it concludes that the other process is dead. A lease that its own process
ended is over at once.

No privacy guarantee depends on a lease: a charge is never charged again, an answer is stored
once, and a process whose lease was taken over discards its answer (`tacit.ledger.reserve`).
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Condition, Thread
from typing import Protocol

from sqlalchemy import bindparam, select, update

from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.request_keys import check_binding, find_key
from tacit.ledger.reserve import PARKED
from tacit.numeric.entropy import forks
from tacit.store import Store
from tacit.store.tables import answers

LEASE_MS = 2_500
"""How long a lease lasts that is extended while its process computes."""

EXTENSION_SECONDS = 0.5
"""Seconds between two extensions of a lease."""

SILENCE_SECONDS = 1.5
"""How long a lease must be silent before its process counts as dead."""

ENDED = 0
"""Value of ``until`` for a lease that its own process ended without an answer."""

_STATE = select(answers.c.receipt, answers.c.until, answers.c.body).where(
    answers.c.release == bindparam("key")
)
_EXTEND = (
    update(answers)
    .where(
        answers.c.release == bindparam("key"),
        answers.c.receipt == bindparam("paid"),
        answers.c.body.is_(None),
        answers.c.until > ENDED,  # neither ended nor parked
    )
    .values(until=bindparam("to"))
)


class LeaseState(Enum):
    """The state of a question that has no stored answer."""

    NONE = "nobody was charged for it"
    ENDED = "its own process ended the lease, and there is no answer"
    HELD = "a process computes the answer"
    SILENT = "the lease ran out, and nobody ended it"
    PARKED = "its charge waits for an engine that could not be reached"


def lease_state(store: Store, question: ChargeRequest, now: int) -> StoredRelease | LeaseState:
    """Return the stored answer to ``question``, or the state of its lease.

    Raise `KeyReused` if its idempotency key belongs to another question. A key that was derived
    from the question itself belongs to no other, and is not looked up.
    """
    with store.looking() as work:
        if question.request != question.release_key.hex():
            check_binding(find_key(work, question), question)
        row = work.one(_STATE, {"key": question.release_key})
    if row is None:
        return LeaseState.NONE
    receipt, until, body = row
    if body is not None:
        return StoredRelease(body, receipt)
    if until == PARKED:
        return LeaseState.PARKED
    if until == ENDED:
        return LeaseState.ENDED
    return LeaseState.HELD if now < until else LeaseState.SILENT


def is_charged(store: Store, question: ChargeRequest) -> bool:
    """Return whether this request was charged before. If it has no answer, that is lost."""
    with store.looking() as work:
        row = find_key(work, question)
    return row is not None and row.binding == question.binding


def extend_leases(store: Store, charges: Iterable[Charge], until: int) -> None:
    """Extend the leases of ``charges`` until a time, if they still have them.

    Guarantee: a lease that another charge has taken over, that was ended or parked, or whose
    answer is stored, is not changed.
    """
    with store.writing() as work:
        for charge in charges:
            work.run(_EXTEND, {"key": charge.release_key, "paid": charge.receipt, "to": until})


class ExtendsLeases(Protocol):
    """The part of a ledger that the keeper of leases uses."""

    def extend_leases(self, charges: Iterable[Charge], lease_ms: int) -> None:
        """Extend the leases of ``charges`` by ``lease_ms`` from now."""
        ...


class LeaseKeeper:
    """A thread that extends the leases of all charges that this process computes.

    The thread starts with the first charge, and sleeps while there is none. If the store does
    not respond, the next extension tries again.
    """

    def __init__(self, pause: float = EXTENSION_SECONDS, lease_ms: int = LEASE_MS) -> None:
        self._pause = pause
        self._lease_ms = lease_ms
        self._start()

    def _start(self) -> None:
        self._held: dict[bytes, tuple[float, ExtendsLeases, Charge]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._home = forks.count  # last: who sees it uses the new table

    @contextmanager
    def hold(self, ledger: ExtendsLeases, charge: Charge) -> Iterator[None]:
        """Extend the lease of ``charge`` for the time of the block."""
        if self._home != forks.count:
            # a forked child has not the thread of its parent, and computes none of its charges
            with forks.lock():
                if self._home != forks.count:
                    self._start()
        mine = time.monotonic(), ledger, charge
        with self._changed:
            self._held[charge.receipt] = mine
            if self._thread is None:
                self._thread = Thread(target=self._keep, name="tacit leases", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                # a charge that was parked may have been resumed by another thread meanwhile
                if self._held.get(charge.receipt) is mine:
                    del self._held[charge.receipt]

    def _keep(self) -> None:
        while True:
            time.sleep(self._pause)
            with self._changed:
                self._changed.wait_for(lambda: self._held)
                held = list(self._held.values())
            before = time.monotonic() - self._pause
            # a quick question ends before its lease needs an extension
            slow = [(ledger, charge) for since, ledger, charge in held if since <= before]
            for ledger in {id(ledger): ledger for ledger, _ in slow}.values():
                mine = [charge for other, charge in slow if other is ledger]
                try:
                    ledger.extend_leases(mine, self._lease_ms)
                except Exception:  # noqa: BLE001, S112 - the leases of others are extended still
                    continue  # most often, the store does not respond; the next time it may
