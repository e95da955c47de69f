"""A pool of worker processes, each lent to one question at a time until its answer leaves.

An answer leaves at a public deadline, or after a delay that was paid for
(`tacit.query.held_place`). Before a worker is lent, it must respond, so that nothing is charged
for a worker that has died.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread

from tacit.core import DatedEpoch, ReleaseDates
from tacit.engines import RehearsalCache
from tacit.errors import EngineUnreachable
from tacit.ledger import Charge
from tacit.numeric.entropy import SystemEntropy
from tacit.project import DELAY, ServerTime
from tacit.query.below_charge import UNCHARGED, Broken
from tacit.query.held_place import SECOND, HeldPlace, draw_delay, hold_place
from tacit.query.quote import FitQuote, Quote
from tacit.query.worker import Worker

TIME_NOISE = b"the time of "
"""Begins the name of the noise of a delay, so that it is not the noise of the answer."""


class TimeWatch:
    """Receives the times of questions that run in workers; this one ignores them.

    Example:
        >>> TimeWatch().note_engine("warehouse", 0.25)
    """

    def note_engine(self, engine: str, seconds: float) -> None:
        """Note that the result of a question arrived ``seconds`` after the question started.

        Delays and deadlines hide this time: it may be shown to operators, and to nobody else.
        """

    def note_leaving(self, seconds: float, mean_delay: float) -> None:
        """Note that a delayed answer left ``seconds`` after the question started.

        This time was paid for. ``mean_delay`` are the seconds that the delay and rounding take
        on average.
        """


class TimeWatches(TimeWatch):
    """Several watches, which all receive the same times."""

    def __init__(self, *watches: TimeWatch) -> None:
        self._watches = watches

    def note_engine(self, engine: str, seconds: float) -> None:
        """Note the time of an engine."""
        for each in self._watches:
            each.note_engine(engine, seconds)

    def note_leaving(self, seconds: float, mean_delay: float) -> None:
        """Note the time at which an answer left."""
        for each in self._watches:
            each.note_leaving(seconds, mean_delay)


UNWATCHED = TimeWatch()

REPLACE_SECONDS = 2.0
"""Seconds after which a new worker takes the place of one whose answer left at the limit."""


def now_ns() -> int:
    """Return the time of the monotonic clock in nanoseconds."""
    return round(time.monotonic() * SECOND)


class LeasedWorker:
    """A worker that responds, reserved for one charge.

    Unless the time of answers is open, its place is held from the start of the paid work until
    the answer leaves.
    """

    def __init__(  # noqa: PLR0913 - a worker, its rules of time, and whom to inform
        self,
        worker: Worker,
        deadline: float | None,
        rehearsed: RehearsalCache,
        rule: ServerTime | None = None,
        *,
        watch: TimeWatch = UNWATCHED,
        engine: str = "",
    ) -> None:
        self._worker = worker
        self._rehearsed = rehearsed
        self._deadline = deadline
        self._rule = rule
        self._watch = watch
        self._engine = engine
        self._mean_delay: float | None = None
        self._place: HeldPlace | None = None
        self._start: int | None = None
        self._has_result = False

    def run(
        self,
        quote: Quote | FitQuote,
        salt: bytes,
        epochs: tuple[DatedEpoch, ...],
        charge: Charge,
    ) -> bytes:
        """Make one attempt at the work that ``charge`` paid for; see `Worker.run`.

        The release has the day of the charge and the ``epochs`` of its tables.
        """
        noted, dates = charge.assumptions, ReleaseDates(charge.day, epochs)
        if self._start is None:
            delay = draw_delay(quote, SystemEntropy(TIME_NOISE + charge.receipt))
            self._start = now_ns()
            self._place = hold_place(quote, self._rule, self._deadline, self._start, delay)
            if self._place is not None and self._place.is_paid and quote.time is not None:
                self._mean_delay = float(quote.time.mean_ms) / 1000
        place = self._place
        if place is None:
            return self._worker.run(
                quote, salt, charge.receipt, noted, dates=dates, drawing=self._note_result
            )
        try:
            body = self._worker.run(
                quote,
                salt,
                charge.receipt,
                noted,
                dates=dates,
                ends=place.limit / SECOND,
                drawing=self._note_result,
            )
        except (Broken, EngineUnreachable):
            place.note_failure()
            raise
        place.note_answer(now_ns())
        return body

    def _note_result(self) -> None:
        """Note that the engine's result has arrived; only the first call counts."""
        if self._has_result or self._start is None:
            return
        self._has_result = True
        now = now_ns()
        if self._place is not None:
            self._place.note_result(now)
        self._watch.note_engine(self._engine, (now - self._start) / SECOND)

    def rehearse(self, quote: Quote | FitQuote, salt: bytes) -> None:
        """Refuse a quote that no worker can run; each question is rehearsed only once."""
        self._rehearsed.once(quote.key + salt, lambda: self._worker.rehearse(quote, salt))

    @property
    def timed(self) -> bool:
        """Whether answers leave at a deadline, or after a delay."""
        return self._deadline is not None or (
            self._rule is not None and self._rule.kind == DELAY
        )

    @property
    def leaves_at_limit(self) -> bool:
        """Whether the answer or failure leaves at the limit, by a time that was paid for."""
        return (
            self._place is not None
            and self._place.is_paid
            and self._place.leaves >= self._place.limit
        )

    @property
    def limit(self) -> int:
        """The last moment at which the answer leaves; 0 before the work begins."""
        return 0 if self._place is None else self._place.limit

    @property
    def is_overdue(self) -> bool:
        """Whether the answer missed a limit by a time that was paid for."""
        return self._place is not None and self._place.is_paid and self._place.late

    def wait(self) -> None:
        """Wait until the answer of the work that has begun leaves."""
        if self._place is not None:
            time.sleep(max(0, self._place.leaves - now_ns()) / SECOND)

    def leave(self) -> None:
        """Wait until the answer leaves, and note when it did: by its plan, and not by a clock.

        The time that is noted is the one that was paid for.
        """
        self.wait()
        if self._place is not None and self._mean_delay is not None:
            taken = self._place.leaves - self._place.start
            self._watch.note_leaving(taken / SECOND, self._mean_delay)


