"""The one path on which data is read after a charge.

Questions, fits, answers of a holdout and steps of a stream all take it. When the charge is
durable, the data is read. From here on, the analyst sees every failure, and a failure may
depend on one person's row. A failure is therefore treated as a release:

* An attempt ends in bytes, in `Broken`, or in `EngineUnreachable`. No other error leaves: the
  message of an engine may contain a value of a row.
* An attempt that fails before the first draw of noise is repeated once, in a new worker process
  if there are workers. Nothing random has happened by then, so that the distribution of the
  output is unchanged. The retry is recorded in the ledger, and every third retry stops the
  population's charges.
* After a draw, nothing is run again: repeating until an attempt succeeds would select among
  draws, and a selected draw has another distribution than a single one.
* A second failure, or a failure after a draw, is recorded in the chain of each population. It
  stops all charges of these populations until an owner has reviewed it.
* An engine that cannot be reached is an outage and not a failure: no statement was sent, so
  that no row can have caused it. The charge waits, and the same question asked again resumes
  it.

The border between an outage and a failure: engines raise `EngineUnreachable` only if there was
no connection *before* a statement was sent, or if the server says that its operator closes the
connection, that a table is locked by another client, or, after a statement that failed before
its first row, that a table is gone. A connection that is lost while a statement runs is a
failure, even if the server is down afterwards: a row that crashes the server must not look like
an outage.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Protocol, TypeVar

from tacit.core import Catalog, Secret
from tacit.engines import Engine, RowEngine, SecretTable, UnitRows
from tacit.errors import AnswerLost, EngineUnreachable, InternalError, InvalidValue, StoreFailed
from tacit.ledger import UNREACHED, Charge, Ledger, StoredRelease
from tacit.mechanisms import Gateway, LiveGateway
from tacit.numeric.entropy import Entropy, SystemEntropy, Words
from tacit.plan import BoundedPlan

Found = TypeVar("Found")

ENGINE, NOISE, ENCODE, STORE = "engine", "noise", "encode", "store"
"""The stages of paid work, with their names in the operator's log."""

WORKER, TIME = "worker", "time"
"""Two more stages: a worker process ended by itself, or was killed at its time limit."""

OUTAGE_SECONDS = 5.0
"""Time for which an attempt waits for an engine that cannot be reached, before the first draw
of noise."""

DRAWN_SECONDS = 600.0
"""Time for which an attempt waits for an engine after a draw, when it cannot be repeated."""

STORE_SECONDS = 60.0
"""Time for which an answer is kept in memory while the store does not respond."""

PAUSE = 0.25
"""Seconds between two attempts to reach an engine or a store."""

UNCHARGED = "The engine cannot be reached. Nothing was charged; ask again."


class Broken(InternalError):
    """The failure of one attempt: its stage, and whether noise was drawn, but not its cause."""

    def __init__(self, stage: str, *, drawn: bool) -> None:
        super().__init__("The question failed after it was charged. It stays charged.")
        self.stage = stage
        self.drawn = drawn


