"""Worker processes that run paid work, and their temporary folders.

A `Worker` is a child process with few rights and with an engine of its own. The parent sends it
a request, and receives the encoded release. No secret crosses the border between the processes:
the child prices the plan again from public facts, asks the engine, draws the noise, and sends
only what may be released. All failures of a child have one and the same message.

The child reports over the pipe that it is about to draw noise, *before* the first draw. The
parent therefore knows whether noise was drawn even if the child dies right after, and never
runs such work again (`tacit.query.below_charge`). The child also reports when it waits for an
engine that it cannot reach, so that waiting is not mistaken for a slow engine.

`tacit.query.worker_pool` lends each worker to one question at a time.
"""

import fcntl
import gc
import json
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from threading import RLock, Thread
from typing import Any

from tacit.core import Catalog, Loss, Measure, ReleaseDates
from tacit.engines import Engine
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.ledger import UNREACHED as TOLD_UNREACHED
from tacit.plan import decode_plan
from tacit.query.below_charge import (
    TIME,
    UNCHARGED,
    WORKER,
    Broken,
    PaidWork,
    Progress,
    attempt,
)
from tacit.query.paid_work import QuoteWork
from tacit.query.pricing import LastPrice, price
from tacit.query.quote import FitQuote, Quote, time_in
from tacit.query.rehearsal import most_numbers, rehearse
from tacit.query.worker_sandbox import Confinement, confine, start_fork_server

# Temporary folders ---------------------------------------------------------------------------
#
# An engine writes rows to its folder when its memory is full, so the folder must not outlive
# it.

PREFIX, NEW = "tacit-below-", ".tacit-new-"
LOCK = "held"


