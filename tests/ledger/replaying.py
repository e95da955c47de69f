"""A network that loses, repeats and reorders, writers that die, and a model of what must hold.

Each machine is one population in a store that all machines of a test share. The model knows the
outcome of every delivery beforehand, and reads the chain by itself after every step.
"""

from collections import Counter
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import ClassVar

from asking import ask, open_pure, population, run
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tacit.errors import AnswerLost, AnswerPending, BudgetExceeded, KeyReused, TacitError
from tacit.ledger.book import Book
from tacit.ledger.chain import walk
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Units
from tacit.ledger.entries import AnswerStored, Charged
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store

COST, CHARGES = 10**11, 4
"""An epsilon of 0.1 in units, and how often it fits into the cap."""

LEASE_MS, YEAR_MS = 2_000, 365 * 86_400_000
NUMBERS = count()

Request = tuple[str, str, str]
"""A principal, the key of their request, and the plan that they ask."""

REQUESTS = st.tuples(*map(st.sampled_from, (("ann", "bob"), "abc", "wxyz")))
PLACES = st.integers(0, 10**6)
JUMPS = st.one_of(st.integers(-2 * LEASE_MS, 2 * LEASE_MS), st.integers(-YEAR_MS, YEAR_MS))
FATES = st.sampled_from(("heard", "unheard", "slow", "fails", "dies"))
"""What becomes of a request that is charged: its reply comes or is lost, or no answer does."""


class Replays(RuleBasedStateMachine):
    address: ClassVar[str]
    ledger_type: ClassVar[type[Ledger]] = Ledger
    tally: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.number = next(NUMBERS)
        self.people = population(f"people {self.number}")
        self.now = 1_800_000_000_000
        self.sent: list[Request] = []
        self.queue: list[Request] = []
        self.running: list[tuple[Request, Charge]] = []
        self.finished: list[tuple[Request, Charge]] = []
        self.charged: dict[tuple[str, str], str] = {}
        self.claims: dict[str, tuple[bytes, int]] = {}
        self.stored: dict[str, bytes] = {}
        self.book = Book(self.people.name)
        self.acts: Counter[tuple[str, str]] = Counter()
        self.open()
        open_pure(self.ledger, "0.4", self.people.name)
        self.tally["runs"] += 1

    def open(self) -> None:
        self.store = open_store(self.address)
        self.ledger = self.ledger_type(self.store, clock=lambda: self.now)

    def teardown(self) -> None:
        self.store.close()

    def question(self, request: Request) -> ChargeRequest:
        principal, key, plan = request
        return ask(plan, of=self.people, principal=principal, request=f"{self.number} {key}")

    # ---------------------------------------------------------- what the network does

    @rule(request=REQUESTS, fate=FATES)
    def send(self, request: Request, fate: str) -> None:
        self.sent.append(request)
        self.deliver(request, fate)

    @precondition(lambda self: self.sent)
    @rule(place=PLACES, fate=FATES)
    def resend(self, place: int, fate: str) -> None:
        self.deliver(self.sent[place % len(self.sent)], fate)

    @rule(request=REQUESTS, copies=st.integers(1, 3))
    def delay(self, request: Request, copies: int) -> None:
        self.sent.append(request)
        self.queue += [request] * copies

    @precondition(lambda self: self.queue)
    @rule(place=PLACES, fate=FATES)
    def arrive(self, place: int, fate: str) -> None:
        self.deliver(self.queue.pop(place % len(self.queue)), fate)

    def deliver(self, request: Request, fate: str) -> None:
        expected = self.expected(request)
        self.tally[f"met by {expected.__name__}"] += 1
        met: Charge | StoredRelease | TacitError
        try:
            met = self.ledger.reserve(self.question(request), lease_ms=LEASE_MS)
        except TacitError as error:
            met = error
        assert type(met) is expected, f"{request} met {met!r}, and not {expected.__name__}"
        principal, key, plan = request
        if isinstance(met, StoredRelease):
            assert met.body == self.stored[plan]
        if isinstance(met, Charge):
            self.charged[principal, key] = plan
            self.claims[plan] = met.receipt, self.now + LEASE_MS
            self.goes_on(request, met, fate)

    def expected(self, request: Request) -> type:
        principal, key, plan = request
        paid_for = self.charged.get((principal, key))
        if paid_for not in {None, plan}:
            return KeyReused
        if plan in self.stored:
            return StoredRelease
        if plan in self.claims and self.now < self.claims[plan][1]:
            return AnswerPending
        if paid_for is not None:
            return AnswerLost
        return Charge if len(self.charged) < CHARGES else BudgetExceeded

    # ---------------------------------------------------------- what writers do

    def goes_on(self, request: Request, charge: Charge, fate: str) -> None:
        if fate in {"heard", "unheard"}:
            self.keep(request, charge, heard=fate == "heard")
        if fate == "slow":
            self.running.append((request, charge))
        if fate == "fails":
            self.ledger.abandon(charge)
            self.claims[request[2]] = charge.receipt, 0

    def keep(self, request: Request, charge: Charge, *, heard: bool = True) -> None:
        plan, body = request[2], run(charge)
        if plan not in self.stored and self.claims[plan][0] == charge.receipt:
            self.stored[plan] = body
        kept = None
        with suppress(AnswerLost):
            kept = self.ledger.keep(charge, body).body
        if heard:
            assert kept == self.stored.get(plan), "what leaves is what is stored"
        self.finished.append((request, charge))

    @precondition(lambda self: self.running)
    @rule(place=PLACES)
    def finish(self, place: int) -> None:
        self.keep(*self.running.pop(place % len(self.running)))

    @precondition(lambda self: self.finished)
    @rule(place=PLACES)
    def keep_again(self, place: int) -> None:
        self.keep(*self.finished[place % len(self.finished)])

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.running.clear()
        self.open()

    @rule(by=JUMPS)
    def jump(self, by: int) -> None:
        self.now += by

    # ---------------------------------------------------------- what must hold

    @invariant()
    def the_chain_agrees(self) -> None:
        with self.store.reading() as work:
            for entry in walk(work, self.people.name, self.book.seq):
                act = self.book.read(entry)
                if isinstance(act, Charged):
                    self.acts[act.principal, act.request] += 1
                if isinstance(act, AnswerStored):
                    self.acts["kept", act.release] += 1
        assert max(self.acts.values(), default=0) <= 1, "one charge a request, one answer"
        asked = sum(key[0] != "kept" for key in self.acts)
        spent = Units(COST * asked, 0)
        assert asked == len(self.charged) <= CHARGES
        assert spent == self.book.spent == self.ledger.status(self.people.name).spent_units
        told = {sha256(body).digest() for body in self.stored.values()}
        assert set(self.book.kept.values()) == told, "an answer is drawn once"
        self.tally["steps"] += 1
