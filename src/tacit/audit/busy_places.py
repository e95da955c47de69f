"""Places that all run the same question at once, for a calibration under full load.

**Which time is measured.** The assumption of a delay is about E - S: the *wall time* from a
question's start to its engine's result. If one question runs alone on an idle machine, its wall
time is its processor time, but for the work of other programs. A calibration on an idle machine
therefore measures processor time, which other programs disturb little, and multiplies it by the
number of places that share a core.

With all places busy, that is not enough. A run waits for a core while other runs use it. These
runs read the same neighbour, so that the person's rows are extra work for all of them, and a
run waits for the extra work of others as well as for its own. Places also share caches and the
bandwidth of the memory, by which each run becomes slower. Waiting is in the wall time of a run
and not in its processor time. So a calibration under load measures wall time.

**Whose time is measured.** All places begin together, as in a burst of questions, and the time
ends with the *last* result. The last run waits for all the work on its core, and so moves at
least as far as the others. Nothing is multiplied afterwards: the load is in the measurement.

Wall time also has the jitter of the scheduler and of other programs, which one person does not
cause. It makes the bound of a movement wider, and never smaller on average. The control shows
how loud it is.

The processes open the databases as a server's workers do: read-only from a file, each with an
engine of its own, and with as many threads as DuckDB takes.
"""

import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from tacit.core import Catalog
from tacit.engines.duckdb import open_duckdb
from tacit.errors import InvalidValue
from tacit.plan import bound, canonical
from tacit.sql import parse

START_SECONDS = 120
"""Seconds in which a process must have opened its databases."""

RUN_SECONDS = 600
"""Seconds that one run of all places may take."""

READY, DONE = "ready", "done"

Side = tuple[str, Catalog]
"""The file of a synthetic database, and the catalogue that reads it."""


class BusyPlaces:
    """Processes that run the same question at the same time, each with its own engine.

    Use it as a context manager: the processes end with the block.
    """

    def __init__(
        self,
        count: int,
        sides: Sequence[Side],
        salt: bytes,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._given = (sides, salt)
        self._count = count
        self._clock = clock
        self._places: list[tuple[Any, Connection]] = []

    def __enter__(self) -> Self:
        """Start all processes, and wait until each has opened its databases."""
        context = get_context("forkserver")
        for _ in range(self._count):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=run_questions, args=(theirs, *self._given), daemon=True
            )
            process.start()
            theirs.close()
            self._places.append((process, ours))
        self._hear(READY, START_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes."""
        for process, pipe in self._places:
            pipe.close()
            process.kill()
            process.join()

    def run(self, side: int, shape: str) -> float:
        """Run a question in all places at once; return the milliseconds to the last result."""
        began = self._clock()
        for _, pipe in self._places:
            pipe.send((side, shape))
        self._hear(DONE, RUN_SECONDS)
        return (self._clock() - began) / 10**6

    def _hear(self, wanted: str, seconds: float) -> None:
        """Wait until each process has said ``wanted``."""
        last = time.monotonic() + seconds
        for _, pipe in self._places:
            try:
                fine = pipe.poll(max(0.0, last - time.monotonic())) and pipe.recv() == wanted
            except (EOFError, OSError):
                fine = False
            if not fine:
                raise InvalidValue(
                    f"A process of the calibration ended, or took longer than {seconds} "
                    "seconds. Use fewer --rows, or fewer places."
                )


def run_questions(pipe: Connection, sides: Sequence[Side], salt: bytes) -> None:
    """Run the questions that arrive, in a process of their own, until the pipe is closed."""
    engines = [(open_duckdb(path), catalog) for path, catalog in sides]
    pipe.send(READY)
    plans: dict[tuple[int, str], Any] = {}
    while True:
        try:
            side, shape = pipe.recv()
        except (EOFError, OSError):
            return
        engine, catalog = engines[side]
        if (side, shape) not in plans:  # the first run of a statement takes longer anyway
            plans[side, shape] = bound(canonical(parse(shape, catalog)).plan, catalog).plan
        engine.run(plans[side, shape], catalog, salt)
        pipe.send(DONE)
