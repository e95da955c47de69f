"""A folder for what an engine writes when its memory is full: gone with whoever wrote there."""

import fcntl
import gc
import json
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from tempfile import gettempdir, mkdtemp
from threading import RLock, Thread
from typing import Any

from tacit.core import Catalog, Loss, Measure
from tacit.engines import Engine, Rehearsed
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.ledger import UNREACHED as TOLD_UNREACHED
from tacit.ledger import Charge
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
from tacit.query.pricing import price
from tacit.query.quote import FitQuote, Quote
from tacit.query.rehearsal import most_numbers, rehearse
from tacit.query.worker_sandbox import Confinement, confine, start_fork_server

PREFIX, NEW = "tacit-below-", ".tacit-new-"
LOCK = "held"


class Scratch:
    """A new folder for one process at a time, held by a lock that a crash lets go.

    Guarantee: what a process left behind is removed by `close`, or, where whoever made the
    folder died as well, by the next one on this machine.
    """

    def __init__(self) -> None:
        sweep()
        made = Path(mkdtemp(prefix=NEW))
        self._lock = (made / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # under this name others may find it, and find it held
        self.path = made.rename(made.with_name(PREFIX + made.name.removeprefix(NEW)))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> None:
    """Remove the folders of those who died."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), (left / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


# ------------------------------------------------------------------ worker
# Everything below the line in one child process: a paid question in, release bytes out.
#
# No secret crosses a process: the child prices the plan again from public facts, asks the
# engine, draws the noise, and sends back what may leave. What goes wrong there has one text.
#
# The child says over the pipe when it begins to draw noise, *before* the first draw: its
# parent knows whether noise was drawn even if the child dies the moment after, and what has
# drawn is never run again (`tacit.query.below_charge`). It says when it waits for an engine
# that it cannot reach, so that a wait is not mistaken for an engine that is slow.

StartEngine = Callable[[str], Engine]
"""Opens an engine at an address, in the child; found by its name there."""

Reads = Callable[[dict[str, Any], Catalog], PaidWork]
"""Makes the work of what a child was asked, from public facts; found by its name there."""

READY, PING = b"ready", b"ping"
ANSWERED, FAILED, UNREACHED = b"+", b"-", b"?"
"""How a reply begins: release bytes, a stage at which the work failed, or an engine that cannot
be reached, before any noise was drawn."""
REHEARSED, REFUSED = b"=", b"#"
"""How a rehearsal ends: the engine can run it, or a public text that says why not."""
DRAWING, WAITING = b"!", b"~"
"""What a child says while it works: noise is drawn from here on; the engine is waited for."""

REHEARSE = "rehearse"
"""What a request says that is not paid for yet, and reads no row."""

TOO_LARGE = (
    "A worker cannot make ready for this question within its limits, whatever the rows are; "
    "ask for fewer groups or columns, or fit fewer features. Nothing was charged."
)

START_SECONDS = 60
PING_SECONDS = 5
ROOM = 2**26
"""Bytes that a child must have left once its engine is open; without them it does not start."""

_born = get_context("forkserver")
"""Children are forked from a process that has our code loaded, and nothing else: quick to start
again, with no thread, no secret and no connection of whoever asks."""
_born.set_forkserver_preload(["tacit.query.worker"])


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a child process may use: public limits, the same for every table."""

    memory_bytes: int
    seconds: float
    within: Confinement = field(default_factory=Confinement)

    @property
    def most_numbers(self) -> int:
        """The numbers of an answer that a child makes within these limits."""
        return most_numbers(self.memory_bytes, self.seconds)


class Worker:
    """A child process with an engine of its own, started again where it died."""

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
        """Start the child, where there is none; whether there is one now."""
        with self._lock:
            with suppress(OSError, EOFError):
                self._running()
                return True
            self.close()
        return False

    def ready(self) -> bool:
        """Whether a child answers now; one that died or hangs is replaced by a new one.

        This is asked before anything is charged: a child that died while nobody asked takes
        nobody's charge.
        """
        with self._lock:
            if self._child is not None and not self._answers_ping():
                self.close()
            return self.start()

    @property
    def started(self) -> bool:
        """Whether there is a child, as far as is known."""
        return self._child is not None

    def run(
        self,
        quote: Quote | FitQuote,
        salt: bytes,
        receipt: bytes,
        noted: Sequence[str] = (),
        *,
        ends: float | None = None,
    ) -> bytes:
        """The bytes of the release that the charge of ``receipt`` paid for, by one attempt.

        Its guarantee adds what was ``noted`` of earlier answers about the same people. The
        attempt ends at the time ``ends`` of the monotonic clock; without one, after the seconds
        that are allowed, and then the time in which the engine could not be reached is not
        counted.

        `Broken` stands for all that can go wrong, a row, a limit or a bug, and says whether
        noise was drawn. After it, the child is gone.
        """
        request = quote.asked | {
            "salt": salt.hex(),
            "receipt": receipt.hex(),
            "noted": list(noted),
        }
        asked = json.dumps(request).encode()
        with self._lock:
            try:
                return self._run(asked, ends)
            except (Broken, EngineUnreachable):
                self.close()
                raise

    def rehearse(self, quote: Quote | FitQuote, salt: bytes) -> None:
        """Refuse a quote that the child cannot run, whatever the rows are: none is read.

        It is not paid for. A child that does not survive it, or takes longer than is allowed,
        would not have answered it either, and is gone afterwards.
        """
        none = {"salt": salt.hex(), "receipt": "", "noted": [], REHEARSE: True}
        asked = json.dumps(quote.asked | none).encode()
        with self._lock:
            said = b""
            with suppress(OSError, EOFError):
                _, pipe = self._running()
                pipe.send_bytes(asked)
                if pipe.poll(self.allowed.seconds):
                    said = pipe.recv_bytes()
            if said == UNREACHED:
                raise EngineUnreachable(UNCHARGED)
            if said.startswith(REFUSED):
                raise InvalidValue(said.removeprefix(REFUSED).decode())
            if said != REHEARSED:
                self.close()
                raise InvalidValue(TOO_LARGE)

    def close(self, *, for_good: bool = False) -> None:
        """End the child process; the next question starts another, unless it is for good.

        What the child left behind in its folder is gone with it.
        """
        with self._lock:
            self._ended |= for_good
            if self._child is not None:
                process, pipe = self._child
                self._child = None
                process.kill()
                process.join()
                pipe.close()
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None

    def _answers_ping(self) -> bool:
        """Whether the child is there and listens."""
        if self._child is None:
            return False
        process, pipe = self._child
        with suppress(OSError, EOFError):
            if process.is_alive() and not pipe.poll(0):
                pipe.send_bytes(PING)
                return pipe.poll(PING_SECONDS) and pipe.recv_bytes() == PING
        return False

    def _run(self, asked: bytes, ends: float | None) -> bytes:
        """Send a request, and follow what the child says until it has replied."""
        drawn = waiting = False
        limit = time.monotonic() + self.allowed.seconds if ends is None else ends
        try:
            _, pipe = self._running()
            pipe.send_bytes(asked)
            heard = time.monotonic()
            while pipe.poll(max(0.0, limit - time.monotonic())):
                said = pipe.recv_bytes()
                if waiting and ends is None:
                    limit += time.monotonic() - heard
                heard, waiting = time.monotonic(), said == WAITING
                drawn |= said == DRAWING
                if said.startswith(ANSWERED):
                    return said.removeprefix(ANSWERED)
                if said.startswith(FAILED):
                    raise Broken(said.removeprefix(FAILED).decode(), drawn=drawn)
                if said == UNREACHED:
                    raise EngineUnreachable(TOLD_UNREACHED)
        except (OSError, EOFError):
            pass
        else:
            if waiting and not drawn:
                raise EngineUnreachable(TOLD_UNREACHED)
            raise Broken(TIME, drawn=drawn)
        raise Broken(WORKER, drawn=drawn)

    def _running(self) -> tuple[BaseProcess, Connection]:
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
            if not ours.poll(START_SECONDS) or ours.recv_bytes() != READY:
                raise EOFError
        return self._child


def serve(  # noqa: PLR0913, PLR0917 - all that a child is given
    pipe: Connection,
    scratch: str,
    start: StartEngine,
    address: str,
    catalog: Catalog,
    allowed: Allowed,
    reads: Reads,
) -> None:
    """What the child does: one question after the other, until the pipe ends."""
    confine(allowed.within)
    os.chdir(scratch)  # where DuckDB writes what its memory does not hold
    tempfile.tempdir = scratch  # and fits write their rows
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for whoever started us to heed
    resource.setrlimit(resource.RLIMIT_AS, (allowed.memory_bytes, allowed.memory_bytes))
    try:
        engine = start(address)
        bytearray(ROOM)
        gc.freeze()  # what was loaded stays: walking it again would hold up some answers
    except Exception:  # noqa: BLE001 - whoever waits sees that the pipe ends
        return
    with suppress(EOFError, OSError):  # whoever asked is gone, or was killed
        pipe.send_bytes(READY)
        while True:
            asked = pipe.recv_bytes()
            pipe.send_bytes(
                PING
                if asked == PING
                else _reply(asked, pipe, engine, catalog, reads, allowed.most_numbers)
            )


def _reply(  # noqa: PLR0913, PLR0917 - all that a child has
    asked: bytes, pipe: Connection, engine: Engine, catalog: Catalog, reads: Reads, most: int
) -> bytes:
    """How the attempt at what was ``asked`` ended, as the last message about it."""
    if REHEARSE in json.loads(asked):
        return _rehearsed(asked, engine, catalog, reads, most)
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


def _rehearsed(
    asked: bytes, engine: Engine, catalog: Catalog, reads: Reads, most: int
) -> bytes:
    """How the rehearsal of what was ``asked`` ended; no row was read."""
    try:
        work = reads(json.loads(asked), catalog)
        if isinstance(work, QuoteWork):
            rehearse(work.quote, engine, catalog, work.salt, most)
    except EngineUnreachable:
        return UNREACHED
    except InvalidValue as refused:
        return REFUSED + str(refused).encode()
    except Exception:  # noqa: BLE001 - a child that lacks memory, such as for a plan
        return REFUSED + TOO_LARGE.encode()
    return REHEARSED


def read_question(request: dict[str, Any], catalog: Catalog) -> QuoteWork:
    """The work of one paid question, priced again from public facts."""
    measure, amount, delta = request["loss"]
    loss = Loss(Measure(measure), Fraction(amount), Fraction(delta))
    return work_of(request, price(decode_plan(request["plan"]), catalog, loss), catalog)


def work_of(request: dict[str, Any], quote: Quote | FitQuote, catalog: Catalog) -> QuoteWork:
    """The work of a quote, under the charge that the request names."""
    salt, receipt = bytes.fromhex(request["salt"]), bytes.fromhex(request["receipt"])
    return QuoteWork(quote, catalog, salt, receipt, request["noted"])


# ------------------------------------------------------------------ pool
# Child processes that answer paid questions, a question each at a time.


class LeasedWorker:
    """A worker that was found to answer, held for one charge.

    Where there is a ``deadline``, in seconds, all that is paid for ends at that time, counted
    from when the work begins.
    """

    def __init__(self, worker: Worker, deadline: float | None, rehearsed: Rehearsed) -> None:
        self._worker = worker
        self._rehearsed = rehearsed
        self._ends: float | None = None
        self._deadline = deadline

    def run(self, quote: Quote | FitQuote, salt: bytes, charge: Charge) -> bytes:
        """One attempt at the work that ``charge`` paid for; see `Worker.run`."""
        if self._deadline is not None and self._ends is None:
            self._ends = time.monotonic() + self._deadline
        noted = charge.assumptions
        return self._worker.run(quote, salt, charge.receipt, noted, ends=self._ends)

    def rehearse(self, quote: Quote | FitQuote, salt: bytes) -> None:
        """Refuse what no worker can run; each question once, whatever is paid for it."""
        self._rehearsed.once(quote.key + salt, lambda: self._worker.rehearse(quote, salt))

    @property
    def timed(self) -> bool:
        """Whether there is a deadline."""
        return self._deadline is not None

    def wait(self) -> None:
        """Wait for the deadline of what was begun."""
        if self._ends is not None:
            time.sleep(max(0.0, self._ends - time.monotonic()))


class Pool:
    """Workers in turn; where a ``deadline`` is set, in seconds, all answers take that long.

    A worker is held until the deadline, so that neither an answer's time nor how long others
    wait for a worker tells how long the engine took.
    """

    def __init__(self, workers: list[Worker], deadline: float | None = None) -> None:
        self._workers = workers
        self._deadline = deadline
        self._rehearsed = Rehearsed()
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            self._free.put(worker)

    @property
    def most_numbers(self) -> int | None:
        """The numbers of an answer that each worker can make."""
        return min((worker.allowed.most_numbers for worker in self._workers), default=None)

    def start(self) -> bool:
        """Start all children, so that no question waits for them; whether all did start."""
        return all(worker.start() for worker in self._workers)

    @contextmanager
    def held(self) -> Iterator[LeasedWorker]:
        """A worker that answers, for as long as the block takes; nothing is charged before.

        A child that died or hangs is replaced first. Where none can be started, the engine
        cannot be reached, and nobody pays for that.
        """
        worker = self._free.get()
        try:
            if not worker.ready():
                raise EngineUnreachable(UNCHARGED)
            held = LeasedWorker(worker, self._deadline, self._rehearsed)
            try:
                yield held
            finally:
                held.wait()
        finally:
            if worker.started:
                self._free.put(worker)
            else:  # a child that was ended is started again while nobody waits for it
                Thread(target=self._ready, args=(worker,), daemon=True).start()

    def close(self) -> None:
        """End all children."""
        for worker in self._workers:
            worker.close(for_good=True)

    def _ready(self, worker: Worker) -> None:
        worker.start()
        self._free.put(worker)
