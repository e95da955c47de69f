"""Charges that are written in groups: what they write, their order, and when they are told."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from random import Random
from threading import Barrier, BrokenBarrierError, Thread
from threading import Event as Signal
from typing import Any

import pytest
from asking import PERSON, TENTH, ask, open_pure
from sqlalchemy import select

from tacit.core.event import BallNoise, LaplaceNoise, Nothing
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import BudgetExceeded, Conflict, ConnectionLost, StoreFailed, TacitError
from tacit.ledger import committer, group_quotas, group_write
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Target, Units
from tacit.ledger.committer import Committer, Waiting
from tacit.ledger.group_write import AnswerWriting, ChargeWriting, Member, write_group
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store
from tacit.store.tables import metadata
from tacit.store.unit_of_work import Work

NOW, LEASE = 1_000, 50
SOON = 20
"""Seconds after which a thread that should be done is given up."""

TINY = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10**9))
IDEALISED = BallNoise(sensitivity_square=Fraction(1), scale=Fraction(10), dimensions=3)
TWO = (Population("nurses", PERSON), Population("patients", PERSON))


@pytest.fixture(params=os.environ.get("TACIT_STORES", "memory").split(","))
def new(
    request: pytest.FixtureRequest,
    new_store: Callable[[str], str],
    opened: Callable[[str], Store],
) -> Callable[[], Store]:
    """Make a store with two populations, groups and quotas; each time the same."""

    def make() -> Store:
        store = opened(new_store(request.param))
        ledger = Ledger(store, clock=lambda: 1)
        open_pure(ledger, "2")
        open_pure(ledger, "1", "nurses")
        ledger.set_quota("patients", "bob", Loss.pure("0.3"), by="olga")
        ledger.set_quota("patients", "@lab", Loss.pure("0.4"), by="olga")
        ledger.join("patients", "eve", "@lab", by="olga")
        ledger.set_default_quota("nurses", Loss.pure("0.2"), by="olga")
        return store

    return make


def charging(question: ChargeRequest, number: int = 0) -> ChargeWriting:
    return ChargeWriting(question, number.to_bytes(16, "big"), NOW, NOW + LEASE)


def both(plan: str, principal: str = "ann") -> ChargeRequest:
    """A question about two populations."""
    return replace(
        ask(plan, principal=principal), targets=tuple(Target(each, TENTH) for each in TWO)
    )


def content(store: Store) -> dict[str, list[Any]]:
    """Everything in the store."""
    with store.reading() as work:
        tables = metadata.sorted_tables
        return {table.name: sorted(work.all(select(table), {}), key=str) for table in tables}


def outcomes(store: Store, members: Sequence[Member], *, grouped: bool) -> list[object]:
    """What each member is told, in a group or one by one."""
    waiting = [Waiting(member) for member in members]
    if grouped:
        Committer(store)._write_all(waiting)
    else:
        for each in waiting:
            Committer(store)._write_all([each])
    told = [each.outcome for each in waiting]
    return [f"{type(t).__name__}: {t}" if isinstance(t, TacitError) else t for t in told]


def scenario(random: Random) -> list[ChargeRequest]:
    """Questions of several analysts; some repeat a key, a plan, or do not fit."""
    asked = []
    for number in range(random.randrange(2, 14)):
        who = random.choice(["ann", "bob", "eve"])
        plan = f"plan {random.randrange(12)}"
        made = both(plan, who) if random.random() < 0.2 else ask(plan, principal=who)
        name = random.choice(["patients", "patients", "nurses"])
        made = (
            made
            if len(made.targets) > 1
            else replace(
                made,
                targets=(
                    Target(
                        Population(name, PERSON),
                        random.choice([TENTH, TENTH, TENTH, TINY, Nothing(), IDEALISED]),
                    ),
                ),
            )
        )
        if random.random() < 0.7:
            made = replace(made, request=f"key {number}")
        asked.append(replace(made, question=b"q" if random.random() < 0.5 else b""))
    return asked


def run_history(store: Store, seed: int, *, grouped: bool) -> tuple[list[object], object]:
    """Charge the questions of a scenario, then store the answers with more questions."""
    random = Random(seed)  # noqa: S311 - a test that can be repeated
    first = [charging(each, number) for number, each in enumerate(scenario(random))]
    told = outcomes(store, first, grouped=grouped)
    paid = [each for each in told if isinstance(each, Charge)]
    second: list[Member] = [AnswerWriting(each, each.receipt, NOW) for each in paid]
    second += [charging(each, 100 + n) for n, each in enumerate(scenario(random))]
    random.shuffle(second)
    if paid and random.random() < 0.3:
        second.append(second[0])  # an answer, or a charge, that comes twice
    return told + outcomes(store, second, grouped=grouped), content(store)


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_writes_what_its_members_write_one_by_one(
    seed: int, new: Callable[[], Store]
) -> None:
    together, alone = new(), new()
    assert run_history(together, seed, grouped=True) == run_history(alone, seed, grouped=False)
    for name in ("patients", "nurses"):
        Ledger(together).verify(name)


def _one_cost(work: Work, name: str, costs: dict[str, Any]) -> Any:
    """The lie: a group counts the cost of one question for an analyst who asks several."""
    return honest_count(work, name, dict.fromkeys(costs, Units(10**11, 0)))


def _unlimited(*_: object) -> None:
    """The lie: a group does not look at the default quota."""


def _reversed(store: Committer, group: Sequence[Waiting]) -> None:
    """The lie: the last who came is decided first."""
    honest_write(store, list(reversed(group)))


honest_count = group_write.count_for_many
honest_write = Committer._write_all


@pytest.mark.parametrize(
    ("place", "name", "lie"),
    [
        (group_write, "count_for_many", _one_cost),
        (group_quotas, "_check_default", _unlimited),
        (Committer, "_write_all", _reversed),
        (group_write, "_find_known", lambda *_: set()),
        (group_write._Tally, "has_room", lambda *_: True),
    ],
    ids=["one cost", "no default", "reversed", "nothing known", "room for all"],
)
def test_what_a_group_does_otherwise_is_seen(
    place: object,
    name: str,
    lie: object,
    new: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last two are no lies about what is granted: the statements decide, not the look."""
    honest = [run_history(new(), seed, grouped=False) for seed in SEEDS]
    monkeypatch.setattr(place, name, lie)
    same = [run_history(new(), seed, grouped=True) == honest[seed] for seed in SEEDS]
    assert all(same) is (name in {"_find_known", "has_room"})


