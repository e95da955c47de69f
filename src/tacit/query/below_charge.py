"""The one path below a charge, for questions, fits, shares of a holdout and steps of a stream.

A charge is durable; now the data is touched. Whatever goes wrong from here on is seen by
whoever asked, and may depend on one person's row. So a failure is treated as a release:

* One attempt ends in bytes, in `Broken`, or in `EngineUnreachable`. Nothing else comes out: the
  words of an engine may hold a value of a row.
* An attempt that breaks before the first draw of noise is made once more, in a new worker where
  there are workers. Nothing random had happened, so the law of what leaves is the same. The
  retry stands in the chain, and every third one stops the population's charges.
* After a draw nothing is run again: to run until an attempt succeeds is to choose among draws,
  and a choice among draws has another law than one draw.
* A second failure, or one after a draw, is written into the chain of each population, and stops
  all charges about these people until an owner has looked.
* An engine that cannot be reached is an outage, and no failure: no statement was sent, so no
  row can have caused it. The charge waits, and whoever asks the same again takes it up.

What makes an outage differ from a failure: engines raise `EngineUnreachable` only where no
connection could be had *before* a statement was sent, or where the server says that its
operator ends the connection, that a table is locked by somebody else, or, after a statement
that failed before its first row, that a table is gone. A connection that is lost while a
statement runs counts as a failure, even if the server is down afterwards: one row that crashes
the server must not look like an outage.
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
"""The stages of a piece of paid work, as the operator's log names them."""

WORKER, TIME = "worker", "time"
"""Two more: a child process ended by itself, or was ended at its limit in seconds."""

OUTAGE_SECONDS = 5.0
"""How long an attempt waits for an engine that cannot be reached, before any noise is drawn."""

DRAWN_SECONDS = 600.0
"""The same after a draw, when the charge cannot be taken up again by another attempt."""

STORE_SECONDS = 60.0
"""How long an answer is held for a store that does not answer."""

PAUSE = 0.25
"""Seconds between two attempts to reach an engine or a store."""

UNCHARGED = "The engine cannot be reached. Nothing was charged; ask again."


class Broken(InternalError):
    """One attempt failed: at which stage, and whether noise had been drawn; never why."""

    def __init__(self, stage: str, *, drawn: bool) -> None:
        super().__init__("The question failed below the line. It stays charged.")
        self.stage = stage
        self.drawn = drawn


class Progress:
    """How far one attempt has come: its stage, and whether a draw of noise has begun.

    ``drawing`` is called before the first draw begins, and ``waiting`` whenever the engine
    cannot be reached: a child process tells its parent so, before it can die.
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
        """A gateway that marks its draws here, whether a mechanism or a sampler makes them."""
        return LiveGateway(MarkedEntropy(entropy, self.draw), self.draw)

    def gateway_for(self, receipt: bytes) -> Gateway:
        """The same with fresh noise for the charge of ``receipt``."""
        return self.gateway(SystemEntropy(receipt))


class MarkedEntropy:
    """Entropy that says so before its first word is taken.

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
        """The width of a word."""
        return self._entropy.word_bits

    def words(self, count: int) -> Words:
        """``count`` words of the stream, marked first."""
        self._draw()
        return self._entropy.words(count)


PaidWork = Callable[[Engine, Progress], bytes]
"""Work that was paid for: asks the engine, draws by its progress, and gives what may leave."""

Attempt = Callable[[Charge], bytes]
"""One attempt at the work of a charge, here or in a worker."""


def attempt(work: PaidWork, engine: Engine, progress: Progress) -> bytes:
    """Run ``work`` once; what goes wrong is `Broken` or `EngineUnreachable`, and no cause."""
    kind = PatientRows if isinstance(engine, RowEngine) else Patient
    unreached = False
    try:
        return work(kind(engine, progress), progress)
    except EngineUnreachable:
        unreached = not progress.drawn
    except BaseException:  # noqa: BLE001, S110 - its words may hold a value of a row
        pass
    if unreached:
        raise EngineUnreachable(UNREACHED)
    raise Broken(progress.stage, drawn=progress.drawn)


def when_reached(
    ask: Callable[[], Found], limit: float, waiting: Callable[[], None] = lambda: None
) -> Found:
    """What ``ask`` finds, tried until the engine is reached, for ``limit`` seconds at most.

    ``waiting`` is called after each try in vain.
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


class Patient:
    """An engine that is waited for, where it cannot be reached: then no row was read."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        self._progress = progress

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        return self._reached(lambda: self._engine.run(plan, catalog, salt))

    def _reached(self, ask: Callable[[], Found]) -> Found:
        progress = self._progress
        progress.stage = ENGINE
        limit = DRAWN_SECONDS if progress.drawn else OUTAGE_SECONDS
        return when_reached(ask, limit, progress.waiting)


