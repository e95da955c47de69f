"""The `Ledger`: one object through which sessions charge questions and owners govern budgets.

Its methods hold little logic. They read the clock, draw a nonce where one is needed, and call
the functions of this package: `reserve` for charges and stored answers, `unanswered` for late
and failed charges, `govern` for the acts of owners, `verify` for checks.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import date, datetime
from itertools import islice
from typing import TypeVar

from tacit import errors
from tacit.core import Budget, Loss, Population
from tacit.ledger import quotas, reserve
from tacit.ledger.backwards import Mark
from tacit.ledger.book import Book
from tacit.ledger.budget import Status, status_for, status_of
from tacit.ledger.chain import PAGE, Anchor, check_anchor, take_anchor, walk
from tacit.ledger.charge import (
    Charge,
    ChargeRequest,
    Offer,
    StoredRelease,
    Units,
    binding_of,
    utc_day,
)
from tacit.ledger.charge_facts import ChargeFacts, charge_facts
from tacit.ledger.checkpoints import (
    EVERY,
    check_kept,
    checkpoints_in,
    current_book,
    resume_book,
    verify_since_checkpoint,
    write_checkpoint,
    write_if_due,
)
from tacit.ledger.committer import ChargeGate, Committer, OpenGate
from tacit.ledger.declarations import (
    UNNUMBERED,
    Declaration,
    Declarations,
    Numbered,
    declarations_in,
    epochs_in,
    numbers_in,
)
from tacit.ledger.entries import CapRaised, Decision, Entry, Proposed, QuotaRequested, Signature
from tacit.ledger.govern import Governing, governing
from tacit.ledger.group_write import AnswerWriting, ChargeWriting
from tacit.ledger.history import ALL, History, HistoryFilter, read_history
from tacit.ledger.lease import LeaseState, extend_leases, is_charged, lease_state
from tacit.ledger.noted_store import NotedStore
from tacit.ledger.owner_acts import ActSigner
from tacit.ledger.owner_keys import OwnerKeys, keys_in
from tacit.ledger.populations import owners_of
from tacit.ledger.quotas import HolderStatus
from tacit.ledger.reserve import ATTEMPTS, Numbers, enter
from tacit.ledger.restored import Difference, charge_difference
from tacit.ledger.sealed_states import Decide, take_turn
from tacit.ledger.unanswered import (
    fail,
    look,
    miss,
    park,
    receipt_at,
    retry,
    unreviewed_incidents,
)
from tacit.ledger.verify import ChainVerdict, verify
from tacit.numeric import Number, exact
from tacit.numeric.entropy import fresh_bytes
from tacit.store import SigningKey, States, Store

Clock = Callable[[], int]
"""Milliseconds since 1970.

