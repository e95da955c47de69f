"""Child processes that answer paid questions, a question each at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread

from tacit.engines.rehearsed import Rehearsed
from tacit.errors import EngineUnreachable
from tacit.ledger.charge import Charge
from tacit.query.below import UNCHARGED
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.query.worker import Worker


class Held:
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
    def held(self) -> Iterator[Held]:
        """A worker that answers, for as long as the block takes; nothing is charged before.

        A child that died or hangs is replaced first. Where none can be started, the engine
        cannot be reached, and nobody pays for that.
        """
        worker = self._free.get()
        try:
            if not worker.ready():
                raise EngineUnreachable(UNCHARGED)
            held = Held(worker, self._deadline, self._rehearsed)
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
