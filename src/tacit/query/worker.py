"""Everything below the line in one child process: a paid question in, release bytes out.

No secret crosses a process: the child prices the plan again from public facts, asks the engine,
draws the noise, and sends back what may leave. What goes wrong there has one text.
"""

import gc
import json
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import RLock
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.stored_release import encode
from tacit.engines.engine import Engine
from tacit.errors import InternalError
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.stored_plan import decode
from tacit.query.confine import Confinement, confine, start_fork_server
from tacit.query.fit_quote import FitQuote
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.query.run import released_by, run
from tacit.query.scratch import Scratch

StartEngine = Callable[[str], Engine]
"""Opens an engine at an address, in the child; found by its name there."""

Answers = Callable[[dict[str, Any], Engine, Catalog], bytes]
"""Makes the bytes of a release of what a child was asked; found by its name there."""

READY, ANSWERED, FAILED = b"ready", b"+", b"-"
START_SECONDS = 60
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


class Worker:
    """A child process with an engine of its own, started again where it died."""

    def __init__(
        self,
        start: StartEngine,
        address: str,
        catalog: Catalog,
        allowed: Allowed,
        *,
        answers: Answers | None = None,
    ) -> None:
        self._allowed = allowed
        self._given = (start, address, catalog, allowed, answers or answer_question)
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

    @property
    def started(self) -> bool:
        """Whether there is a child, as far as is known."""
        return self._child is not None

    def answer(
        self, quote: Quote | FitQuote, salt: bytes, receipt: bytes, noted: Sequence[str] = ()
    ) -> bytes:
        """The bytes of the release that the charge of ``receipt`` paid for.

        Its guarantee adds what was ``noted`` of earlier answers about the same people.

        One opaque error stands for all that can go wrong: a row, a limit or a bug.
        """
        request = quote.asked | {
            "salt": salt.hex(),
            "receipt": receipt.hex(),
            "noted": list(noted),
        }
        reply = self._asked(json.dumps(request).encode())
        if not reply.startswith(ANSWERED):
            raise InternalError("The question failed below the line.")
        return reply.removeprefix(ANSWERED)

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

    def _asked(self, request: bytes) -> bytes:
        """What the child replies; a child that died or is late is ended, and has failed."""
        with self._lock:
            with suppress(OSError, EOFError):
                _, pipe = self._running()
                pipe.send_bytes(request)
                if pipe.poll(self._allowed.seconds):
                    return pipe.recv_bytes()
            self.close()
        return FAILED

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
    answers: Answers,
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
            request = json.loads(pipe.recv_bytes())
            try:
                reply = ANSWERED + answers(request, engine, catalog)
            except Exception:  # noqa: BLE001 - whatever it was, it is told in one wording
                reply = FAILED
            pipe.send_bytes(reply)


def answer_question(request: dict[str, Any], engine: Engine, catalog: Catalog) -> bytes:
    """The bytes of the release of one paid question."""
    measure, amount, delta = request["loss"]
    loss = Loss(Measure(measure), Fraction(amount), Fraction(delta))
    quote = price(decode(request["plan"]), catalog, loss)
    receipt = bytes.fromhex(request["receipt"])
    gateway = LiveGateway(SystemEntropy(receipt))
    columns = run(quote, engine, catalog, bytes.fromhex(request["salt"]), gateway)
    return encode(released_by(quote, columns, receipt, request["noted"]))
