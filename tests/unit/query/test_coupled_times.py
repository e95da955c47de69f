"""Times of a server on two neighbours, coupled: everything that can be seen is equal.

A script of a hundred questions runs on two places, by a clock that only the script moves. On
the neighbour, each run of the engine takes one step longer, draws of noise take other times,
and each delay is one step shorter. All that anybody sees must be the same, byte for byte:
starts, times of leaving, texts, reports, alarms, the metrics of the public port, and the chain
with its time stamps. Each lie below is a rule that a server might have, and shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from asking import ask, population
from fake_clock import FakeClock
from ward import CATALOG, asked

from tacit.core.loss import Budget, Loss, Measure
from tacit.errors import TacitError
from tacit.ledger import ledger as ledgers
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.project import DELAY, ServerTime
from tacit.query import below_charge, price, price_time
from tacit.query import worker_pool as pools
from tacit.query.below_charge import TIME, WORKER, Broken, Trouble, run_below
from tacit.query.held_place import HeldPlace, hold_place
from tacit.query.worker_pool import LeasedWorker, Pool, TimeWatch, TimeWatches
from tacit.server.middleware import RequestMetrics
from tacit.server.operators import EngineTimes
from tacit.server.refusal import refusal_of
from tacit.server.time_alarm import TimeAlarm
from tacit.testing.memory_store import MemoryStore

RULE = ServerTime(DELAY, seconds=1)
LOSS = Loss.zcdp("0.05")
QUOTE = price(asked(), CATALOG, LOSS, price_time(RULE, LOSS))
MS, MICRO = 1e-3, Fraction(1, 10**6)
PLACES, QUESTIONS, FEWER = 2, 100, 40
KILL, START = 0.03, 0.4
"""Seconds until a child that still runs has ended, and until a new one responds."""
BELOW_ALL = Fraction(-(10**6))
"""Milliseconds that every question takes longer than, so that the alarm warns at once."""
BLOCK = 20
"""The number of answers that an alarm looks at."""


@dataclass(frozen=True)
class Run:
    """One run of the engine: its milliseconds, those of the noise after it, and its end."""

    engine: float
    noise: float
    crashes: bool = False


@dataclass(frozen=True)
class Script:
    """A question: when it arrives, its delay in steps, and the runs that it may need."""

    arrives: float
    delay: int
    runs: tuple[Run, ...]


def made_script(draw: Random) -> list[Script]:
    scripts, at = [], 0.0
    for number in range(QUESTIONS):
        at += 4000 if number % 10 == 0 else 0  # bursts of ten
        first = Run(draw.uniform(3, 60), draw.uniform(0, 19))
        if number % 17 == 3:  # an engine that never ends
            first = replace(first, engine=5000.0)
        runs = (first, Run(draw.uniform(3, 60), draw.uniform(0, 19), number % 38 == 5))
        if number % 19 == 5:
            runs = (replace(first, crashes=True), runs[1])
        # some answers are late by their delay, and some by a hair
        delay = 21 + draw.randrange(400) + 600 * (number % 11 == 7)
        if number % 23 == 9:  # on the neighbour, the result comes after the limit
            delay, runs = 950, (Run(999.5, 0.1), runs[1])
        scripts.append(Script(at, delay, runs))
    return scripts


def neighbour_of(scripts: list[Script], draw: Random) -> list[Script]:
    """The same questions about one person more, with the delays that the coupling gives."""
    return [
        Script(
            each.arrives,
            each.delay - 1,
            tuple(
                replace(run, engine=run.engine + 1, noise=draw.uniform(0, 19))
                for run in each.runs
            ),
        )
        for each in scripts
    ]


class ScriptedWorker:
    """A worker that follows the script of the question that it is lent to."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.started = True
        self.runs: Iterator[tuple[int, Run]] = iter(())
        self.allowed = SimpleNamespace(most_numbers=10**6)
        self.done = 0.0

    def ready(self) -> bool:
        return self.start()

    def start(self) -> bool:
        self._clock.now += 0 if self.started else START
        self.started = True
        return True

    def discard(self) -> None:
        """Kill the child, and wait for nothing."""
        self.started = False

    def run(self, *_: object, ends: float, drawing: Callable[[], None], **__: object) -> bytes:
        number, run = next(self.runs)
        if not self.started:
            self._pass(START / MS, ends, drawn=False)
            self.started = True
        self._pass(run.engine, ends, drawn=False)
        self.done = self._clock.now
        if run.crashes:
            self.discard()
            raise Broken(WORKER, drawn=False)
        drawing()
        self._pass(run.noise, ends, drawn=True)
        return f"answer {number}".encode()

    def _pass(self, milliseconds: float, ends: float, *, drawn: bool) -> None:
        self._clock.now += milliseconds * MS
        if self._clock.now >= ends:
            self._clock.now = ends
            self.discard()
            raise Broken(TIME, drawn=drawn)


