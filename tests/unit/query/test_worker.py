"""A worker as its parent sees it: messages over a pipe, limits of time, and its folder."""

import fcntl
import gc
import json
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from pathlib import PurePosixPath
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, Self

import pytest
from fake_clock import FakeClock
from ward import CATALOG, asked

from tacit.core.loss import Loss
from tacit.core.release import DatedEpoch, ReleaseDates
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.ledger.charge import Charge
from tacit.plan.expression import Bin, Constant, Field
from tacit.query import worker as workers
from tacit.query import worker_pool as pools
from tacit.query.below_charge import ENGINE, NOISE, TIME, UNCHARGED, WORKER, Broken, Progress
from tacit.query.paid_work import QuoteWork
from tacit.query.pricing import LastPrice, price
from tacit.query.quote import Quote
from tacit.query.worker import (
    ANSWERED,
    DRAWING,
    FAILED,
    NICENESS,
    PING,
    READY,
    REFUSED,
    REHEARSED,
    TOO_LARGE,
    TOO_SLOW,
    UNREACHED,
    WAITING,
    Allowed,
    Scratch,
    Worker,
    read_question,
    serve,
    sweep,
)
from tacit.query.worker_pool import Pool

QUOTE = price(asked(), CATALOG, Loss.zcdp("0.1"))
LOSS = Loss.zcdp("0.1")
SALT, RECEIPT = b"\1\2", b"\3\4"
SECONDS = 60

Said = bytes | float | None
"""A message of a child, a pause of so many seconds, or the end of the child."""


@dataclass
class Child:
    """A child process and its pipe, which follows a script after each request."""

    clock: FakeClock
    script: list[list[Said]]
    said: list[Said] = field(default_factory=lambda: [READY])
    alive: bool = True
    acts: list[object] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    def start(self) -> None:
        self.acts.append("start")

    def kill(self) -> None:
        self.alive = False
        self.acts.append("kill")

    def join(self) -> None:
        self.acts.append("join")

    def close(self) -> None:
        self.acts.append("close")

    def is_alive(self) -> bool:
        return self.alive

    def send_bytes(self, asked: bytes) -> None:
        if not self.alive:
            raise BrokenPipeError
        self.acts.append(asked)
        self.said += self.script.pop(0)

    def poll(self, seconds: float) -> bool:
        """Wait until there is a message, or the end of the child, or the time is over."""
        left = seconds
        while self.said and isinstance(self.said[0], float):
            pause = min(left, self.said[0])
            self.clock.now += pause
            left -= pause
            if pause < self.said[0]:
                self.said[0] -= pause
                return False
            self.said.pop(0)
        if not self.said:
            self.clock.now += left
        return bool(self.said)

    def recv_bytes(self) -> bytes:
        found = self.said.pop(0)
        if found is None:
            self.alive = False
            raise EOFError
        assert isinstance(found, bytes)
        return found


