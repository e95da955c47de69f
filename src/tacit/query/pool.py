"""Child processes that answer paid questions, a question each at a time."""

import time
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread

from tacit.errors import InternalError
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.query.worker import Worker


class Late(InternalError):
    """There is no answer at the public deadline, for whatever reason."""


class Pool:
    """Workers in turn; where a ``deadline`` is set, in seconds, all answers take that long.

    A worker is held until the deadline, so that neither an answer's time nor how long others
    wait for a worker tells how long the engine took.
    """

    def __init__(self, workers: list[Worker], deadline: float | None = None) -> None:
        self._workers = workers
        self._deadline = deadline
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            self._free.put(worker)

    def start(self) -> bool:
        """Start all children, so that no question waits for them; whether all did start."""
        return all(worker.start() for worker in self._workers)

    def answer(
        self, quote: Quote | FitQuote, salt: bytes, receipt: bytes, noted: Sequence[str] = ()
    ) -> bytes:
        """The bytes of the release that was paid for; see `Worker.answer`.

        Where there is a deadline, whatever fails is `Late`, at that time.
        """
        worker = self._free.get()
        began = time.monotonic()
        try:
            return worker.answer(quote, salt, receipt, noted)
        except InternalError:
            if self._deadline is None:
                raise
            raise Late("The question missed its deadline.") from None
        finally:
            if self._deadline is not None:
                time.sleep(max(0.0, began + self._deadline - time.monotonic()))
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