class Pool:
    """A pool of workers. If a ``deadline`` in seconds is set, every answer takes that long.

    A worker stays reserved until its answer leaves, at the deadline or after the delay of the
    ``rule``. Neither the time of an answer nor the time for which other questions wait for a
    worker then reveals how long the ``engine`` took. If a delayed answer leaves at its limit,
    the worker is replaced, whether its engine was done or not.
    """

    def __init__(
        self,
        workers: list[Worker],
        deadline: float | None = None,
        rule: ServerTime | None = None,
        engine: str = "",
    ) -> None:
        self._workers = workers
        self._deadline = deadline
        self._rule = rule
        self._engine = engine
        self._rehearsed = RehearsalCache()
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            self._free.put(worker)

    @property
    def most_numbers(self) -> int | None:
        """The most numbers of an answer that every worker can compute; None without workers."""
        return min((worker.allowed.most_numbers for worker in self._workers), default=None)

    def start(self) -> bool:
        """Start all children before the first question; return whether all started."""
        return all(worker.start() for worker in self._workers)

    @contextmanager
    def lease(self, watch: TimeWatch = UNWATCHED) -> Iterator[LeasedWorker]:
        """Reserve a worker that responds for the time of the block, before anything is charged.

        A child that has died or hangs is replaced first. If none can be started, the engine
        cannot be reached, and nothing is charged. ``watch`` receives the times of the question.
        """
        worker, leased = self._free.get(), None
        try:
            if not worker.ready():
                raise EngineUnreachable(UNCHARGED)
            leased = LeasedWorker(
                worker,
                self._deadline,
                self._rehearsed,
                self._rule,
                watch=watch,
                engine=self._engine,
            )
            try:
                yield leased
            finally:
                leased.leave()
        finally:
            if leased is not None and leased.leaves_at_limit:
                Thread(target=self._replace, args=(worker, leased.limit), daemon=True).start()
            elif worker.started:
                self._free.put(worker)
            else:  # start a new child in the background, so that no question waits for it
                Thread(target=self._ready, args=(worker,), daemon=True).start()

    def __len__(self) -> int:
        return len(self._workers)

    def replace_dead(self) -> bool:
        """Replace idle children that died; return whether every idle child now responds.

        Nothing is charged, and workers at work are not looked at: when one of them ends may
        depend on a row. A worker is idle once its question has given it back.
        """
        fine = True
        for _ in range(self._free.qsize()):
            try:
                worker = self._free.get_nowait()
            except Empty:
                break  # questions took the others
            try:
                fine &= worker.is_alive() or worker.ready()
            finally:
                self._free.put(worker)
        return fine

    def close(self) -> None:
        """End all children."""
        for worker in self._workers:
            worker.close(for_good=True)

    def _ready(self, worker: Worker) -> None:
        worker.start()
        self._free.put(worker)

    def _replace(self, worker: Worker, limit: int) -> None:
        """Give a place back whose answer left at the ``limit``, with a new child.

        The old child may still run, or be dead, or be idle because its answer only waited for
        the end of its delay. Nobody paid for this difference. So the child is replaced in each
        case, and the place comes back after the same number of seconds.
        """
        back = limit + round(REPLACE_SECONDS * SECOND)
        worker.discard()
        worker.start()
        time.sleep(max(0, back - now_ns()) / SECOND)
        self._free.put(worker)