class Progress:
    """The progress of one attempt: its stage, and whether a draw of noise has begun.

    ``drawing`` is called before the first draw begins, and ``waiting`` whenever the engine
    cannot be reached. A worker process uses them to inform its parent before it can die.
    """

    def __init__(
        self,
        drawing: Callable[[], None] = lambda: None,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self.stage = ENGINE
        self.drawn = False
        self.waiting = waiting
        self._drawing = drawing

    def draw(self) -> None:
        """Mark that a draw begins."""
        self.stage = NOISE
        if not self.drawn:
            self.drawn = True
            self._drawing()

    def gateway(self, entropy: Entropy) -> Gateway:
        """Return a gateway that reports to this object before each draw of noise."""
        return LiveGateway(MarkedEntropy(entropy, self.draw), self.draw)

    def gateway_for(self, receipt: bytes) -> Gateway:
        """Return a gateway with fresh noise for the charge of ``receipt``."""
        return self.gateway(SystemEntropy(receipt))


class MarkedEntropy:
    """A source of entropy that calls ``draw`` before words are taken from it.

    Example:
        >>> progress = Progress()
        >>> stream = MarkedEntropy(SystemEntropy(b"a charge"), progress.draw)
        >>> progress.drawn, len(stream.words(2)), progress.drawn
        (False, 2, True)
    """

    __slots__ = ("_draw", "_entropy")

    def __init__(self, entropy: Entropy, draw: Callable[[], None]) -> None:
        self._entropy = entropy
        self._draw = draw

    @property
    def word_bits(self) -> int:
        """The number of bits of a word."""
        return self._entropy.word_bits

    def words(self, count: int) -> Words:
        """Return ``count`` words of the stream, after reporting the draw."""
        self._draw()
        return self._entropy.words(count)


PaidWork = Callable[[Engine, Progress], bytes]
"""Paid work: it asks the engine, draws noise through its progress, and returns the release."""

Attempt = Callable[[Charge], bytes]
"""A function that makes one attempt at the work of a charge, here or in a worker process."""


def attempt(work: PaidWork, engine: Engine, progress: Progress) -> bytes:
    """Run ``work`` once; raise only `Broken` or `EngineUnreachable`, without their cause."""
    kind = RetryingRowEngine if isinstance(engine, RowEngine) else RetryingEngine
    unreached = False
    try:
        return work(kind(engine, progress), progress)
    except EngineUnreachable:
        unreached = not progress.drawn
    except BaseException:  # noqa: BLE001, S110 - its message may contain a value of a row
        pass
    if unreached:
        raise EngineUnreachable(UNREACHED)
    raise Broken(progress.stage, drawn=progress.drawn)


def when_reached(
    ask: Callable[[], Found], limit: float, waiting: Callable[[], None] = lambda: None
) -> Found:
    """Return the result of ``ask``; retry it for ``limit`` seconds until the engine is reached.

    ``waiting`` is called after each try without success.
    """
    began = time.monotonic()
    while True:
        try:
            return ask()
        except EngineUnreachable:
            if time.monotonic() - began >= limit:
                raise
        waiting()
        time.sleep(PAUSE)


class RetryingEngine:
    """An engine whose calls are retried while it cannot be reached; no row was read then."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        self._progress = progress

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer to ``plan``."""
        return self._retry(lambda: self._engine.run(plan, catalog, salt))

    def _retry(self, ask: Callable[[], Found]) -> Found:
        progress = self._progress
        progress.stage = ENGINE
        limit = DRAWN_SECONDS if progress.drawn else OUTAGE_SECONDS
        return when_reached(ask, limit, progress.waiting)


class RetryingRowEngine(RetryingEngine):
    """A `RetryingEngine` that can return rows too."""

    _engine: Engine

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows that ``plan`` keeps."""
        engine = self._engine
        if not isinstance(engine, RowEngine):
            raise InternalError("This engine does not support reading rows.")
        return self._retry(lambda: engine.rows(plan, catalog, salt))


@dataclass(frozen=True, slots=True)
class Trouble:
    """A report to the operator and the owners: the charge and the stage, and nothing else."""

    what: str
    populations: tuple[str, ...]
    receipt: bytes
    stage: str


RETRIED, FAILED, LATE, UNREACHABLE = "retried", "failed", "late", "unreachable"
OVERDUE = "overdue"
"""The kinds of `Trouble`."""

Tell = Callable[[Trouble], None]

Keep = Callable[[Charge, bytes], StoredRelease]
"""A function that stores the bytes that an attempt at a charge returned."""


class Withdrawn(InvalidValue):
    """The error of a `Keep` that does not store an answer for a public reason."""


def nobody(trouble: Trouble) -> None:
    """Ignore the report ``trouble``: the default where no operator is notified."""


class Deadline(Protocol):
    """The time at which an answer leaves: a public time, or one that was paid for."""

    @property
    def is_overdue(self) -> bool:
        """Whether the answer missed a limit by a time that was paid for."""
        ...

    def wait(self) -> None:
        """Wait until the answer or the failure leaves."""
        ...


def run_below(  # noqa: PLR0913 - a charge, its work, and whom to inform
    ledger: Ledger,
    charge: Charge,
    once: Attempt,
    *,
    tell: Tell = nobody,
    deadline: Deadline | None = None,
    keep: Keep | None = None,
) -> StoredRelease:
    """Return the stored answer to ``charge``, after at most two attempts and one draw.

    Args:
        ledger: The ledger that has the charge.
        charge: The durable charge.
        once: The function that makes one attempt.
        tell: The function to which trouble is reported. Trouble is recorded in the ledger
            before it is reported, and also if the report fails.
        deadline: If it is set, nothing is written or reported before it, so that neither the
            ledger nor the log shows how long the engine took. An attempt that reached its time
            limit is then late. If its time was paid for, a late answer is lost, and not an
            incident: whether it is late depends on nothing but that time.
        keep: The function that stores the answer, if the ledger alone is not enough: an answer
            of a holdout is decided in the unit of work that stores it. A failure there is not
            run again.

    Guarantee: when this returns, the answer is durable. When it raises `EngineUnreachable`, no
    noise was drawn, and the charge waits. When it raises anything else but `AnswerLost`, the
    populations of the charge are locked until an owner has reviewed the failure.
    """
    retried: list[Broken] = []

    def report(what: str, stage: str) -> None:
        names = tuple(entry.population for entry in charge.entries)
        _tell(tell, Trouble(what, names, charge.receipt, stage))

    body, broken = b"", Broken(ENGINE, drawn=False)
    ended = FAILED
    for _ in range(2):
        try:
            body, ended = once(charge), ""
        except EngineUnreachable:
            ended = UNREACHABLE
        except Broken as found:
            broken = found
            again = not (found.drawn or charge.retried or _is_over(found, deadline))
            if again and (deadline is not None or _write(partial(ledger.retry, charge))):
                retried.append(found)
                charge = charge.run_again()
                continue
        except Exception:  # noqa: BLE001 - outside the work itself: its progress is unknown
            broken = Broken(WORKER, drawn=True)
        break
    if deadline is not None:
        deadline.wait()
        if retried:
            _write(lambda: ledger.retry(charge))
    overdue = deadline is not None and deadline.is_overdue
    for each in retried:
        report(RETRIED, each.stage)
    if ended == UNREACHABLE:
        _write(lambda: ledger.park(charge))
        report(UNREACHABLE, ENGINE)
        raise EngineUnreachable(UNREACHED)
    if overdue and (not ended or broken.stage == TIME):
        _write(lambda: ledger.abandon(charge))
        report(OVERDUE, TIME)
        raise AnswerLost
    if ended == FAILED and deadline is not None and broken.stage == TIME:
        _write(lambda: ledger.miss(charge))
        report(LATE, TIME)
        raise Broken(TIME, drawn=broken.drawn)
    if not ended:
        stored = _keep(keep or ledger.keep, charge, body)
        if stored is not None:
            return stored
        broken = Broken(STORE, drawn=True)
    found_after_all = _record_failure(ledger, charge)
    report(FAILED, broken.stage)
    if found_after_all is not None:
        return found_after_all
    raise Broken(broken.stage, drawn=broken.drawn)


def _tell(tell: Tell, trouble: Trouble) -> None:
    """Report ``trouble``, which is recorded already, and ignore a failure of the report.

    A log that cannot be written, such as a pipe without a reader, must not prevent that a
    failure is recorded, nor that an analyst receives a paid answer.
    """
    try:
        tell(trouble)
    except Exception:  # noqa: BLE001 - there is nowhere else to report it
        return


def _is_over(broken: Broken, deadline: Deadline | None) -> bool:
    """Return whether the time for attempts is over."""
    return deadline is not None and broken.stage == TIME


def _write(write: Callable[[], None]) -> bool:
    """Call ``write``, retried while the store does not respond; return whether it succeeded."""
    ends = time.monotonic() + STORE_SECONDS
    while True:
        try:
            write()
        except StoreFailed:
            if time.monotonic() >= ends:
                return False
        else:
            return True
        time.sleep(PAUSE)


def _keep(keep: Keep, charge: Charge, body: bytes) -> StoredRelease | None:
    """Store the answer and return it; return None if the store does not respond in time.

    A retry stores the same bytes, without another draw. `AnswerLost` says that another charge
    has replaced this one, so that this answer must be discarded.
    """
    ends = time.monotonic() + STORE_SECONDS
    while True:
        try:
            return keep(charge, body)
        except (AnswerLost, Withdrawn):
            raise
        except StoreFailed:
            if time.monotonic() >= ends:
                return None
        except Exception:  # noqa: BLE001 - a failure at its last stage
            return None
        time.sleep(PAUSE)


def _record_failure(ledger: Ledger, charge: Charge) -> StoredRelease | None:
    """Record the failure in the chains; return the answer if it was stored after all.

    While the store does not respond, it cannot record charges either. The failure is then
    recorded by a thread, as soon as the store responds.
    """
    try:
        return ledger.fail(charge)
    except StoreFailed:
        Thread(target=_record_later, args=(ledger, charge), daemon=True).start()
        return None


def _record_later(ledger: Ledger, charge: Charge) -> None:
    while True:
        time.sleep(PAUSE)
        try:
            ledger.fail(charge)
        except StoreFailed:
            continue
        return