class InTheBackground:
    """A stand-in for `threading.Thread`, whose work takes no time of the thread that starts it.

    ``back`` is the moment at which the last work ended.
    """

    back = 0.0

    def __init__(
        self, clock: FakeClock, *, target: Callable[..., None], args: Any, daemon: bool
    ) -> None:
        assert daemon
        self._clock, self._work = clock, partial(target, *args)

    def start(self) -> None:
        now = self._clock.now
        self._work()
        InTheBackground.back, self._clock.now = self._clock.now, now


class World:
    """Two places, a ledger and everything that anybody sees."""

    def __init__(self, clock: FakeClock, delays: list[int]) -> None:
        self.clock, self.seen = clock, list[object]()
        self.ledger = Ledger(MemoryStore(), clock=lambda: round(clock.now * 1000))
        self.delays = iter(delays)
        self.workers = [ScriptedWorker(clock) for _ in range(PLACES)]
        self.pools = [
            Pool([each], rule=RULE, engine="warehouse")  # type: ignore[list-item]
            for each in self.workers
        ]
        self.free = [clock.now] * PLACES
        self.traffic, self.times = RequestMetrics(), EngineTimes()
        self.alarm = self.make_alarm()

    def make_alarm(self) -> TimeWatch:
        return TimeAlarm(BELOW_ALL, lambda found: self.see("alarm", found), BLOCK)

    def freed(self, place: int) -> float:
        """When a place is given back: when its lease has ended, and its worker is there."""
        del place
        return max(self.clock.now, InTheBackground.back)

    def metrics(self) -> str:
        """What the public port shows of requests and times."""
        return self.traffic.text()

    def tell(self, trouble: Trouble) -> None:
        self.see("told", trouble.what, trouble.stage)

    def see(self, *what: object) -> None:
        self.seen.append((round(self.clock.now * 1e9), *what))

    def ask(self, number: int, script: Script) -> None:
        InTheBackground.back = 0.0
        place = min(range(PLACES), key=lambda each: self.free[each])
        self.clock.now = max(50 + script.arrives * MS, self.free[place])
        self.see("starts", number, place)
        self.workers[place].runs = iter((number, run) for run in script.runs)
        name = f"p{number}"
        people = population(name)
        budget = Budget(Loss(Measure.ZCDP, Fraction(1), MICRO), MICRO)
        self.ledger.open_budget(people, budget, ("olga",), by="olga")
        status = 200
        with self.pools[place].lease(TimeWatches(self.times, self.alarm)) as held:
            question = ask(f"question {number}", of=people, event=QUOTE.event)
            charge = self.ledger.reserve(question, lease_ms=60_000)
            assert isinstance(charge, Charge)
            try:
                once = partial(held.run, QUOTE, b"", ())
                found = run_below(self.ledger, charge, once, tell=self.tell, deadline=held)
                self.see("answered", found.body)
            except TacitError as error:
                self.see("refused", type(error).__name__, str(error))
                status = refusal_of(error).status
        taken = round(self.clock.now - (50 + script.arrives * MS), 9)
        self.traffic.add("/v1/ask", status, taken)
        self.see("metrics", self.metrics())
        self.free[place] = self.freed(place)
        self.seen += [entry.body for entry in self.ledger.entries(name)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(pools, "time", made)
    monkeypatch.setattr(pools, "Thread", partial(InTheBackground, made))
    monkeypatch.setattr(InTheBackground, "back", 0.0)
    monkeypatch.setattr(below_charge, "time", made)
    monkeypatch.setattr(ledgers, "fresh_bytes", bytes)  # equal nonces in both worlds
    return made


@pytest.fixture
def observe(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[Script]], list[object]]:
    def seen(scripts: list[Script], kind: type[World] = World) -> list[object]:
        clock.now = 50.0
        world = kind(clock, [each.delay for each in scripts])
        monkeypatch.setattr(pools, "draw_delay", lambda *_: next(world.delays))
        for number, script in enumerate(scripts):
            world.ask(number, script)
        return world.seen

    return seen


