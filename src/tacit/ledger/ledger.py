"""The durable record of everything that ever left, and the one who is asked before it does."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from datetime import date, datetime
from itertools import islice
from typing import TypeVar

from tacit import errors
from tacit.core import Budget, Loss, Population
from tacit.ledger import reserve
from tacit.ledger.book import Book
from tacit.ledger.budget import Status, status_for, status_of
from tacit.ledger.chain import PAGE, Anchor, check_anchor, take_anchor, walk
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Units, binding_of
from tacit.ledger.declarations import (
    UNNUMBERED,
    Declaration,
    Declarations,
    Numbered,
    declarations_in,
    numbers_in,
)
from tacit.ledger.entries import CapRaised, Decision, Entry, Signature
from tacit.ledger.govern import Governing, governing
from tacit.ledger.populations import owners_of
from tacit.ledger.reserve import ATTEMPTS, Numbers, enter, reserve_charge
from tacit.ledger.sealed_states import Decide, take_turn
from tacit.ledger.unanswered import Mark, fail, look, miss, park, retry, unlooked
from tacit.ledger.verify import ChainVerdict, verify, verify_store
from tacit.numeric import Number, exact
from tacit.numeric.entropy import fresh_bytes
from tacit.store import States, Store

Clock = Callable[[], int]
"""Milliseconds since 1970.

No promise of privacy depends on it: it says how long others wait, and which periods are over.
"""

Paid = TypeVar("Paid")
NONCE_BYTES = 16
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.25
"""Seconds between two looks at an answer that somebody else is making."""


def wall_clock() -> int:
    """The machine's time."""
    return time.time_ns() // 1_000_000