class Scratch:
    """A new temporary folder of one process, locked by a file lock that a crash releases.

    Guarantee: the folder is removed by `close`. If the process that made it has died as well,
    the next `Scratch` on this machine removes it.
    """

    def __init__(self) -> None:
        sweep()
        made = Path(mkdtemp(prefix=NEW))
        self._lock = (made / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # only now the folder has a name that `sweep` looks for, and it is locked already
        self.path = made.rename(made.with_name(PREFIX + made.name.removeprefix(NEW)))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> None:
    """Remove the folders of processes that have died."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), (left / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


# Workers -------------------------------------------------------------------------------------

StartEngine = Callable[[str], Engine]
"""A function that opens an engine at an address, in the child. It is pickled by name."""

Reads = Callable[[dict[str, Any], Catalog], PaidWork]
"""A function that a worker calls to turn a request into paid work; it is pickled by name."""

READY, PING = b"ready", b"ping"
ANSWERED, FAILED, UNREACHED = b"+", b"-", b"?"
"""First byte of a reply: the release follows, the stage of a failure follows, or the engine
could not be reached before any noise was drawn."""
REHEARSED, REFUSED = b"=", b"#"
"""First byte of the reply to a rehearsal: the engine can run the question, or a public reason
why it cannot follows."""
DRAWING, WAITING = b"!", b"~"
"""Messages of a child at work: it is about to draw noise; it waits for the engine."""

REHEARSE = "rehearse"
"""Key of a request that is not paid yet, and for which no row is read."""

TOO_LARGE = (
    "A worker cannot prepare this question within its limits, for any rows; ask for fewer "
    "groups or columns, or fit fewer features. Nothing was charged."
)

TOO_SLOW = (
    "A worker did not prepare this question within {:g} seconds. Nothing was charged. Ask "
    "again; if this continues, ask for fewer groups or columns, or tell the operator that the "
    "time limit of the server is too short."
)

NICENESS = 5
"""How far a worker stands back behind the server, whose event loop needs little and at once."""


START_SECONDS = 60
PING_SECONDS = 5
ROOM = 2**26
"""Memory in bytes that must be left when a child has opened its engine; else it ends."""

_born = get_context("forkserver")
"""The context from which children are forked: a process that has our code loaded and nothing
else. Children start quickly, without threads, secrets or connections of the parent."""
_born.set_forkserver_preload(["tacit.query.worker"])


@dataclass(frozen=True, slots=True)
class Allowed:
    """The limits of a child process. They are public and the same for every table."""

    memory_bytes: int
    seconds: float
    within: Confinement = field(default_factory=Confinement)

    @property
    def most_numbers(self) -> int:
        """The most numbers of an answer that a child can compute within these limits."""
        return most_numbers(self.memory_bytes, self.seconds)


class Worker:
    """A child process with an engine of its own, which is started again if it has died."""

    def __init__(
        self,
        start: StartEngine,
        address: str,
        catalog: Catalog,
        allowed: Allowed,
        *,
        reads: Reads | None = None,
    ) -> None:
        self.allowed = allowed
        self._given = (start, address, catalog, allowed, reads or read_question)
        self._child: tuple[BaseProcess, Connection] | None = None
        self._scratch: Scratch | None = None
        self._ended = False
        self._lock = RLock()

    def start(self) -> bool:
        """Start the child if there is none; return whether there is one now."""
        with self._lock:
            with suppress(OSError, EOFError):
                self._running()
                return True
            self.close()
        return False

    def ready(self) -> bool:
        """Return whether the child responds; replace one that has died or hangs.

        This is called before anything is charged, so that a child that died while it was idle
        does not cost an analyst a charge.
        """
        with self._lock:
            if self._child is not None and not self._answers_ping():
                self.close()
            return self.start()

    @property
    def started(self) -> bool:
        """Whether there is a child; it may have died since it was last used."""
        return self._child is not None

    def is_alive(self) -> bool:
        """Return whether the child's process exists; it is not asked whether it responds."""
        with self._lock:
            return self._child is not None and self._child[0].is_alive()

    def run(  # noqa: PLR0913 - the quote, its charge and its dates
        self,
        quote: Quote | FitQuote,
        salt: bytes,
        receipt: bytes,
        noted: Sequence[str] = (),
        *,
        dates: ReleaseDates | None = None,
        ends: float | None = None,
        drawing: Callable[[], None] = lambda: None,
    ) -> bytes:
        """Return the encoded release that the charge of ``receipt`` paid for; make one attempt.

        Args:
            quote: The quote of the charged question or fit.
            salt: The salt of the row-order hash.
            receipt: The receipt of the charge.
            noted: Sentences about earlier answers, which the guarantee of the release adds.
            dates: The dates of the charge and of the tables' epochs, for the release.
            ends: The time of the monotonic clock at which the attempt ends. Without it, the
                attempt ends after the allowed seconds, and the time in which the engine could
                not be reached does not count.
            drawing: The function that is called when the child is about to draw noise: the
                engine's result has arrived.

        Raises:
            Broken: The attempt failed, because of a row, a limit or a bug. The error says
                whether noise was drawn. The child has been killed.
            EngineUnreachable: No noise was drawn. The child has been killed.
        """
        request = quote.asked | {
            "salt": salt.hex(),
            "receipt": receipt.hex(),
            "noted": list(noted),
            "dates": None if dates is None else dates.to_dict(),
        }
        asked = json.dumps(request).encode()
        with self._lock:
            try:
                return self._run(asked, ends, drawing)
            except (Broken, EngineUnreachable):
                self.discard()
                raise

    def rehearse(self, quote: Quote | FitQuote, salt: bytes) -> None:
        """Refuse a quote that the child cannot run for any rows; no row is read.

        Nothing is charged. A child that dies during the rehearsal could not have answered the
        question either. One that takes longer than the allowed seconds is ended too: then
        `EngineUnreachable` is raised, because other work on the machine can be the reason.
        """
        none = {"salt": salt.hex(), "receipt": "", "noted": [], REHEARSE: True}
        asked = json.dumps(quote.asked | none).encode()
        with self._lock:
            said, slow = b"", False
            with suppress(OSError, EOFError):
                _, pipe = self._running()
                pipe.send_bytes(asked)
                slow = not pipe.poll(self.allowed.seconds)
                said = b"" if slow else pipe.recv_bytes()
            if slow:
                self.discard()
                raise EngineUnreachable(TOO_SLOW.format(self.allowed.seconds))
            if said == UNREACHED:
                raise EngineUnreachable(UNCHARGED)
            if said.startswith(REFUSED):
                raise InvalidValue(said.removeprefix(REFUSED).decode())
            if said != REHEARSED:
                self.close()
                raise InvalidValue(TOO_LARGE)

    def close(self, *, for_good: bool = False) -> None:
        """End the child process and remove its folder.

        The next question starts another child, unless the worker is closed ``for_good``.
        """
        with self._lock:
            self._ended |= for_good
            self._kill()()

    def discard(self) -> None:
        """Kill the child process, and remove what is left of it in the background.

        How long a process takes to end, and its folder to be removed, depends on how much
        memory and how many rows they hold. The caller does not wait for that.
        """
        with self._lock:
            Thread(target=self._kill(), daemon=True).start()

    def _kill(self) -> Callable[[], None]:
        """Kill the child, and return the function that removes what is left of it."""
        child, scratch = self._child, self._scratch
        self._child = self._scratch = None
        if child is not None:
            child[0].kill()

        def clean() -> None:
            if child is not None:
                process, pipe = child
                process.join()
                pipe.close()
            if scratch is not None:
                scratch.close()

        return clean

    def _answers_ping(self) -> bool:
        """Return whether the child is alive and responds to a ping."""
        if self._child is None:
            return False
        process, pipe = self._child
        with suppress(OSError, EOFError):
            if process.is_alive() and not pipe.poll(0):
                pipe.send_bytes(PING)
                return pipe.poll(PING_SECONDS) and pipe.recv_bytes() == PING
        return False

    def _run(self, asked: bytes, ends: float | None, drawing: Callable[[], None]) -> bytes:
        """Send a request, and read the messages of the child until its reply."""
        drawn = waiting = False
        limit = time.monotonic() + self.allowed.seconds if ends is None else ends
        try:
            _, pipe = self._running(limit)
            pipe.send_bytes(asked)
            heard = time.monotonic()
            while pipe.poll(max(0.0, limit - time.monotonic())):
                said = pipe.recv_bytes()
                if waiting and ends is None:
                    limit += time.monotonic() - heard
                heard, waiting = time.monotonic(), said == WAITING
                if said == DRAWING:
                    drawing()
                    drawn = True
                if said.startswith(ANSWERED):
                    return said.removeprefix(ANSWERED)
                if said.startswith(FAILED):
                    raise Broken(said.removeprefix(FAILED).decode(), drawn=drawn)
                if said == UNREACHED:
                    raise EngineUnreachable(TOLD_UNREACHED)
        except TimeoutError:  # the limit passed while a child started
            raise Broken(TIME, drawn=False) from None
        except (OSError, EOFError):
            pass
        else:
            if waiting and not drawn:
                raise EngineUnreachable(TOLD_UNREACHED)
            raise Broken(TIME, drawn=drawn)
        raise Broken(WORKER, drawn=drawn)

    def _running(self, limit: float = inf) -> tuple[BaseProcess, Connection]:
        """Return the child; start one, and wait for it until ``limit``, if there is none."""
        if self._ended:
            raise EOFError
        if self._child is None:
            start_fork_server()
            self._scratch = Scratch()
            ours, theirs = _born.Pipe()
            process = _born.Process(
                target=serve, args=(theirs, str(self._scratch.path), *self._given), daemon=True
            )
            process.start()
            theirs.close()
            self._child = process, ours
            seconds = max(0.0, min(START_SECONDS, limit - time.monotonic()))
            if not ours.poll(seconds):
                raise TimeoutError if time.monotonic() >= limit else EOFError
            if ours.recv_bytes() != READY:
                raise EOFError
        return self._child


def serve(  # noqa: PLR0913, PLR0917 - everything that a child process receives
    pipe: Connection,
    scratch: str,
    start: StartEngine,
    address: str,
    catalog: Catalog,
    allowed: Allowed,
    reads: Reads,
) -> None:
    """Answer one request after the other in the child process, until the pipe is closed."""
    confine(allowed.within)
    os.chdir(scratch)  # DuckDB writes here when its memory is full
    tempfile.tempdir = scratch  # fits write their rows here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (allowed.memory_bytes, allowed.memory_bytes))
    try:
        engine = start(address)
        bytearray(ROOM)
        gc.freeze()  # loaded modules stay: scanning them in a collection would delay answers
    except Exception:  # noqa: BLE001 - the parent sees that the pipe is closed
        return
    with suppress(EOFError, OSError):  # the parent has ended, or was killed
        pipe.send_bytes(READY)
        while True:
            asked = pipe.recv_bytes()
            pipe.send_bytes(
                PING
                if asked == PING
                else _reply(asked, pipe, engine, catalog, reads, allowed.most_numbers)
            )


def _reply(  # noqa: PLR0913, PLR0917 - everything that a child process has
    asked: bytes, pipe: Connection, engine: Engine, catalog: Catalog, reads: Reads, most: int
) -> bytes:
    """Make an attempt at the request ``asked``, and return the reply."""
    if REHEARSE in json.loads(asked):
        return _reply_to_rehearsal(asked, engine, catalog, reads, most)
    progress = Progress(
        drawing=lambda: pipe.send_bytes(DRAWING), waiting=lambda: pipe.send_bytes(WAITING)
    )

    def work(engine: Engine, progress: Progress) -> bytes:
        return reads(json.loads(asked), catalog)(engine, progress)

    try:
        return ANSWERED + attempt(work, engine, progress)
    except EngineUnreachable:
        return UNREACHED
    except Broken as broken:
        return FAILED + broken.stage.encode()


def _reply_to_rehearsal(
    asked: bytes, engine: Engine, catalog: Catalog, reads: Reads, most: int
) -> bytes:
    """Check that the engine can run the request ``asked``, without rows; return the reply."""
    try:
        work = reads(json.loads(asked), catalog)
        if isinstance(work, QuoteWork):
            rehearse(work.quote, engine, catalog, work.salt, most)
    except EngineUnreachable:
        return UNREACHED
    except InvalidValue as refused:
        return REFUSED + str(refused).encode()
    except Exception:  # noqa: BLE001 - for example, the child has too little memory for a plan
        return REFUSED + TOO_LARGE.encode()
    return REHEARSED


def read_question(request: dict[str, Any], catalog: Catalog) -> QuoteWork:
    """Return the work of a paid question, which is priced again from public facts.

    The child prices it when it is rehearsed, and not a second time when it is run.
    """
    measure, amount, delta = request["loss"]

    def compute() -> Quote:
        loss = Loss(Measure(measure), Fraction(amount), Fraction(delta))
        return price(decode_plan(request["plan"]), catalog, loss, time_in(request))

    text = json.dumps([request["plan"], request["loss"], request.get("time")])
    return work_of(request, _last.price(text, catalog, compute), catalog)


_last = LastPrice()
"""The quote of the question that this child rehearsed or ran last."""


def work_of(request: dict[str, Any], quote: Quote | FitQuote, catalog: Catalog) -> QuoteWork:
    """Return the work of a quote, for the charge that the request names."""
    salt, receipt = bytes.fromhex(request["salt"]), bytes.fromhex(request["receipt"])
    told = request.get("dates")
    dates = None if told is None else ReleaseDates.from_dict(told)
    return QuoteWork(quote, catalog, salt, receipt, request["noted"], dates)