def both(count: int = QUESTIONS) -> tuple[list[Script], list[Script]]:
    scripts = made_script(Random(7))[:count]  # noqa: S311 - a fixed script
    return scripts, neighbour_of(scripts, Random(8))  # noqa: S311


def test_everything_that_can_be_seen_is_equal(observe: Any) -> None:
    mine, other = both()
    seen = observe(mine)
    assert seen == observe(other)
    ends = [each[1:3] for each in seen if isinstance(each, tuple)]
    kinds = {each[0] for each in ends} | {name for _, name in ends if isinstance(name, str)}
    # the script reaches every way in which a question can end
    assert kinds >= {"starts", "answered", "told", "AnswerLost", "Broken", "retried", "overdue"}
    assert "alarm" in kinds
    starts = [each[0] for each in seen if isinstance(each, tuple) and each[1] == "starts"]
    arrivals = [round(50e9 + each.arrives * 1e6) for each in mine]
    waited = sum(start > at for start, at in zip(starts, arrivals, strict=True))
    assert waited > QUESTIONS // 5
    moved = [replace(mine[-1], runs=other[-1].runs)]  # without the coupling it shows
    assert seen != observe(mine[:-1] + moved)


# Lies ----------------------------------------------------------------------------------------


class PlaceBackAtTheResult(World):
    def freed(self, place: int) -> float:
        return self.workers[place].done


def test_a_place_that_is_given_back_at_the_result_shows(observe: Any) -> None:
    mine, other = both(FEWER)
    assert observe(mine, PlaceBackAtTheResult) != observe(other, PlaceBackAtTheResult)


class EndedAtOnce(ScriptedWorker):
    """A worker that waits until its child has ended, before the failure leaves."""

    def discard(self) -> None:
        self._clock.now += KILL if self.started else 0
        super().discard()


class EndedBeforeItLeaves(World):
    def __init__(self, clock: FakeClock, delays: list[int]) -> None:
        super().__init__(clock, delays)
        self.workers = [EndedAtOnce(clock) for _ in range(PLACES)]
        self.pools = [Pool([each], rule=RULE) for each in self.workers]  # type: ignore[list-item]


def test_waiting_for_the_end_of_a_child_shows(observe: Any) -> None:
    mine, other = both(FEWER)
    assert observe(mine, EndedBeforeItLeaves) != observe(other, EndedBeforeItLeaves)