class Ledger:
    """One durable ledger for all populations of a store.

    Guarantee: what was charged never passes a cap or a quota, whoever asks at once, and is
    never forgotten: a `Charge` in hand is on the disk. An answer has its charge, and is stored
    once. A store that is older than ``anchor`` is refused.
    """

    def __init__(
        self,
        store: Store,
        *,
        anchor: Anchor | None = None,
        clock: Clock = wall_clock,
        declarations: Declarations = UNNUMBERED,
    ) -> None:
        if anchor is not None:
            check_anchor(store, anchor)
        self._store = store
        self._clock = clock
        self._declarations = declarations

    def under(self, declarations: Declarations) -> "Ledger":
        """The same ledger for questions that are priced by ``declarations``.

        Each charge names the declaration that it was priced by. A ledger that was not told of
        any charges populations that have none.
        """
        other = copy(self)
        other._declarations = declarations  # noqa: SLF001 - it is our own
        return other

    # ---------------------------------------------------------- the path of a question

    def released(self, question: ChargeRequest) -> StoredRelease | None:
        """The answer that was stored for this question, free; None where there is none."""
        return reserve.released(self._store, question.release_key, self._clock())

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        """Charge ``question``, durably, or give the answer that was charged before.

        For ``lease_ms`` others who ask the same wait for this one.
        """
        now, nonce = self._clock(), fresh_bytes(NONCE_BYTES)
        return self._priced_anew(
            question,
            lambda numbers: reserve_charge(
                self._store,
                question,
                nonce=nonce,
                now=now,
                until=now + lease_ms,
                numbers=numbers,
            ),
        )

    def keep(self, charge: Charge, body: bytes) -> StoredRelease:
        """Store the answer to ``charge``; only what this returns may leave."""
        return reserve.keep(self._store, charge, body, self._clock())

    def enter(self, question: ChargeRequest, body: bytes) -> StoredRelease:
        """Charge ``question`` and store its answer at once; see `tacit.ledger.reserve`."""
        nonce = fresh_bytes(NONCE_BYTES)
        now = self._clock()
        return self._priced_anew(
            question,
            lambda numbers: enter(
                self._store, question, body, nonce=nonce, now=now, numbers=numbers
            ),
        )

    def _priced_anew(self, question: ChargeRequest, charge: Callable[[Numbers], Paid]) -> Paid:
        """``charge`` under the declarations held here, or under newer ones that say the same.

        A declaration that was recorded again, or that speaks of more tables, prices this
        question as before, so its number alone is taken over. Any other stops the question.
        """
        names = question.populations
        for _ in range(ATTEMPTS):
            numbers = {name: self._declarations.number(name) for name in names}
            try:
                return charge(numbers)
            except errors.DeclarationsChanged as error:
                if not self._declarations.renew(error.population, self._store):
                    raise
        raise errors.StoreFailed(
            "The declarations change too often; ask again with the same key."
        )

    def moved(self, populations: Iterable[str]) -> frozenset[str]:
        """Those of ``populations`` of which something else is declared now than held here."""
        held = self._declarations
        refused = held.refused()
        numbers = self.numbers()
        return frozenset(
            name
            for name in populations
            if name not in refused
            and numbers.get(name, 0) != held.number(name)
            and not held.renew(name, self._store)
        )

    def numbers(self) -> dict[str, int]:
        """The number of every population's declaration now."""
        with self._store.looking() as work:
            return numbers_in(work)

    def refused(self) -> frozenset[str]:
        """Populations that questions priced here may not be about."""
        return self._declarations.refused()

    def refusing(self, why: Mapping[str, str]) -> "Ledger":
        """The same ledger, where nothing is charged about some populations."""
        return self.under(self._declarations.refusing(why))

    def declarations(self) -> dict[str, Numbered]:
        """What is declared of each population now, with its number; 0 where nothing is."""
        with self._store.reading() as work:
            return declarations_in(work)

    def take_turn(
        self, charge: Charge, states: States, name: str, decide: Decide
    ) -> StoredRelease:
        """Decide the answer to ``charge`` by a sealed state, one question at a time."""
        return take_turn(self._store, charge, states, name, decide, now=self._clock())

    def abandon(self, charge: Charge) -> None:
        """Say that ``charge`` will have no answer. It stays charged: there is no refund."""
        reserve.abandon(self._store, charge)

    def miss(self, charge: Charge) -> None:
        """Say that ``charge`` had no answer at its deadline: until an owner looks, no more."""
        miss(self._store, charge, self._clock())

    def fail(self, charge: Charge) -> StoredRelease | None:
        """Record that ``charge`` failed for good: until an owner looks, nothing is charged.

        The answer is returned where it was stored after all.
        """
        return fail(self._store, charge, self._clock())

    def retry(self, charge: Charge) -> None:
        """Record that ``charge`` failed before any noise was drawn, and is run once more."""
        retry(self._store, charge, self._clock())

    def park(self, charge: Charge) -> None:
        """Let ``charge`` wait for an engine that was not reached; asking again takes it up."""
        park(self._store, charge)

    def look(self, population: str, *, by: str) -> tuple[Mark, ...]:
        """Record, as an owner, a look at what was late or failed, and return that."""
        return look(self._store, population, self._signed(by))

    def unlooked(self, population: str) -> tuple[Mark, ...]:
        """What was late, failed or ran twice since an owner last looked."""
        return unlooked(self._store, population)

    def wait(self, question: ChargeRequest) -> StoredRelease:
        """The answer that somebody else is making; `AnswerLost` where it never comes."""
        pause = FIRST_PAUSE
        while True:
            try:
                found = self.released(question)
            except errors.AnswerPending:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if found is None:
                    raise errors.AnswerLost
                return found

    def today(self) -> date:
        """Return the day that this machine's calendar shows."""
        return datetime.fromtimestamp(self._clock() / 1000).astimezone().date()

    # ---------------------------------------------------------- what people look at

    def status(self, population: str, principal: str | None = None) -> Status:
        """What is spent and left of a population's budget.

        With a ``principal``, their quotas limit how many more questions are said to fit.
        """
        return status_of(self._store, population, principal)

    def status_for(self, population: str, holder: str) -> Status:
        """The same for one analyst or group: what they spent, and may spend."""
        return status_for(self._store, population, holder)

    def owners(self, population: str) -> frozenset[str]:
        """Who may govern a population's budget; nobody, where there is none."""
        with self._store.reading() as work:
            return frozenset(owners_of(work, population))

    def entries(self, population: str, after: int = 0) -> tuple[Entry, ...]:
        """The next entries of a population's chain, at most a thousand."""
        with self._store.reading() as work:
            return tuple(islice(walk(work, population, after), PAGE))

    def stored(self, release_key: bytes) -> bytes | None:
        """The bytes of the release that is kept under ``release_key``."""
        with self._store.reading() as work:
            return reserve.stored_body(work, release_key)

    def was_charged(self, principal: str, population: str, release_key: bytes) -> bool:
        """Whether ``principal`` has paid for the release that is kept under that key."""
        binding = binding_of(principal, [population], release_key)
        with self._store.reading() as work:
            return reserve.was_charged(work, principal, binding)

    def verify(self, population: str, anchor: Anchor | None = None) -> ChainVerdict:
        """Walk the whole chain of a population; `LedgerBroken` says where it fails."""
        return verify_store(self._store, population, anchor)

    def populations(self) -> tuple[str, ...]:
        """Whose budgets are here."""
        return tuple(head.population for head in take_anchor(self._store).heads)

    def book(self, population: str) -> Book:
        """All that a population's chain adds up to: quotas, owners, what was declared."""
        with self._store.reading() as work:
            return verify(population, walk(work, population))

    # ---------------------------------------------------------- what owners do

    def governing(self, *, by: str) -> AbstractContextManager[Governing]:
        """Several acts of one owner that happen together, or not at all."""
        return governing(self._store, self._signed(by))

    def open_budget(
        self, population: Population, budget: Budget, owners: tuple[str, ...], *, by: str
    ) -> Entry:
        """Make a population's budget."""
        try:
            with self.governing(by=by) as acts:
                return acts.open_budget(population, budget, owners)
        except errors.Conflict as error:
            raise errors.InvalidValue(f"{population.name!r} has a budget already.") from error

    def raise_cap(self, population: str, amount: Loss, reason: str, *, by: str) -> Entry:
        """Raise a cap, or propose it where there is a second owner to agree."""
        if amount.measure is not self.status(population).measure:
            raise errors.InvalidValue("A cap is raised in the measure of its budget.")
        units = Units.limit(amount)
        return self.propose(population, CapRaised(units.amount, units.delta, reason), by=by)

    def propose(self, population: str, decision: Decision, *, by: str) -> Entry:
        """Decide alone, or propose to a second owner, who approves the entry's ``seq``."""
        with self.governing(by=by) as acts:
            return acts.propose(population, decision)

    def approve(self, population: str, proposal: int, *, by: str) -> Entry:
        """Agree to another owner's proposal."""
        with self.governing(by=by) as acts:
            return acts.approve(population, proposal)

    def set_quota(self, population: str, holder: str, cap: Loss, *, by: str) -> Entry:
        """Limit an analyst, or a group whose name begins with @."""
        with self.governing(by=by) as acts:
            return acts.set_quota(population, holder, cap)

    def set_least(self, population: str, share: Number, *, by: str) -> Entry:
        """Set the least price of a question, as a share of the cap."""
        with self.governing(by=by) as acts:
            return acts.set_least(population, exact(share))

    def join(self, population: str, principal: str, group: str, *, by: str) -> Entry:
        """Put an analyst into a group."""
        with self.governing(by=by) as acts:
            return acts.join(population, principal, group)

    def declare(
        self, population: str, facts: tuple[str, ...], tables: tuple[str, ...] = (), *, by: str
    ) -> Entry:
        """Declare what is publicly known of the population's tables, and which they are.

        The entry's ``seq`` is the declaration's number, which every later charge has to name.
        """
        with self.governing(by=by) as acts:
            return acts.declare({population: Declaration(facts, tables)})[population]

    def freeze(self, population: str, *, by: str) -> Entry:
        """Stop all charges about a population, at once and at every server."""
        with self.governing(by=by) as acts:
            return acts.freeze(population)

    def thaw(self, population: str, *, by: str) -> Entry:
        """Allow charges about a population again."""
        with self.governing(by=by) as acts:
            return acts.thaw(population)

    def _signed(self, by: str) -> Signature:
        return Signature(by, self._clock())