class House:
    """The children that workers start, one after the other, and their folders."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.scripts: list[list[list[Said]]] = []
        self.first: list[list[Said]] = []
        self.children: list[Child] = []
        self.folders: list[SimpleNamespace] = []

    def Pipe(self) -> tuple[Child, SimpleNamespace]:  # noqa: N802 - the name of multiprocessing
        script = self.scripts.pop(0) if self.scripts else []
        made = Child(self.clock, script)
        if self.first:
            made.said = self.first.pop(0)
        self.children.append(made)
        return made, SimpleNamespace(close=lambda: made.acts.append("their end is closed"))

    def Process(self, **given: Any) -> Child:  # noqa: N802 - the name of multiprocessing
        self.children[-1].given = given
        return self.children[-1]

    def scratch(self) -> SimpleNamespace:
        made = SimpleNamespace(path=PurePosixPath(f"/folder{len(self.folders)}"), open=True)
        made.close = lambda: setattr(made, "open", False)
        self.folders.append(made)
        return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(workers, "time", made)
    monkeypatch.setattr(pools, "time", made)
    return made


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> House:
    made = House(clock)
    monkeypatch.setattr(workers, "_born", made)
    monkeypatch.setattr(workers, "Scratch", made.scratch)
    monkeypatch.setattr(workers, "start_fork_server", lambda: None)
    return made


def start_engine(address: str) -> Any:
    assert address == "place"
    return SimpleNamespace(name="engine")


ROOM = Allowed(memory_bytes=2**30, seconds=SECONDS)


def worker() -> Worker:
    return Worker(start_engine, "place", CATALOG, ROOM)


def scripted(house: House, *script: list[Said]) -> Worker:
    """A worker whose child says these messages after its requests."""
    house.scripts.append(list(script))
    return worker()


# A child and its start ------------------------------------------------------------------------


def test_a_child_is_started_once_and_ends_with_its_parent(house: House) -> None:
    made = worker()
    assert not made.started
    assert made.start()
    assert made.start()
    assert made.started
    (child,) = house.children
    assert child.acts == ["start", "their end is closed"]
    assert child.given["daemon"] is True
    assert child.given["target"] is serve
    _, *given = child.given["args"]
    assert given == ["/folder0", start_engine, "place", CATALOG, ROOM, read_question]


@pytest.mark.parametrize("first", [[b"something else"], [None], [60.5, READY]])
def test_a_child_that_does_not_become_ready_is_ended(first: list[Said], house: House) -> None:
    house.first = [first]
    made = worker()
    assert made.start() is False
    assert not made.started
    assert house.children[0].acts[-3:] == ["kill", "join", "close"]
    assert not house.folders[0].open
    assert made.start() is True
    assert len(house.children) == 2


def test_a_child_has_a_minute_to_become_ready(house: House) -> None:
    house.first = [[60.0, READY]]
    assert worker().start()


def test_a_worker_that_is_closed_starts_another_child_unless_it_is_for_good(
    house: House,
) -> None:
    made = worker()
    made.start()
    made.close()
    assert (made.started, house.folders[0].open) == (False, False)
    assert made.start()
    made.close(for_good=True)
    made.close()
    assert not made.start()
    assert len(house.children) == 2


# Before a charge ------------------------------------------------------------------------------


def test_a_child_that_responds_is_kept(house: House) -> None:
    made = scripted(house, [5.0, PING], [PING])
    assert made.ready()
    assert made.ready()
    assert made.ready()
    (child,) = house.children
    assert child.acts == ["start", "their end is closed", PING, PING]


@pytest.mark.parametrize("said", [[], [b"another"], [None], [5.5, PING]])
def test_a_child_that_does_not_respond_is_replaced(said: list[Said], house: House) -> None:
    made = scripted(house, said)
    made.start()
    assert made.ready()
    first, _ = house.children
    assert first.acts[2:] == [PING, "kill", "join", "close"]


@pytest.mark.parametrize("state", ["dead", "talking"])
def test_a_child_that_died_or_talks_is_not_asked(state: str, house: House) -> None:
    made = worker()
    made.start()
    first = house.children[0]
    first.alive = state != "dead"
    first.said = [DRAWING] if state == "talking" else []
    assert made.ready()
    assert len(house.children) == 2
    assert PING not in first.acts


# A paid request -------------------------------------------------------------------------------


def test_a_request_names_its_charge_and_an_answer_comes_back(house: House) -> None:
    made = scripted(house, [DRAWING, ANSWERED + b"+ release"])
    assert made.run(QUOTE, SALT, RECEIPT, ("noted",)) == b"+ release"
    sent = house.children[0].acts[2]
    assert isinstance(sent, bytes)
    assert json.loads(sent) == QUOTE.asked | {
        "salt": "0102",
        "receipt": "0304",
        "noted": ["noted"],
        "dates": None,
    }
    assert made.started


BROKEN: dict[str, tuple[list[Said], tuple[str, bool]]] = {
    "fails": ([FAILED + b"engine"], (ENGINE, False)),
    "fails after a draw": ([DRAWING, FAILED + b"noise"], (NOISE, True)),
    "dies": ([None], (WORKER, False)),
    "dies after a draw": ([DRAWING, None], (WORKER, True)),
    "is late": ([60.5, ANSWERED], (TIME, False)),
    "is late after a draw": ([30.0, DRAWING, 30.5, ANSWERED], (TIME, True)),
    "waits after a draw": ([DRAWING, WAITING, 60.5], (TIME, True)),
    "waited and is late": ([WAITING, 20.0, DRAWING, 60.5], (TIME, True)),
}


@pytest.mark.parametrize(("said", "told"), BROKEN.values(), ids=BROKEN)
def test_a_failure_tells_its_stage_and_whether_noise_was_drawn(
    said: list[Said], told: tuple[str, bool], house: House
) -> None:
    made = scripted(house, said)
    with pytest.raises(Broken) as caught:
        made.run(QUOTE, SALT, RECEIPT)
    assert (caught.value.stage, caught.value.drawn) == told
    assert house.children[0].acts[-3:] == ["kill", "join", "close"]
    assert not made.started


@pytest.mark.parametrize("said", [[UNREACHED], [WAITING, UNREACHED], [WAITING, 60.5]])
def test_an_outage_is_told_as_one(said: list[Said], house: House) -> None:
    made = scripted(house, said)
    with pytest.raises(EngineUnreachable, match="ask the same question again"):
        made.run(QUOTE, SALT, RECEIPT)
    assert not made.started


def test_the_time_of_an_outage_does_not_count(house: House, clock: FakeClock) -> None:
    said: list[Said] = [10.0, WAITING, 50.0, WAITING, 50.0, DRAWING, 50.0, ANSWERED + b"a"]
    assert scripted(house, said).run(QUOTE, SALT, RECEIPT) == b"a"
    assert clock.now == 50.0 + 160
    late: list[Said] = [10.0, WAITING, 50.0, DRAWING, 50.5, ANSWERED + b"a"]
    with pytest.raises(Broken):
        scripted(house, late).run(QUOTE, SALT, RECEIPT)


def test_at_a_deadline_the_time_of_an_outage_counts(house: House, clock: FakeClock) -> None:
    said: list[Said] = [10.0, WAITING, 50.0, WAITING, 50.0, DRAWING, 10.0, ANSWERED + b"a"]
    assert scripted(house, list(said)).run(QUOTE, SALT, RECEIPT, ends=170.0) == b"a"
    with pytest.raises(Broken) as caught:
        scripted(house, list(said)).run(QUOTE, SALT, RECEIPT, ends=clock.now + 119)
    assert (caught.value.stage, caught.value.drawn) == (TIME, True)


def test_a_child_that_cannot_be_started_is_a_failure_of_the_worker(house: House) -> None:
    house.first = [[None]]
    with pytest.raises(Broken) as caught:
        worker().run(QUOTE, SALT, RECEIPT)
    assert (caught.value.stage, caught.value.drawn) == (WORKER, False)


def test_an_attempt_ends_at_its_limit_also_while_a_child_starts(house: House) -> None:
    house.first = [[2.0, READY], [2.0, READY]]
    began = house.clock.now
    with pytest.raises(Broken) as caught:
        scripted(house, [ANSWERED + b"a"]).run(QUOTE, SALT, RECEIPT, ends=began + 1)
    assert (caught.value.stage, caught.value.drawn) == (TIME, False)
    assert house.clock.now == began + 1
    in_time = scripted(house, [ANSWERED + b"a"])
    assert in_time.run(QUOTE, SALT, RECEIPT, ends=house.clock.now + 3) == b"a"


def test_nobody_waits_for_the_end_of_a_child_that_is_discarded(house: House) -> None:
    """A process takes longer to end the more memory it has, which depends on the data."""
    made, end = worker(), Event()
    made.start()
    [child] = house.children
    child.join = lambda: end.wait(30)  # type: ignore[assignment, method-assign]
    made.discard()
    assert (child.alive, made.started, house.folders[0].open) == (False, False, True)
    lie = Thread(target=made.close)  # what waited before
    made.start()
    house.children[1].join = lambda: end.wait(30)  # type: ignore[assignment, method-assign]
    lie.start()
    lie.join(0.05)
    assert lie.is_alive()
    end.set()
    lie.join()


# A rehearsal ----------------------------------------------------------------------------------


def test_a_rehearsal_names_no_charge(house: House) -> None:
    made = scripted(house, [60.0, REHEARSED])
    made.rehearse(QUOTE, SALT)
    sent = house.children[0].acts[2]
    assert isinstance(sent, bytes)
    assert json.loads(sent) == QUOTE.asked | {
        "salt": "0102",
        "receipt": "",
        "noted": [],
        "rehearse": True,
    }
    assert made.started


@pytest.mark.parametrize(
    ("said", "error", "words", "kept"),
    [
        ([UNREACHED], EngineUnreachable, UNCHARGED, True),
        ([REFUSED + b"Too many columns."], InvalidValue, "Too many columns.", True),
        ([None], InvalidValue, TOO_LARGE, False),
        # other work on the machine may be the reason: the question is not said to be too large
        ([60.5, REHEARSED], EngineUnreachable, TOO_SLOW.format(60), False),
        ([ANSWERED], InvalidValue, TOO_LARGE, False),
    ],
)
def test_a_rehearsal_that_fails_costs_nothing(
    said: list[Said],
    error: type[Exception],
    words: str,
    kept: bool,  # noqa: FBT001 - whether the child goes on
    house: House,
) -> None:
    made = scripted(house, said)
    with pytest.raises(error) as caught:
        made.rehearse(QUOTE, SALT)
    assert str(caught.value) == words
    assert made.started is kept


# The child ------------------------------------------------------------------------------------


class Parent:
    """The other end of the pipe of a child: requests that come in, and what is sent."""

    def __init__(self, *asked: bytes) -> None:
        self._asked: Iterator[bytes] = iter(asked)
        self.sent: list[bytes] = []

    def recv_bytes(self) -> bytes:
        found = next(self._asked, None)
        if found is None:
            raise EOFError
        return found

    def send_bytes(self, said: bytes) -> None:
        self.sent.append(said)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What a child asks of the system before it opens its engine, without any effect."""
    acts: list[object] = []
    monkeypatch.setattr(workers, "confine", acts.append)
    monkeypatch.setattr(os, "chdir", lambda folder: acts.append(("chdir", folder)))
    monkeypatch.setattr(signal, "signal", lambda *given: acts.append(given))
    monkeypatch.setattr(os, "nice", lambda added: acts.append(("nice", added)))
    monkeypatch.setattr(resource, "setrlimit", lambda *given: acts.append(given))
    monkeypatch.setattr(gc, "freeze", lambda: acts.append("freeze"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return acts


def served(parent: Parent, reads: Any, start: Any = start_engine) -> list[bytes]:
    serve(parent, "/scratch", start, "place", CATALOG, ROOM, reads)  # type: ignore[arg-type]
    return parent.sent


def test_a_child_is_confined_before_it_opens_its_engine(system: list[object]) -> None:
    def start(address: str) -> Any:
        system.append("start")
        assert tempfile.tempdir == "/scratch"
        return start_engine(address)

    assert served(Parent(PING, PING), None, start) == [READY, PING, PING]
    assert system == [
        ROOM.within,
        ("chdir", "/scratch"),
        (signal.SIGINT, signal.SIG_IGN),
        ("nice", NICENESS),
        (resource.RLIMIT_AS, (2**30, 2**30)),
        "start",
        "freeze",
    ]


def test_a_child_whose_engine_cannot_be_opened_says_nothing(system: list[object]) -> None:
    def start(address: str) -> Any:
        raise OSError(address)

    assert served(Parent(PING), None, start) == []
    assert "freeze" not in system


@pytest.mark.usefixtures("system")
def test_a_child_tells_of_draws_and_waits_and_then_replies() -> None:
    def reads(request: dict[str, Any], catalog: object) -> Any:
        assert catalog is CATALOG

        def work(engine: Any, progress: Progress) -> bytes:
            assert engine._engine.name == "engine"
            progress.waiting()
            if request["do"] == "reach":
                raise EngineUnreachable("p17")
            if request["do"] == "break":
                raise ValueError("p17")
            progress.draw()
            return b"a release"

        return work

    asked = [json.dumps({"do": what}).encode() for what in ("answer", "reach", "break")]
    assert served(Parent(*asked), reads) == [
        READY,
        *(WAITING, DRAWING, ANSWERED + b"a release"),
        *(WAITING, UNREACHED),
        *(WAITING, FAILED + b"engine"),
    ]


class Rehearser:
    """An engine that refuses all questions for a reason."""

    def __init__(self, refusal: Exception | None) -> None:
        self._refusal = refusal

    def run(self, *_: object) -> Any:
        raise NotImplementedError

    def rehearse(self, *given: object, rows: bool = False) -> None:
        assert (given, rows) == ((QUOTE.bound.plan, CATALOG, SALT), False)
        if self._refusal is not None:
            raise self._refusal


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize(
    ("refusal", "reply"),
    [
        (None, REHEARSED),
        (InvalidValue("Too many columns."), REFUSED + b"Too many columns."),
        (MemoryError(), REFUSED + TOO_LARGE.encode()),
    ],
)
def test_a_child_replies_to_a_rehearsal(refusal: Exception | None, reply: bytes) -> None:
    request = QUOTE.asked | {"salt": SALT.hex(), "receipt": "", "noted": [], "rehearse": True}
    parent = Parent(json.dumps(request).encode())
    found = served(parent, read_question, lambda _: Rehearser(refusal))
    assert found == [READY, reply]


def test_a_child_prices_a_question_again_from_public_facts() -> None:
    request = QUOTE.asked | {"salt": "0102", "receipt": "0304", "noted": ["noted"]}
    work = read_question(json.loads(json.dumps(request)), CATALOG)
    assert isinstance(work, QuoteWork)
    assert work.quote.event == QUOTE.event
    assert work.quote.loss == Loss.zcdp(Fraction(1, 10))
    assert (work.salt, work.receipt, work.noted) == (SALT, RECEIPT, ["noted"])


def sent(quote: Quote, **more: Any) -> dict[str, Any]:
    """A request as a child reads it."""
    given = {"salt": "0102", "receipt": "0304", "noted": []} | more
    found: dict[str, Any] = json.loads(json.dumps(quote.asked | given))
    return found


def test_a_child_prices_a_question_once_for_its_rehearsal_and_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    priced = []

    def spied(*given: Any) -> Quote:
        priced.append(given)
        return price(*given)

    monkeypatch.setattr(workers, "price", spied)
    monkeypatch.setattr(workers, "_last", LastPrice())
    first = read_question(sent(QUOTE, receipt="", rehearse=True), CATALOG)
    second = read_question(sent(QUOTE), CATALOG)
    assert second.quote is first.quote
    assert (len(priced), second.receipt) == (1, RECEIPT)
    read_question(sent(price(asked(), CATALOG, Loss.zcdp("0.2"))), CATALOG)
    read_question(sent(QUOTE), replace(CATALOG))  # declared anew
    read_question(sent(QUOTE), CATALOG)
    assert len(priced) == 4


ONE, TRUE = (Constant(value) for value in (1, True))
TWINS = [
    (price(asked(), CATALOG, Loss.zcdp("0.1")), price(asked(), CATALOG, Loss.zcdp("0.2"))),
    tuple(
        price(asked(by=(Bin(Field("visits.stay"), each),)), CATALOG, LOSS) for each in (5, 10)
    ),
]


@pytest.mark.parametrize(("one", "other"), TWINS, ids=["another loss", "other groups"])
def test_a_child_takes_no_question_for_another(
    one: Quote, other: Quote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered() -> bool:
        monkeypatch.setattr(workers, "_last", LastPrice())
        found = [read_question(sent(each), CATALOG).quote for each in (one, other, one)]
        return [(each.key, each.event) for each in found] == [
            (each.key, each.event) for each in (one, other, one)
        ]

    assert answered()
    honest = LastPrice.price

    def careless(self: LastPrice, _: str, *rest: Any) -> Quote:
        return honest(self, "the same", *rest)

    monkeypatch.setattr(LastPrice, "price", careless)
    assert not answered()


def test_equal_plans_may_differ_so_a_price_is_found_by_its_text() -> None:
    assert ONE == TRUE
    quotes = iter([QUOTE, TWINS[0][1]])
    last = LastPrice()
    assert last.price("1", CATALOG, lambda: next(quotes)) is QUOTE
    assert last.price("true", CATALOG, lambda: next(quotes)) is TWINS[0][1]


def test_a_price_that_failed_leaves_none_behind() -> None:
    last = LastPrice()
    last.price("one", CATALOG, lambda: QUOTE)
    with pytest.raises(ZeroDivisionError):
        last.price("two", CATALOG, lambda: 1 // 0)  # type: ignore[return-value]
    assert last.price("one", CATALOG, lambda: TWINS[0][1]) is TWINS[0][1]


# The pool -------------------------------------------------------------------------------------


DAY, EPOCHS = date(2026, 11, 17), (DatedEpoch("visits", "2026"),)


def charge(**given: Any) -> Charge:
    return SimpleNamespace(
        **({"receipt": RECEIPT, "assumptions": ("noted",), "day": DAY} | given)
    )  # type: ignore[return-value]


def test_a_pool_starts_all_workers_and_says_whether_it_could(house: House) -> None:
    assert Pool([worker(), worker()]).start() is True
    house.first = [[READY], [None]]
    assert Pool([worker(), worker()]).start() is False
    assert Pool([]).start() is True


def test_a_pool_can_compute_what_its_smallest_worker_can() -> None:
    small = Worker(start_engine, "place", CATALOG, Allowed(10**6, 60))
    assert small.allowed.most_numbers == 500
    assert Pool([worker(), small]).most_numbers == 500
    assert Pool([]).most_numbers is None


def test_a_question_is_rehearsed_once_for_all_workers(house: House) -> None:
    pool = Pool([scripted(house, [REHEARSED], [PING], [REFUSED + b"No."])])
    other = price(asked(), CATALOG, Loss.zcdp("0.2"))
    with pool.lease() as leased:
        leased.rehearse(QUOTE, SALT)
    with pool.lease() as leased:
        leased.rehearse(QUOTE, SALT)
        leased.rehearse(other, SALT)  # the same question at another loss
        with pytest.raises(InvalidValue, match="No"):
            leased.rehearse(QUOTE, b"another salt")


def test_a_deadline_begins_with_the_first_attempt_and_is_waited_for(
    house: House, clock: FakeClock
) -> None:
    script = ([2.0, FAILED + b"engine"], [3.0, ANSWERED + b"a"])
    house.scripts = [[script[0]], [script[1]]]
    pool = Pool([worker()], deadline=20.0)
    with pool.lease() as leased:
        assert leased.timed
        clock.now = 100.0
        with pytest.raises(Broken):
            leased.run(QUOTE, SALT, EPOCHS, charge())
        assert leased.run(QUOTE, SALT, EPOCHS, charge()) == b"a"
        assert clock.now == 105.0
        sent = house.children[0].acts[2]
        assert isinstance(sent, bytes)
        assert json.loads(sent)["receipt"] == "0304"
        assert json.loads(sent)["noted"] == ["noted"]
        assert ReleaseDates.from_dict(json.loads(sent)["dates"]) == ReleaseDates(DAY, EPOCHS)
    assert clock.now == 120.0


def test_an_attempt_ends_at_the_deadline_and_not_before(house: House, clock: FakeClock) -> None:
    pool = Pool([scripted(house, [WAITING, 15.0, DRAWING, 15.0])], deadline=20.0)
    with pool.lease() as leased, pytest.raises(Broken) as caught:
        leased.run(QUOTE, SALT, EPOCHS, charge())
    assert (caught.value.stage, caught.value.drawn) == (TIME, True)
    assert clock.now == 70.0


def test_without_a_deadline_nothing_is_waited_for(house: House, clock: FakeClock) -> None:
    pool = Pool([scripted(house, [3.0, ANSWERED + b"a"])])
    with pool.lease() as leased:
        assert not leased.timed
        assert leased.run(QUOTE, SALT, EPOCHS, charge()) == b"a"
        leased.wait()
    assert clock.now == 53.0
    with Pool([worker()], deadline=20.0).lease():
        pass  # no work has begun
    assert clock.now == 53.0


def test_a_worker_that_was_lent_is_free_again(house: House) -> None:
    pool = Pool([scripted(house, [PING], [PING])])
    for _ in range(3):
        with pool.lease():
            assert pool._free.empty()
        assert pool._free.qsize() == 1
    assert len(house.children) == 1


def test_a_worker_that_ended_is_started_again_in_the_background(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[dict[str, Any]] = []

    def thread(**given: Any) -> SimpleNamespace:
        threads.append(given)
        return SimpleNamespace(start=lambda: given["target"](*given["args"]))

    monkeypatch.setattr(pools, "Thread", thread)
    pool = Pool([scripted(house, [None])])
    with pool.lease() as leased, pytest.raises(Broken):
        leased.run(QUOTE, SALT, EPOCHS, charge())
    assert [each["daemon"] for each in threads] == [True]
    assert len(house.children) == 2
    assert pool._free.qsize() == 1


def test_a_worker_that_cannot_be_started_costs_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "Thread", lambda **_: SimpleNamespace(start=lambda: None))
    house.first = [[None]]
    with (
        pytest.raises(EngineUnreachable, match="Nothing was charged"),
        Pool([worker()]).lease(),
    ):
        pytest.fail("There is no worker to lend.")


def test_a_pool_ends_all_children_for_good(house: House) -> None:
    made = [worker(), worker()]
    pool = Pool(made)
    pool.start()
    pool.close()
    assert [child.acts[-3:] for child in house.children] == [["kill", "join", "close"]] * 2
    assert not pool.start()


# Temporary folders ----------------------------------------------------------------------------


class Disk:
    """Folders in memory: the locks in them, and what is done to them, in order."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, str]] = []
        self.held: set[str] = set()
        self.left: list[str] = []
        self.without_lock: set[str] = set()

    def flock(self, file: SimpleNamespace, how: int) -> None:
        if how & fcntl.LOCK_NB:
            if file.name in self.held:
                raise BlockingIOError
            assert how & fcntl.LOCK_EX
        self.acts.append(("lock", file.name))

    def rmtree(self, folder: PurePosixPath, *, ignore_errors: bool) -> None:
        assert ignore_errors
        self.acts.append(("remove", str(folder)))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()

    class Lock(SimpleNamespace):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            made.acts.append(("close", self.name))

    class Folder(PurePosixPath):
        def open(self, mode: str = "r") -> Lock:
            if self.parent.name in made.without_lock:
                raise FileNotFoundError
            made.acts.append((f"open {mode}", str(self)))
            return Lock(name=str(self))

        def rename(self, target: "Folder") -> "Folder":
            made.acts.append(("rename", str(target)))
            return target

        def glob(self, pattern: str) -> "list[Folder]":
            return [self / each for each in made.left if PurePosixPath(each).match(pattern)]

    monkeypatch.setattr(workers, "Path", Folder)
    monkeypatch.setattr(workers, "gettempdir", lambda: "/tmp")  # noqa: S108 - in memory
    monkeypatch.setattr(workers, "mkdtemp", lambda prefix: f"/tmp/{prefix}x")  # noqa: S108
    monkeypatch.setattr(fcntl, "flock", made.flock)
    monkeypatch.setattr(shutil, "rmtree", made.rmtree)
    return made


def test_a_folder_has_its_name_once_it_is_locked_and_is_removed_at_the_end(disk: Disk) -> None:
    scratch = Scratch()
    new, name = "/tmp/.tacit-new-x/held", "/tmp/tacit-below-x"  # noqa: S108 - in memory
    assert str(scratch.path) == name
    assert disk.acts == [("open w", new), ("lock", new), ("rename", name)]
    disk.acts.clear()
    scratch.close()
    assert disk.acts == [("remove", name), ("close", new)]


def test_folders_of_processes_that_died_are_removed(disk: Disk) -> None:
    disk.left = ["tacit-below-dead", "tacit-below-alive", "tacit-below-odd", "mine"]
    disk.left += [".tacit-new-early"]
    disk.held = {"/tmp/tacit-below-alive/held"}  # noqa: S108 - in memory
    disk.without_lock = {"tacit-below-odd"}
    sweep()
    removed = [place for act, place in disk.acts if act == "remove"]
    assert removed == ["/tmp/tacit-below-dead"]  # noqa: S108 - in memory
    Scratch()
    assert [place for act, place in disk.acts if act == "remove"] == removed * 2