def test_a_group_is_one_unit_of_work(new: Callable[[], Store]) -> None:
    store = Counting(new())
    told = outcomes(store, [charging(ask(f"{n}"), n) for n in range(9)], grouped=True)
    assert all(isinstance(each, Charge) for each in told)
    assert store.begun == 1
    answered = [AnswerWriting(each, b"42", NOW) for each in told if isinstance(each, Charge)]
    kept = outcomes(store, [*answered, charging(ask("more"))], grouped=True)
    assert [each.body for each in kept if isinstance(each, StoredRelease)] == [b"42"] * 9
    assert store.begun == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ledger: ledger.freeze("patients", by="olga"),
        lambda ledger: ledger.declare("patients", ("a fact",), by="olga"),
        lambda ledger: ledger.fail(ledger.reserve(ask("fails"), lease_ms=1)),
        lambda ledger: ledger.set_quota("patients", "ann", Loss.pure(0), by="olga"),
        lambda ledger: ledger.set_least("patients", Fraction(1, 2), by="olga"),
        lambda ledger: ledger.park(ledger.reserve(ask("0"), lease_ms=1)),
    ],
    ids=["frozen", "declared anew", "locked", "no quota", "dear", "parked"],
)
def test_what_an_owner_stopped_is_refused_to_a_group_as_to_one(
    spoil: Callable[[Ledger], object], new: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ledger.ledger.fresh_bytes", bytes)
    found = []
    for grouped in (True, False):
        store = new()
        spoil(Ledger(store, clock=lambda: 7))
        members = [charging(ask(f"{number}"), 1 + number) for number in range(5)]
        found.append((outcomes(store, members, grouped=grouped), content(store)))
    assert found[0] == found[1]


def test_a_population_of_another_unit_is_refused_alone(new: Callable[[], Store]) -> None:
    wrong = Population("patients", PrivacyUnit("household"))
    members = [
        charging(ask("a"), 1),
        charging(ask("b", of=wrong), 2),
        charging(ask("c", of=Population("nobody", PERSON)), 3),
        charging(ask("d"), 4),
    ]
    first, second, third, fourth = outcomes(new(), members, grouped=True)
    assert isinstance(first, Charge)
    assert isinstance(fourth, Charge)
    assert "protects one person" in str(second)
    assert "no budget" in str(third)


def test_a_group_that_lost_a_race_is_written_alone(new: Callable[[], Store]) -> None:
    store = new()
    paid = Ledger(store, clock=lambda: NOW).reserve(ask("first"), lease_ms=LEASE)
    assert isinstance(paid, Charge)
    members = [AnswerWriting(paid, b"1", NOW), AnswerWriting(paid, b"2", NOW)]
    with pytest.raises(Conflict, match="already stored"), store.writing() as work:
        write_group(work, members)
    first, second = outcomes(store, members, grouped=True)
    assert first == second == StoredRelease(b"1", paid.receipt)


# ------------------------------------------------------------------ threads


class Counting:
    """A store that counts its units of work that write, and runs a hook before each ends."""

    def __init__(self, store: Store, before_end: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._before_end = before_end
        self.begun = 0

    @contextmanager
    def writing(self) -> Iterator[Work]:
        self.begun += 1
        with self._store.writing() as work:
            yield work
            self._before_end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Crowd:
    """Threads that charge one after the other while the first one's unit of work is open."""

    def __init__(self, store: Store, budget_of: type[Committer] = Committer) -> None:
        self.go, self.begun = Signal(), Signal()
        self.store = Counting(store, self._stop_once)
        self.committer = budget_of(self.store)
        self.told: dict[int, object] = {}
        self.threads: list[Thread] = []

    def _stop_once(self) -> None:
        if not self.begun.is_set():
            self.begun.set()
            assert self.go.wait(SOON)

    def add(self, number: int) -> None:
        """Start a thread, and wait until it is in the queue."""
        thread = Thread(target=self._charge, args=(number,))
        self.threads.append(thread)
        thread.start()
        if number == 0:
            assert self.begun.wait(SOON)
            return
        while len(self.committer._queue) < number and thread.is_alive():
            thread.join(0.001)

    def _charge(self, number: int) -> None:
        try:
            self.told[number] = self.committer.charge(charging(ask(f"{number}"), number))
        except BaseException as error:  # noqa: BLE001 - looked at below
            self.told[number] = error

    def end(self) -> dict[int, object]:
        self.go.set()
        for thread in self.threads:
            thread.join(SOON)
            assert not thread.is_alive()
        return self.told


class LastComeFirst(Committer):
    """The lie: whoever came last is taken first."""

    def _lead(self) -> None:
        with self._guard:
            self._queue.reverse()
        super()._lead()


@pytest.mark.parametrize(("kind", "first"), [(Committer, True), (LastComeFirst, False)])
def test_charges_are_decided_in_the_order_in_which_they_came(
    kind: type[Committer], new: Callable[[], Store], *, first: bool
) -> None:
    crowd = Crowd(new(), kind)
    for number in range(25):  # 20 fit
        crowd.add(number)
    told = crowd.end()
    granted = {number for number, each in told.items() if isinstance(each, Charge)}
    assert len(granted) == 20
    assert (granted == set(range(20))) is first
    assert all(isinstance(told[number], BudgetExceeded) for number in set(told) - granted)
    # the first alone, all that fit, and then one by one those that do not
    assert crowd.store.begun == 2 + 1 + 5


class TellsEarly(Committer):
    """The lie: members are told before the commit."""

    def _write_together(self, group: Sequence[Waiting]) -> int:
        with self._store.writing() as work:
            results = write_group(work, [waiting.member for waiting in group])
            for waiting, result in zip(group, results, strict=False):
                waiting.settle(result)
        return len(results)


@pytest.mark.parametrize(("kind", "early"), [(Committer, False), (TellsEarly, True)])
def test_nobody_is_told_before_the_commit(
    kind: type[Committer], new: Callable[[], Store], *, early: bool
) -> None:
    group = [Waiting(charging(ask(f"{number}"), number)) for number in range(4)]
    seen: list[bool] = []
    store = Counting(new(), lambda: seen.append(any(each.is_settled for each in group)))
    kind(store)._write_all(group)
    assert all(isinstance(each.outcome, Charge) for each in group)
    assert seen == [early]


def test_whoever_waits_too_long_is_told_that_nothing_was_written(
    new: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(new())
    crowd.add(0)
    monkeypatch.setattr(committer, "LONGEST_WAIT", 0.01)
    with pytest.raises(StoreFailed, match=r"busy and nothing was written\. Ask again"):
        crowd.committer.charge(charging(ask("late")))
    monkeypatch.setattr(committer, "LONGEST_WAIT", SOON)
    crowd.add(1)
    told = crowd.end()
    assert all(isinstance(each, Charge) for each in told.values())
    assert Ledger(crowd.store).status("patients").spent == Loss.pure("0.2")


def test_an_interrupted_leader_leaves_nobody_waiting(new: Callable[[], Store]) -> None:
    crowd = Crowd(new())
    crowd.add(0)
    for number in (1, 2):
        crowd.add(number)
    honest = crowd.committer._write_together
    calls: list[int] = []

    def interrupt(group: Sequence[Waiting]) -> int:
        calls.append(len(group))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return honest(group)

    crowd.committer._write_together = interrupt  # type: ignore[method-assign]
    crowd.go.set()
    for thread in crowd.threads:
        thread.join(SOON)
        assert not thread.is_alive()
    assert calls == [2]
    assert isinstance(crowd.told[0], Charge)
    assert isinstance(crowd.told[1], KeyboardInterrupt)
    assert "Ask again with the same idempotency key" in str(crowd.told[2])
    assert isinstance(crowd.committer.charge(charging(ask("after"), 9)), Charge)


def test_a_waiter_who_is_interrupted_leaves_the_queue(
    new: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(new())
    crowd.add(0)

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(committer.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            crowd.committer.charge(charging(ask("never")))
    assert not crowd.committer._queue
    crowd.add(1)
    assert all(isinstance(each, Charge) for each in crowd.end().values())


def test_who_was_told_to_lead_and_leaves_lets_the_next_lead(new: Callable[[], Store]) -> None:
    own = Committer(new())
    first, second = (Waiting(charging(ask(plan))) for plan in "ab")
    own._queue.extend([first, second])
    own._is_led = True
    own._pass_on()
    assert own._leave(first)
    assert second.leads
    assert not own._leave(first)


class Gone:
    """A store whose connection is lost in the first works, and that cannot be reached then."""

    def __init__(self, store: Store, error: Exception, times: int) -> None:
        self._store, self._error, self._times = store, error, times

    def writing(self) -> Any:
        self._times -= 1
        if self._times >= 0:
            raise self._error
        return self._store.writing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_a_store_that_does_not_respond_is_tried_by_each_thread_itself(
    new: Callable[[], Store],
) -> None:
    group = [Waiting(charging(ask(f"{number}"), number)) for number in range(4)]
    Committer(Gone(new(), StoreFailed("gone"), 10**6))._write_all(group)
    assert str(group[0].outcome) == "gone"
    assert [each.by_itself for each in group] == [False, True, True, True]


def test_a_group_whose_commit_may_be_lost_is_charged_once(new: Callable[[], Store]) -> None:
    """The connection breaks after the commit: each member finds its own charge again."""
    store = new()

    class Unsure(Counting):
        @contextmanager
        def writing(self) -> Iterator[Work]:
            with super().writing() as work:
                yield work
            if self.begun == 1:
                raise ConnectionLost("lost")

    members = [charging(ask(f"{number}"), number) for number in range(5)]
    told = outcomes(Unsure(store), members, grouped=True)
    assert all(isinstance(each, Charge) for each in told)
    assert Ledger(store).status("patients").spent == Loss.pure("0.5")
    assert told == outcomes(store, members, grouped=False)


def test_a_child_has_a_queue_of_its_own(new: Callable[[], Store]) -> None:
    own = Committer(new())
    own._is_led = True  # as in a parent whose thread leads, which the child does not have
    own._home -= 1
    assert isinstance(own.charge(charging(ask("in the child"))), Charge)
    assert not own._is_led


def test_threads_of_a_child_share_one_new_queue(
    new: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads begin at once: the second one must not replace the queue of the first."""
    own = Committer(new())
    own._is_led = True
    own._home -= 1
    own._guard.acquire()  # as by a thread of the parent
    started: list[object] = []
    honest, both = Committer._start, Barrier(2)

    def slow(self: Committer) -> None:
        started.append(self._home)
        with suppress(BrokenBarrierError):  # a second thread would come here as well
            both.wait(0.2)
        honest(self)

    monkeypatch.setattr(Committer, "_start", slow)
    told: list[object] = []
    threads = [
        Thread(target=lambda n=n: told.append(own.charge(charging(ask(f"{n}"), n))))
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive()
    assert len(started) == 1
    assert [isinstance(each, Charge) for each in told] == [True, True]


def test_an_error_of_one_member_is_told_to_it_alone(new: Callable[[], Store]) -> None:
    """A store cannot hold so large a number; SQLite says so by an error of Python's own."""
    members: list[Member] = [charging(ask(f"{number}"), number) for number in range(3)]
    members[1] = replace(members[1], until=2**63)
    group, store = [Waiting(member) for member in members], new()
    Committer(store)._write_all(group)
    first, second, third = (
        each.member.alone(store) if each.by_itself else each.outcome for each in group
    )
    assert isinstance(first, Charge)
    assert isinstance(second, Exception)
    assert isinstance(third, Charge)