No privacy guarantee depends on it. It decides how long others wait, and which periods are over.
"""

Paid = TypeVar("Paid")
NONCE_BYTES = 16
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.25
"""Seconds between two checks whether an answer that another process computes is stored."""


def wall_clock() -> int:
    """Return the machine's time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Ledger:
    """One durable ledger for all populations of a store.

    Guarantee: the sum of charges never exceeds a cap or a quota, however many analysts ask at
    once. A returned `Charge` is durable. Every answer has a charge and is stored once. A store
    that is older than ``anchor`` is refused. A ``gate`` counts charges, and makes them wait
    while anchors are behind (`tacit.ledger.anchor_keeper`). With a ``key``, chains are read
    from the checkpoints that it signed (`tacit.ledger.checkpoints`).
    """

    def __init__(  # noqa: PLR0913 - a store, and what watches it
        self,
        store: Store,
        *,
        anchor: Anchor | None = None,
        clock: Clock = wall_clock,
        declarations: Declarations = UNNUMBERED,
        gate: ChargeGate | None = None,
        key: SigningKey | None = None,
    ) -> None:
        if anchor is not None:
            check_anchor(store, anchor)
        self._gate = gate or OpenGate()
        self._bare, self._store = store, NotedStore(store, self._gate)
        self._key = key
        self._committer = Committer(store, self._gate)
        self._clock = clock
        self._declarations = declarations
        self._epochs: dict[tuple[str, int], dict[str, int]] = {}
        self._signer: ActSigner | None = None

    def under(self, declarations: Declarations) -> "Ledger":
        """Return this ledger for questions that are priced under ``declarations``.

        Each charge names the declaration under which it was priced. A ledger without
        declarations can charge only populations that have none.
        """
        other = copy(self)
        other._declarations = declarations  # noqa: SLF001 - it is our own
        return other

    def signed_by(self, signer: ActSigner | None) -> "Ledger":
        """Return this ledger, with a signature by ``signer`` on the acts of owners.

        A population whose owners have no keys yet records the acts without signatures.
        """
        other = copy(self)
        other._signer = signer  # noqa: SLF001 - it is our own
        return other

    # ---------------------------------------------------------- the path of a question

    def find_release(self, question: ChargeRequest) -> StoredRelease | None:
        """Return the stored answer to this question, which is free, or None."""
        return reserve.find_release(self._store, question.release_key, self._clock())

    def find_offers(
        self, question: ChargeRequest, finer: Sequence[bytes] = ()
    ) -> tuple[Offer, ...]:
        """Return stored answers to this question at any loss, the earliest first.

        Answers about the subjects in ``finer`` are among them.
        """
        return reserve.find_offers(self._store, question, (question.subject, *finer))

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        """Charge ``question`` durably, or return the answer that was charged before.

        Others who ask the same question wait for this answer for ``lease_ms``.
        """
        now, nonce = self._clock(), fresh_bytes(NONCE_BYTES)
        return self._charge_under_declarations(
            question,
            lambda numbers: self._committer.charge(
                ChargeWriting(question, nonce, now, now + lease_ms, numbers)
            ),
        )

    def keep(self, charge: Charge, body: bytes) -> StoredRelease:
        """Store the answer to ``charge``; only the returned answer may be released."""
        return self._committer.keep(AnswerWriting(charge, body, self._clock()))

    def enter(self, question: ChargeRequest, body: bytes) -> StoredRelease:
        """Charge ``question`` and store its answer in one unit of work (`reserve.enter`)."""
        nonce = fresh_bytes(NONCE_BYTES)
        now = self._clock()
        self._gate.admit(1)
        try:
            return self._charge_under_declarations(
                question,
                lambda numbers: enter(
                    self._bare, question, body, nonce=nonce, now=now, numbers=numbers
                ),
            )
        finally:
            self._gate.settle(1)

    def _charge_under_declarations(
        self, question: ChargeRequest, charge: Callable[[Numbers], Paid]
    ) -> Paid:
        """Charge under the current declarations, if they still give the question its price.

        ``charge`` is called with the numbers of the declarations.

        A declaration that was recorded again, or that has more tables, gives this question the
        same price, so its number is used and the charge is tried again. A declaration that says
        something else stops the question.
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
            "The declarations changed too often. Ask again with the same idempotency key."
        )

    def redeclared_populations(self, populations: Iterable[str]) -> frozenset[str]:
        """Return the populations whose current declaration is not the one of this session."""
        held = self._declarations
        refused = held.refused_populations()
        numbers = self.numbers()
        return frozenset(
            name
            for name in populations
            if name not in refused
            and numbers.get(name, 0) != held.number(name)
            and not held.renew(name, self._store)
        )

    def numbers(self) -> dict[str, int]:
        """Return the number of every population's current declaration."""
        with self._store.looking() as work:
            return numbers_in(work)

    def refused_populations(self) -> frozenset[str]:
        """Return the populations about which questions are refused."""
        return self._declarations.refused_populations()

    def refusing(self, why: Mapping[str, str]) -> "Ledger":
        """Return this ledger, with charges refused about some populations, for reasons."""
        return self.under(self._declarations.refusing(why))

    def declarations(self) -> dict[str, Numbered]:
        """Return each population's current declaration with its number, which is 0 for none."""
        with self._store.reading() as work:
            return declarations_in(work)

    def take_turn(
        self, charge: Charge, states: States, name: str, decide: Decide
    ) -> StoredRelease:
        """Compute the answer to ``charge`` from a sealed state, one question at a time."""
        return take_turn(self._store, charge, states, name, decide, now=self._clock())

    def abandon(self, charge: Charge) -> None:
        """Record that ``charge`` will have no answer. It stays charged: there is no refund."""
        reserve.abandon(self._store, charge)

    def miss(self, charge: Charge) -> None:
        """Record that ``charge`` missed its deadline; nothing is charged before a review."""
        miss(self._store, charge, self._clock())

    def fail(self, charge: Charge) -> StoredRelease | None:
        """Record that ``charge`` failed for good; nothing is charged before an owner's review.

        If the answer was stored after all, return it and record nothing.
        """
        return fail(self._store, charge, self._clock())

    def retry(self, charge: Charge) -> None:
        """Record that ``charge`` failed before any noise was drawn, and is retried."""
        retry(self._store, charge, self._clock())

    def park(self, charge: Charge) -> None:
        """Suspend ``charge`` while its engine is unreachable; the same question resumes it."""
        park(self._store, charge)

    def look(self, population: str, *, by: str) -> tuple[Mark, ...]:
        """Record that an owner reviewed all late and failed answers, and return them."""
        return look(self._store, population, self._sign(by), self._key)

    def unreviewed_incidents(self, population: str) -> tuple[Mark, ...]:
        """Return the late, failed and retried charges since an owner's last review."""
        return unreviewed_incidents(self._store, population)

    def receipt_at(self, population: str, seq: int) -> bytes:
        """Return the receipt of the charge in entry ``seq``, as a server's log has it."""
        return receipt_at(self._store, population, seq)

    def wait(self, question: ChargeRequest) -> StoredRelease:
        """Wait for an answer that another process computes.

        Raise `AnswerLost` if its lease ends without an answer.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                found = self.find_release(question)
            except errors.AnswerPending:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if found is None:
                    raise errors.AnswerLost
                return found

    def lease_state(self, question: ChargeRequest) -> StoredRelease | LeaseState:
        """Return the stored answer to this question, or the state of its lease.

        Raise `KeyReused` if its idempotency key belongs to another question.
        """
        return lease_state(self._store, question, self._clock())

    def is_charged(self, question: ChargeRequest) -> bool:
        """Return whether this request was charged before."""
        return is_charged(self._store, question)

    def extend_leases(self, charges: Iterable[Charge], lease_ms: int) -> None:
        """Extend the leases of charges that are still computed by ``lease_ms`` from now."""
        extend_leases(self._store, charges, self._clock() + lease_ms)

    def now(self) -> int:
        """Return the time of this ledger's clock, in milliseconds since 1970."""
        return self._clock()

    def today(self) -> date:
        """Return the day that this machine's calendar shows."""
        return datetime.fromtimestamp(self._clock() / 1000).astimezone().date()

    def epoch_days(self, population: str) -> dict[str, date | None]:
        """Return the day on which each epoch of a population's tables began.

        The days are given by the fact that states the epoch, under the declaration of this
        session. They are read once for each declaration.
        """
        place = population, self._declarations.number(population)
        if not place[1]:
            return {}
        if place not in self._epochs:
            with self._store.looking() as work:
                self._epochs[place] = epochs_in(work, *place)
        return {fact: utc_day(at) for fact, at in self._epochs[place].items()}

    def day_charged(self, population: str, receipt: bytes) -> date | None:
        """Return the day on which the charge of ``receipt`` was made; None if it is unknown."""
        with self._store.reading() as work:
            return reserve.day_charged(work, population, receipt)

    # ---------------------------------------------------------- reports

    def status(self, population: str, principal: str | None = None) -> Status:
        """Return what is spent and left of a population's budget.

        With a ``principal``, their quotas limit the number of questions that still fit.
        """
        return status_of(self._store, population, principal)

    def status_for(self, population: str, holder: str) -> Status:
        """Return what one analyst or group spent, and may spend."""
        return status_for(self._store, population, holder)

    def owners(self, population: str) -> frozenset[str]:
        """Return the owners of a population's budget; the empty set if there is no budget."""
        with self._store.reading() as work:
            return frozenset(owners_of(work, population))

    def owner_keys(self, population: str) -> OwnerKeys:
        """Return the keys with which a population's owners sign, and those before them."""
        with self._store.reading() as work:
            return keys_in(work, population)

    def entries(self, population: str, after: int = 0) -> tuple[Entry, ...]:
        """Return the next entries of a population's chain, at most `PAGE` of them."""
        with self._store.reading() as work:
            return tuple(islice(walk(work, population, after), PAGE))

    def history(self, population: str, wanted: HistoryFilter = ALL) -> History:
        """Return the entries of a population's chain that are ``wanted``, in words."""
        return read_history(self._store, population, wanted, self._clock())

    def stored_body(self, release_key: bytes) -> bytes | None:
        """Return the bytes of the release that is stored under ``release_key``, or None."""
        with self._store.reading() as work:
            return reserve.stored_body(work, release_key)

    def charge_facts(self, receipt: bytes) -> ChargeFacts:
        """Return all that the ledger knows about the charge with this receipt."""
        return charge_facts(self._store, receipt)

    def was_charged(self, principal: str, population: str, release_key: bytes) -> bool:
        """Return whether ``principal`` was charged for the release under that key."""
        binding = binding_of(principal, [population], release_key)
        with self._store.reading() as work:
            return reserve.was_charged(work, principal, binding)

    def verify(
        self, population: str, anchor: Anchor | None = None, *, from_the_start: bool = False
    ) -> ChainVerdict:
        """Verify the chain of a population; `LedgerBroken` names the wrong entry.

        The chain is read from its newest checkpoint, or ``from_the_start``.
        """
        key = None if from_the_start else self._key
        verdict, book = verify_since_checkpoint(self._store, population, anchor, key)
        write_if_due(self._store, book, self._key, self._clock(), compared=True)
        return verdict

    def write_checkpoint(
        self, population: str, rest: Callable[[float], None] = lambda _: None
    ) -> bool:
        """Verify a chain from its newest checkpoint, and write one if enough was read.

        ``rest`` is called with the seconds that each part took. Return whether one was written.
        """
        with self._store.looking() as work:
            last = checkpoints_in(work).get(population, 0)
        if self._key is None or self.chain_ends().get(population, 0) - last < EVERY:
            return False
        with self._store.reading() as work:
            book = resume_book(work, population, self._key)
        now = self._clock()
        return write_checkpoint(self._store, book, self._key, now, rest) is not None

    def check_kept(self) -> None:
        """Raise `LedgerBroken` if the store lost what this process has seen, or keys differ."""
        check_kept(self._store, self._key)

    def populations(self) -> tuple[str, ...]:
        """Return the names of all populations that have a budget."""
        return tuple(head.population for head in take_anchor(self._store).heads)

    def chain_ends(self) -> dict[str, int]:
        """Return the number of the newest entry of each population's chain."""
        return {head.population: head.seq for head in take_anchor(self._store).heads}

    def book(self, population: str) -> Book:
        """Verify a chain from its first entry, and return all that it adds up to."""
        with self._store.reading() as work:
            return verify(population, walk(work, population))

    def current_book(self, population: str) -> Book:
        """Verify a chain from its newest checkpoint, and return what it adds up to.

        Of requests and stored answers, the book has those after the checkpoint only.
        """
        with self._store.reading() as work:
            book = current_book(work, population, self._key)
        write_if_due(self._store, book, self._key, self._clock())
        return book

    # ---------------------------------------------------------- governance

    @contextmanager
    def governing(self, *, by: str) -> Iterator[Governing]:
        """Open a unit of work for several acts of one owner: all are recorded, or none."""
        with governing(self._store, self._sign(by), self._key) as acts:
            yield acts

    def open_budget(
        self, population: Population, budget: Budget, owners: tuple[str, ...], *, by: str
    ) -> Entry:
        """Open a population's budget."""
        try:
            with self.governing(by=by) as acts:
                return acts.open_budget(population, budget, owners)
        except errors.Conflict as error:
            raise errors.InvalidValue(
                f"{population.name!r} already has a budget, and a budget is opened only once. "
                "To allow a larger loss, raise its cap."
            ) from error

    def raise_cap(self, population: str, amount: Loss, reason: str, *, by: str) -> Entry:
        """Raise a cap, or propose to raise it if a second owner must approve."""
        if amount.measure is not self.status(population).measure:
            raise errors.InvalidValue(
                f"The cap of {population!r} must be raised in the measure of its budget, and "
                f"not in {amount.measure.value}. State the amount in that measure."
            )
        units = Units.limit(amount)
        return self.propose(population, CapRaised(units.amount, units.delta, reason), by=by)

    def lower_cap(self, population: str, cap: Loss, reason: str = "", *, by: str) -> Entry:
        """Lower a cap to ``cap``, at once, and not below what is spent."""
        with self.governing(by=by) as acts:
            return acts.lower_cap(population, cap, reason)

    def propose(self, population: str, decision: Decision, *, by: str) -> Entry:
        """Propose a decision, which takes effect at once if there is no second owner.

        Otherwise a second owner approves it by the ``seq`` of the returned entry.
        """
        with self.governing(by=by) as acts:
            return acts.propose(population, decision)

    def approve(self, population: str, proposal: int, *, by: str) -> Entry:
        """Approve another owner's proposal."""
        with self.governing(by=by) as acts:
            return acts.approve(population, proposal)

    def withdraw(self, population: str, proposal: int, *, by: str) -> Entry:
        """Withdraw a proposal, as any owner."""
        with self.governing(by=by) as acts:
            return acts.withdraw(population, proposal)

    def set_quota(self, population: str, holder: str, cap: Loss, *, by: str) -> Entry:
        """Set the quota of an analyst, or of a group whose name begins with @."""
        with self.governing(by=by) as acts:
            return acts.set_quota(population, holder, cap)

    def set_default_quota(self, population: str, cap: Loss, *, by: str) -> Entry:
        """Set the quota of every analyst who has none of their own."""
        with self.governing(by=by) as acts:
            return acts.set_default_quota(population, cap)

    def set_least(self, population: str, share: Number, *, by: str) -> Entry:
        """Set the least price of a question, as a share of the cap."""
        with self.governing(by=by) as acts:
            return acts.set_least(population, exact(share))

    def join(self, population: str, principal: str, group: str, *, by: str) -> Entry:
        """Add an analyst to a group."""
        with self.governing(by=by) as acts:
            return acts.join(population, principal, group)

    def leave(self, population: str, principal: str, group: str, *, by: str) -> Entry:
        """Remove an analyst from a group."""
        with self.governing(by=by) as acts:
            return acts.leave(population, principal, group)

    def teams(self, population: str) -> dict[str, tuple[str, ...]]:
        """Return the members of each team: of each group of analysts."""
        return quotas.teams_of(self._store, population)

    def quotas(self, population: str) -> tuple[HolderStatus, ...]:
        """Return the quota and the spent sum of every analyst and team that has one."""
        return quotas.quotas_of(self._store, population)

    def waiting_proposals(self, population: str) -> dict[int, Proposed]:
        """Return the proposals that wait for a second owner, by number; lapsed ones do not."""
        return quotas.waiting_proposals(self._store, population, self._clock())

    def quota_requests(self, population: str) -> dict[int, QuotaRequested]:
        """Return the requests for a larger quota that no owner has decided, by number."""
        return quotas.quota_requests(self._store, population)

    def request_quota(
        self, population: str, cap: Loss, *, by: str, team: str | None = None, reason: str = ""
    ) -> Entry:
        """Ask, as an analyst, for a quota of ``cap`` in all; an owner decides."""
        signed, holder = self._sign(by), team or by
        return quotas.request_quota(
            self._store, population, cap, signed, holder=holder, reason=reason
        )

    def grant_quota(
        self, population: str, request: int | str, *, by: str, cap: Loss | None = None
    ) -> Entry:
        """Grant a request, with the amount that was asked for or with ``cap`` instead."""
        with self.governing(by=by) as acts:
            return quotas.grant_quota(acts, population, request, cap)

    def decline_quota(self, population: str, request: int | str, *, by: str) -> Entry:
        """Decline a request for a larger quota."""
        with self.governing(by=by) as acts:
            return quotas.decline_quota(acts, population, request)

    def declare(
        self, population: str, facts: tuple[str, ...], tables: tuple[str, ...] = (), *, by: str
    ) -> Entry:
        """Declare the population's tables and the public facts about them.

        The entry's ``seq`` is the declaration's number, which every later charge must name.
        """
        with self.governing(by=by) as acts:
            return acts.declare({population: Declaration(facts, tables)})[population]

    def freeze(self, population: str, *, by: str) -> Entry:
        """Stop all charges about a population, at once and at every server."""
        with self.governing(by=by) as acts:
            return acts.freeze(population)

    def charge_difference(self, anchor: Anchor, *, by: str) -> tuple[Difference, ...]:
        """Charge, as an owner, what this restored ledger has forgotten since ``anchor``."""
        return charge_difference(self._store, anchor, self._sign(by), self._key)

    def thaw(self, population: str, *, by: str) -> Entry:
        """Allow charges about a population again."""
        with self.governing(by=by) as acts:
            return acts.thaw(population)

    def _sign(self, by: str) -> Signature:
        return Signature(by, self._clock(), self._signer)