class PatientRows(Patient):
    """The same over an engine that can hand on rows."""

    _engine: Engine

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """The secret rows that ``plan`` keeps."""
        engine = self._engine
        if not isinstance(engine, RowEngine):
            raise InternalError("This engine has no rows to hand on.")
        return self._reached(lambda: engine.rows(plan, catalog, salt))


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the operator and the owners are told: which charge, at which stage, and no more."""

    what: str
    populations: tuple[str, ...]
    receipt: bytes
    stage: str


RETRIED, FAILED, LATE, UNREACHABLE = "retried", "failed", "late", "unreachable"
"""What can be told of a charge."""

Tell = Callable[[Trouble], None]

Keep = Callable[[Charge, bytes], StoredRelease]
"""Stores what an attempt at a charge gave."""


class Withdrawn(InvalidValue):
    """Raised by a `Keep`, for a public reason: nothing is stored, and nothing has failed."""


def nobody(trouble: Trouble) -> None:
    """Tell nobody of ``trouble``."""


class Deadline(Protocol):
    """A public time at which all that was paid for ends, whatever the engine did."""

    def wait(self) -> None:
        """Wait for it."""
        ...


def run_below(  # noqa: PLR0913 - a charge, its work, and who is told
    ledger: Ledger,
    charge: Charge,
    once: Attempt,
    *,
    tell: Tell = nobody,
    deadline: Deadline | None = None,
    keep: Keep | None = None,
) -> StoredRelease:
    """The stored answer to ``charge``: at most two attempts, and never a second draw.

    ``keep`` stores what an attempt gave, where the ledger alone does not do: a share of a
    holdout is decided in the unit of work that stores it. What fails there is not run again.

    Where there is a ``deadline``, nothing is written or told before it, so that neither the
    ledger nor the log shows how long the engine took; an attempt that reached its limit in
    seconds is then late.

    What happened is recorded before anybody is told, and whether or not they can be.

    Guarantee: when this returns, the answer is durable. When it raises `EngineUnreachable`, no
    noise was drawn, and the charge waits. When it raises anything else but `AnswerLost`, the
    populations of the charge are locked until an owner has looked.
    """
    retried: list[Broken] = []

    def told(what: str, stage: str) -> None:
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
            again = not (found.drawn or charge.retried or _over(found, deadline))
            if again and (deadline is not None or _written(partial(ledger.retry, charge))):
                retried.append(found)
                charge = charge.run_again()
                continue
        except Exception:  # noqa: BLE001 - of what carries the work: nobody knows how far it was
            broken = Broken(WORKER, drawn=True)
        break
    if deadline is not None:
        deadline.wait()
        if retried:
            _written(lambda: ledger.retry(charge))
    for each in retried:
        told(RETRIED, each.stage)
    if ended == UNREACHABLE:
        _written(lambda: ledger.park(charge))
        told(UNREACHABLE, ENGINE)
        raise EngineUnreachable(UNREACHED)
    if ended == FAILED and deadline is not None and broken.stage == TIME:
        _written(lambda: ledger.miss(charge))
        told(LATE, TIME)
        raise Broken(TIME, drawn=broken.drawn)
    if not ended:
        kept = _keep(keep or ledger.keep, charge, body)
        if kept is not None:
            return kept
        broken = Broken(STORE, drawn=True)
    found_after_all = _record_failure(ledger, charge)
    told(FAILED, broken.stage)
    if found_after_all is not None:
        return found_after_all
    raise Broken(broken.stage, drawn=broken.drawn)


def _tell(tell: Tell, trouble: Trouble) -> None:
    """Tell of ``trouble``, which is recorded already, where anybody can be told.

    A log that cannot be written, such as a pipe whose reader has gone, must not keep a failure
    from being recorded, nor an answer from whoever paid for it.
    """
    try:
        tell(trouble)
    except Exception:  # noqa: BLE001 - there is nobody else to tell
        return


def _over(broken: Broken, deadline: Deadline | None) -> bool:
    """Whether the time for attempts is over."""
    return deadline is not None and broken.stage == TIME


def _written(write: Callable[[], None]) -> bool:
    """Whether ``write`` could write to the store, which is waited for."""
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
    """The answer, stored; None where the store could not, though it was waited for.

    The same bytes are offered again: nothing is drawn. `AnswerLost` says that another charge
    took the place of this answer, which must be forgotten.
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
    """Write the failure into the chains; the answer, where it was stored after all.

    A store that does not answer charges nobody meanwhile, and is told as soon as it does.
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