def test_replacing_only_the_children_that_were_not_done_shows(
    observe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person decides whether the engine was done at the limit, and its place comes back."""
    mine, other = both()
    never = property(lambda _: False)
    monkeypatch.setattr(LeasedWorker, "leaves_at_limit", never)
    assert observe(mine) != observe(other)


class EngineTimesInPublic(World):
    def metrics(self) -> str:
        return "\n".join([self.traffic.text(), *self.times.lines()])


def test_engine_times_on_the_public_port_show(observe: Any) -> None:
    """The port of operators has them, and they differ between neighbours."""
    mine, other = both(FEWER)
    assert observe(mine, EngineTimesInPublic) != observe(other, EngineTimesInPublic)


class ByTheEngine(TimeAlarm):
    """An alarm by the times of engines."""

    def note_engine(self, engine: str, seconds: float) -> None:
        del engine
        super().note_leaving(seconds, 0.0)

    def note_leaving(self, seconds: float, mean_delay: float) -> None:
        pass


class AlarmByTheEngine(World):
    def make_alarm(self) -> TimeWatch:
        return ByTheEngine(BELOW_ALL, lambda found: self.see("alarm", found), BLOCK)


def test_an_alarm_by_the_times_of_engines_shows(observe: Any) -> None:
    mine, other = both(FEWER)
    seen = observe(mine, AlarmByTheEngine)
    assert any(isinstance(each, tuple) and each[1] == "alarm" for each in seen)
    assert seen != observe(other, AlarmByTheEngine)


class StampedAtTheResult(LeasedWorker):
    """The answer is stored at once, and waits afterwards."""

    waits = 0

    def wait(self) -> None:
        self.waits += 1
        if self.waits > 1:
            super().wait()


def begun_after_the_noise(place: HeldPlace) -> int:
    assert place._answer is not None
    steps = -(-(place._answer - place.start) // place.step)
    return place.start + place.step * (steps + place.delay)


def late_by_the_result(place: HeldPlace) -> bool:
    return place._answer is None


def failures_leave_at_once(place: HeldPlace) -> int:
    return place.start if place._broken else min(place.limit, place._planned)


def without_a_grid(place: HeldPlace) -> int:
    done = place._result or place.limit
    return min(place.limit, done + place.step * place.delay)


LIES: dict[str, tuple[str, Any]] = {
    "the answer is stored at the result": ("LeasedWorker", StampedAtTheResult),
    "the delay begins after the noise": ("_planned", property(begun_after_the_noise)),
    "the time limit is decided by the result": ("late", property(late_by_the_result)),
    "a failure is told at once": ("leaves", property(failures_leave_at_once)),
}


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_shows(lie: str, observe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name, other_rule = LIES[lie]
    whole: Any = pools if name == "LeasedWorker" else HeldPlace
    monkeypatch.setattr(whole, name, other_rule)
    mine, other = both(FEWER)
    seen: list[list[object]] = []
    for scripts in (mine, other):
        try:
            seen.append(observe(scripts))
        except AssertionError:
            seen.append([scripts])
    assert seen[0] != seen[1]


def test_an_answer_off_the_grid_shows(observe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off the grid, a movement by less than a step is not undone by a whole step of delay."""
    mine, other = both(FEWER)
    less = [
        replace(each, runs=tuple(replace(run, engine=run.engine - 0.5) for run in each.runs))
        for each in other
    ]
    monkeypatch.setattr(HeldPlace, "leaves", property(without_a_grid))
    assert observe(mine) != observe(less)


# The arithmetic of one place -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "answer", "leaves"),
    [(1, 1, 60), (10, 12, 60), (11, 12, 70), (11, 41, 70), (11, 51, 80), (None, 31, 60)],
)
def test_an_answer_leaves_on_the_grid(result: int | None, answer: int, leaves: int) -> None:
    place = HeldPlace(start=0, limit=1000, step=10, delay=5, floor=30)
    if result is not None:
        place.note_result(result)
        place.note_result(result + 500)  # only the first draw counts
    place.note_answer(answer)
    if result is None:
        leaves = 90  # without a draw of noise the answer itself is the result
    assert (place.leaves, place.late) == (leaves, False)
    assert place.leaves >= answer


def test_an_answer_after_the_limit_is_late_and_leaves_at_the_limit() -> None:
    place = HeldPlace(start=0, limit=100, step=10, delay=9)
    place.note_result(10)
    place.note_answer(10)
    assert (place.leaves, place.late) == (100, False)
    place = HeldPlace(start=0, limit=99, step=10, delay=9)
    place.note_result(10)
    place.note_answer(10)
    assert (place.leaves, place.late) == (99, True)


def test_a_failure_leaves_at_the_limit_whatever_comes_after() -> None:
    place = HeldPlace(start=0, limit=100, step=10, delay=1)
    place.note_failure()
    assert (place.leaves, place.late) == (100, True)
    place.note_answer(5)
    assert (place.leaves, place.late) == (100, False)


def test_places_of_each_rule() -> None:
    delayed = hold_place(QUOTE, RULE, None, 7, 90)
    assert delayed is not None
    assert (delayed.start, delayed.step, delayed.delay) == (7, 10**6, 90)
    assert (delayed.floor, delayed.limit) == (20 * 10**6, 7 + 10**9)
    plain = price(asked(), CATALOG, LOSS)
    fit_like = hold_place(plain, replace(RULE, deadline=0.5), None, 7, 0)
    assert fit_like == HeldPlace(7, 7 + 5 * 10**8)
    assert hold_place(plain, RULE, None, 7, 0) == HeldPlace(7, 7 + 10**9)
    assert hold_place(plain, None, 0.25, 7, 0) == HeldPlace(7, 7 + 25 * 10**7)
    assert hold_place(plain, None, None, 7, 0) is None
