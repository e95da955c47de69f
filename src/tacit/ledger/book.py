"""The rules that every chain must satisfy, and the state that a chain adds up to.

A `Book` reads a chain from its first entry. It checks that each entry follows from the one
before it, that it satisfies every rule (a charge costs at least the price of its event, the
sum of charges stays within the cap, only owners govern, ...), and it adds everything up.

Nothing here reads the tables that `tacit.ledger.reserve` maintains for speed. The book is a
second, independent computation of the same totals: an auditor who has only an exported ledger
obtains the same totals, or learns which entry is wrong.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce

from tacit.core import Budget, Measure, Neighbours, Numerics, decode_event
from tacit.errors import LedgerBroken, TacitError
from tacit.ledger import entries as acts
from tacit.ledger.book_state import (
    FORMS,
    NEWEST_FORM,
    read_state,
    signed_text,
    state_digest,
    state_text,
)
from tacit.ledger.budget import EVERYBODY, USUAL_SHARE, least_amount
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.charge import (
    NO_INCIDENTS,
    NO_LIMIT,
    NO_UNITS,
    IncidentCounts,
    Units,
    binding_of,
    price,
)
from tacit.ledger.declarations import follow_epochs, write_epochs
from tacit.ledger.owner_acts import Attested
from tacit.ledger.owner_keys import OwnerKeys, SignatureReader, ends_proposal
from tacit.store import is_signed


def require(holds: bool, rule: str) -> None:  # noqa: FBT001
    """Raise `LedgerBroken`, which names ``rule``, if ``holds`` is false."""
    if not holds:
        raise LedgerBroken(f"the entry breaks the rule that {rule}")


def hash_in(text: str) -> bytes:
    """Return the hash or nonce that an entry writes in hexadecimal."""
    rule = "a hash is hexadecimal"
    try:
        read = bytes.fromhex(text)
    except ValueError as error:
        raise LedgerBroken(f"the entry breaks the rule that {rule}") from error
    require(read.hex() == text, rule)
    return read


def countable(limit: Units, measure: str) -> Units:
    """Return ``limit``; raise `LedgerBroken` if no budget in ``measure`` can have it."""
    require(limit <= NO_LIMIT, "a limit fits into 64 bits")
    require(not limit.delta or measure != Measure.PURE.value, "a pure loss has no delta")
    return limit


def check_opening(act: acts.Opened) -> None:
    """Raise `LedgerBroken` if a budget could not have been opened like this."""
    require(act.by in act.owners, "a budget is opened by one of its owners")
    require(len(set(act.owners)) == len(act.owners), "each owner is named once")
    try:
        Neighbours(act.neighbours)
        cap = Units(act.amount, act.delta).loss(Measure(act.measure))
        idealised = {0: False, 1: True}[act.idealised]
        budget = Budget(cap, Fraction(act.conversion_delta), idealised)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("the entry breaks the rule that a budget is well defined") from error
    written = str(budget.conversion_delta)
    require(written == act.conversion_delta, "a fraction is written in lowest terms")


@lru_cache(maxsize=4096)
def due(event: str, opened: acts.Opened, price_delta: str) -> Units:
    """Return the price of ``event`` by the current accounting, for the budget ``opened``."""
    try:
        read = decode_event(event)
        units = price(read, Measure(opened.measure), Fraction(price_delta))
    except (TacitError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("the entry breaks the rule that an event has a price") from error
    exact = read.numerics is not Numerics.IDEALISED
    require(exact or bool(opened.idealised), "a budget for exact noise allows no other noise")
    return units


class Book:
    """The state of one population's budget after the entries read so far."""

    def __init__(self, population: str) -> None:  # noqa: PLR0915 - one line a fact
        self.population = population
        self.seq = 0
        self.head = acts.GENESIS
        self.opened: acts.Opened | None = None
        self.cap = self.spent = NO_UNITS
        self.owners: set[str] = set()
        self.quotas: dict[str, Units] = {}
        self.spent_by: dict[str, Units] = {}
        self.groups: dict[str, set[str]] = {}
        self.declared: tuple[str, ...] = ()
        """Public facts about the tables, as the owners last declared them."""
        self.declaration = 0
        """Number of the current declaration; 0 before the first numbered one."""
        self.epochs: dict[str, int] = {}
        """The time at which each declared epoch began, by the fact that states it."""
        self.epochs_ever: dict[str, int] = {}
        """The time at which each epoch began for the first time, also of earlier epochs."""
        self.holdings: dict[str, bool] = {}
        """Identities of the tables that this population has (True) or once had (False)."""
        self.inherited: dict[str, Units] = {}
        """Loss spent on these people under other populations, by the other's name."""
        self.inherited_troubles: dict[str, IncidentCounts] = {}
        """Late, failed and retried answers under other populations, by the other's name."""
        self.frozen = False
        """Whether an owner has stopped all charges."""
        self.keys = OwnerKeys()
        """Keys with which the owners sign, and installations whose sign-ins they trust."""
        self.signatures = SignatureReader()
        self.proposals: dict[int, acts.Proposed] = {}
        self.quota_requests: dict[int, acts.QuotaRequested] = {}
        """Requests of analysts for a larger quota that no owner has decided."""
        self.requests: dict[tuple[str, bytes], bytes] = {}
        """The binding of each request (`binding_of`), by its principal and key."""
        self.paid = 0
        """Number of charges above zero. Steps of a stream are free: its start paid for them."""
        self.shared: dict[str, acts.Charged] = {}
        """Charges that are in the chains of other populations too, by nonce."""
        self.unanswered: dict[int, bytes] = {}
        """Release key of each charge without an answer, by the number of the charge's entry."""
        self.kept: dict[bytes, bytes] = {}
        """Hash of each stored answer, by release key."""
        self.missed: set[int] = set()
        """Entry numbers of charges whose answers missed their deadlines."""
        self.failed: set[int] = set()
        """Entry numbers of charges that failed for good."""
        self.retried: set[int] = set()
        """Entry numbers of charges that were run once more."""
        self.looked = 0
        """Number of incidents (`marks`) that an owner has reviewed."""
        self.least_share = USUAL_SHARE
        """The least price of a question, as a share of the cap."""
        self._has_least = False
        self.states: dict[str, tuple[int, str]] = {}
        """The last version of each sealed state, and the hash of its bytes."""
        self.lost: dict[str, int] = {}
        """Hashes of anchored entries that a restore lost, each with its number."""
        self.since = 0
        """Number of the checkpoint from which this book was resumed; 0 if from the start."""

    @classmethod
    def resume(cls, population: str, seq: int, previous: bytes, state: str) -> "Book":
        """Return the book before the checkpoint in entry ``seq``, which has the text ``state``.

        ``previous`` is the hash of the entry before. The caller has verified the signature.
        """
        book = cls(population)
        fields = read_state(state)
        if fields.keys() != FORMS[NEWEST_FORM]:
            raise LedgerBroken(
                "The state of a checkpoint has other fields than this version of Tacit writes. "
                "Run `tacit ledger verify --from-the-start`."
            )
        vars(book).update(fields)
        book.seq, book.head, book.since = seq - 1, previous, seq
        return book

    @property
    def state(self) -> str:
        """The state after the entries read so far, as the text that a checkpoint signs."""
        return state_text(vars(self))

    def read_all(self, entries: Iterable[acts.Entry]) -> "Book":
        """Read all of ``entries``, and return this book."""
        for entry in entries:
            self.read(entry)
        return self

    def read(self, entry: acts.Entry) -> acts.Act:
        """Read the next entry, and return its act.

        Raise `LedgerBroken` if the entry does not follow from the one before or breaks a rule.
        """
        self.seq += 1
        if entry.seq != self.seq or entry.population != self.population:
            raise self.entry_error("an entry with another number or population is in its place")
        if not entry.body.isascii():
            raise self.entry_error("the text of the entry is not canonical")
        if acts.follow(self.head, self.population, self.seq, entry.body).hash != entry.hash:
            raise self.entry_error(
                "the hash of the entry does not follow from the entry before and the text"
            )
        previous, self.head = self.head, entry.hash
        try:
            act = acts.decode_act(entry.body)
            if isinstance(act, Checkpointed):
                self._check_checkpoint(act, previous)
            self._apply(act)
        except LedgerBroken as error:
            raise self.entry_error(str(error).rstrip(".")) from error
        return act  # type: ignore[return-value]

    def entry_error(self, why: str) -> LedgerBroken:
        """Return an error that names the current entry and says what is wrong: ``why``."""
        return LedgerBroken(
            f"Entry {self.seq} of {self.population!r}: {why}. Restore the ledger from a backup."
        )

    def _apply(self, act: acts.Act | acts.Decision) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a kind
        require(
            (self.seq == 1) == isinstance(act, acts.Opened), "a chain begins with its opening"
        )
        self.signatures.read(act, self.seq, self.head, self.keys, self.owners)
        match act:
            case acts.Opened():
                self._open(act)
            case acts.Charged():
                self._charge(act)
            case acts.AnswerStored(charge, release, answer, _):
                key = hash_in(release)
                paid = self.unanswered.pop(charge, None)
                require(paid == key, "an answer belongs to a charge")
                require(charge not in self.missed, "a late charge is not answered")
                require(charge not in self.failed, "a failed charge is not answered")
                require(key not in self.kept, "an answer is stored once")
                self.kept[key] = hash_in(answer)
            case acts.Missed(charge, _):
                require(charge in self.unanswered, "only an unanswered charge can be late")
                require(charge not in self.missed, "a charge is late once")
                self.missed.add(charge)
            case acts.Retried(charge, _):
                require(charge in self.unanswered, "only an unanswered charge is retried")
                require(charge not in self.retried, "a charge is retried once")
                require(charge not in self.failed, "a failed charge is not retried")
                self.retried.add(charge)
            case acts.Failed(charge, _):
                require(charge in self.unanswered, "only an unanswered charge can fail")
                require(charge not in self.failed, "a charge fails once")
                self.failed.add(charge)
            case acts.Looked(by, _):
                self._owner(by)
                require(self.looked < self.marks, "an owner reviews late or failed answers")
                self.looked = self.marks
            case acts.LeastSet(share, by, _):
                self._owner(by)
                self._set_least(share)
            case acts.StateSealed(state, version, digest):
                before = self.states.get(hash_in(state).hex(), (version - 1, ""))[0]
                require(version >= 1, "the versions of a state begin with 1")
                require(version == before + 1, "the versions of a state are consecutive")
                self.states[state] = version, hash_in(digest).hex()
            case acts.QuotaSet(holder, amount, delta, by, _, request):
                self._owner(by)
                self.quotas[holder] = countable(Units(amount, delta), self._measure)
                if request:
                    self._settle_request(request, holder)
            case acts.QuotaRequested():
                self._request_quota(act)
            case acts.QuotaDeclined(request, by, _):
                self._owner(by)
                self._settle_request(request)
            case acts.DefaultQuotaSet(amount, delta, by, _):
                self._owner(by)
                self.quotas[EVERYBODY] = countable(Units(amount, delta), self._measure)
            case acts.Joined(principal, group, by, _):
                self._owner(by)
                joined = self.groups.setdefault(principal, set())
                require(group not in joined, "an analyst joins a group once")
                joined.add(group)
            case acts.MemberRemoved(principal, group, by, _):
                self._owner(by)
                joined = self.groups.get(principal, set())
                require(group in joined, "only a member is removed from a group")
                joined.remove(group)
            case acts.FactsDeclared(facts, by, at):
                self._owner(by)
                self.declared = facts
                self._follow_epochs(facts, at)
            case acts.Described(facts, tables, by, at, since):
                self._owner(by)
                self._follow_epochs(facts, at)
                begun = since in {(), write_epochs(self.epochs)}
                require(begun, "an epoch begins with the first declaration that names it")
                self.declared, self.declaration = facts, self.seq
                self.holdings |= dict.fromkeys(self.holdings, False) | dict.fromkeys(
                    tables, True
                )
            case acts.Inherited():
                self._owner(act.by)
                self._inherit(act)
            case acts.Frozen(by, _) | acts.Thawed(by, _):
                self._owner(by)
                require(
                    self.frozen == isinstance(act, acts.Thawed),
                    "charges are stopped and allowed in turn",
                )
                self.frozen = isinstance(act, acts.Frozen)
            case Checkpointed():
                pass  # it changes nothing, and was checked before
            case Restored():
                self._owner(act.by)
                self._restore(act)
            case acts.CapLowered(amount, delta, _, by, _):
                self._owner(by)
                lower = Units(amount, delta)
                less = lower <= self.cap and lower != self.cap
                require(less, "a cap is lowered to less than it was")
                require(self.spent <= lower, "a cap is not lowered below what is spent")
                self.cap = lower
            case acts.Proposed(decision, by, at, lapses):
                self._owner(by)
                require(not lapses or lapses > at, "a proposal lapses after it was made")
                self._keep_rule(self.keys.broken_proposal(by, decision))
                if len(self.owners) == 1:
                    self._decide(decision)
                else:
                    self.proposals[self.seq] = act
            case acts.Approved(proposal, by, at):
                self._owner(by)
                proposed = self.proposals.pop(proposal, None)
                require(proposed is not None, "an approval has a proposal")
                if proposed is not None:
                    require(proposed.by in self.owners - {by}, "a second owner approves")
                    in_time = not proposed.lapses or at < proposed.lapses
                    require(in_time, "a proposal is approved before it lapses")
                    signed = self.keys.can_approve(proposal, proposed)
                    require(signed, "an approved proposal has a signature that still counts")
                    self._decide(proposed.decision)
            case acts.ProposalWithdrawn(proposal, by, _):
                self._owner(by)
                withdrawn = self.proposals.pop(proposal, None)
                require(withdrawn is not None, "a proposal that waits is withdrawn")
            case Attested():
                pass  # it was checked above
            case _:
                require(False, "a decision is part of a proposal")

    def _open(self, act: acts.Opened) -> None:
        self.opened, self.cap = act, countable(Units(act.amount, act.delta), act.measure)
        self.owners = set(act.owners)
        check_opening(act)

    def _charge(self, act: acts.Charged) -> None:
        cost = Units(act.amount, act.delta)
        if self.opened is not None:
            priced = due(act.event, self.opened, act.price_delta)
            require(priced <= cost, "a charge is at least the price of its event")
        require(self.population in act.populations, "a charge names its populations")
        request, release = (act.principal, hash_in(act.request)), hash_in(act.release)
        require(request not in self.requests, "a request is charged once")
        require(release not in self.kept, "an answered question is not charged again")
        require(self.looked == self.marks, "an owner reviews incidents before the next charge")
        least = least_amount(self.cap.amount, self.least_share)
        above = not self._has_least or cost == NO_UNITS or cost.amount >= least
        require(above, "a charge is free or at least the least price")
        require(not self.frozen, "nothing is charged while an owner has stopped all charges")
        require(act.declaration == self.declaration, "a charge names the current declaration")
        self.paid += cost != NO_UNITS
        self.spent += cost
        require(self.spent <= self.cap, "the sum of charges stays within the cap")
        holders = (act.principal, *sorted(self.groups.get(act.principal, ())))
        require(act.holders == holders, "a charge counts for its analyst and their groups")
        for holder in holders:
            total = self.spent_by.get(holder, NO_UNITS) + cost
            usual = EVERYBODY if holder == act.principal else holder
            quota = self.quotas.get(holder, self.quotas.get(usual, NO_LIMIT))
            require(total <= quota, "no quota is exceeded")
            self.spent_by[holder] = total
        self.requests[request] = binding_of(act.principal, act.populations, release)
        self.unanswered[self.seq] = release
        if len(act.populations) > 1:
            require(act.nonce not in self.shared, "a charge is in a chain once")
            self.shared[act.nonce] = act

    def _follow_epochs(self, facts: tuple[str, ...], at: int) -> None:
        self.epochs = follow_epochs(self.epochs, facts, at)
        self.epochs_ever = self.epochs | self.epochs_ever

    def _inherit(self, act: acts.Inherited) -> None:
        source, cost = act.source, Units(act.amount, act.delta)
        troubles = IncidentCounts(act.late, act.failed, act.retried)
        require(source != self.population, "a population inherits from another one")
        more = cost != NO_UNITS or troubles != NO_INCIDENTS
        require(more, "an inherited amount is above zero")
        all_seen = self.looked == self.marks
        self.inherited[source] = self.inherited.get(source, NO_UNITS) + cost
        if troubles != NO_INCIDENTS:
            before = self.inherited_troubles.get(source, NO_INCIDENTS)
            self.inherited_troubles[source] = before.plus(troubles)
        self.looked = self.marks if all_seen else self.looked
        self.spent += cost
        require(self.spent <= self.cap, "the sum of charges stays within the cap")

    def _check_checkpoint(self, act: Checkpointed, previous: bytes) -> None:
        """Check that a checkpoint states what the entries add up to, and its signature."""
        require(act.form in FORMS, "a checkpoint has a form that this version knows")
        state = state_text(vars(self), act.form)
        same = act.state == state_digest(state, act.form)
        require(same, "a checkpoint states what was added up")
        signed = signed_text(self.population, self.seq, previous, act.state)
        key, signature = hash_in(act.key), hash_in(act.signature)
        require(is_signed(signed, signature, key), "a checkpoint is signed with its key")

    def _restore(self, act: Restored) -> None:
        lost, cost = hash_in(act.lost).hex(), Units(act.amount, act.delta)
        require(lost not in self.lost, "a lost entry is charged for once")
        self.lost[lost] = act.place
        self.spent += cost
        require(self.spent <= self.cap, "the sum of charges stays within the cap")

    @property
    def own(self) -> Units:
        """Loss spent by questions about this population itself, without inherited amounts."""
        return self.spent - sum(self.inherited.values(), NO_UNITS)

    def _decide(self, decision: acts.Decision) -> None:
        self._keep_rule(self.keys.broken_rule(decision))
        if self.keys.since:  # version 0.1, which had no keys, left such proposals
            ended = any(ends_proposal(decision, each) for each in self.proposals.values())
            require(not ended, "a proposal ends with its owner, and with trusted sign-ins")
        self.keys = self.keys.after(decision, self.seq)
        match decision:
            case acts.CapRaised(amount, delta, _):
                rise = Units(amount, delta)
                require(rise != NO_UNITS, "a cap is raised by more than zero")
                self.cap = countable(self.cap + rise, self._measure)
            case acts.OwnerAdded(owner):
                require(owner not in self.owners, "each owner is named once")
                self.owners.add(owner)
            case acts.OwnerRemoved(owner):
                require(owner in self.owners, "only an owner can be removed as owner")
                self.owners.remove(owner)
                require(bool(self.owners), "the last owner is not removed")

    def _request_quota(self, act: acts.QuotaRequested) -> None:
        wanted = countable(Units(act.amount, act.delta), self._measure)
        require(wanted != NO_UNITS, "a requested quota is above zero")
        groups = self.groups.get(act.principal, set())
        own = act.holder in {act.principal, *groups}
        require(own, "an analyst requests a quota for themselves or for a group of theirs")
        waiting = {each.principal for each in self.quota_requests.values()}
        require(act.principal not in waiting, "an analyst has one open request")
        self.quota_requests[self.seq] = act

    def _settle_request(self, request: int, holder: str | None = None) -> None:
        asked = self.quota_requests.pop(request, None)
        require(asked is not None, "an owner decides an open request")
        same = asked is None or holder in {None, asked.holder}
        require(same, "a granted quota is for the holder who was named in the request")

    def _set_least(self, share: str) -> None:
        rule = "the least price is a share of the cap"
        try:
            self.least_share = Fraction(share)
        except (ValueError, ZeroDivisionError) as error:
            raise LedgerBroken(f"the entry breaks the rule that {rule}") from error
        require(str(self.least_share) == share and 0 <= self.least_share <= 1, rule)
        self._has_least = True

    @property
    def marks(self) -> int:
        """Number of incidents that an owner must review: late, failed, every third retry."""
        return self.troubles.marks

    @property
    def own_troubles(self) -> IncidentCounts:
        """Late, failed and retried answers about this population itself."""
        return IncidentCounts(len(self.missed), len(self.failed), len(self.retried))

    @property
    def troubles(self) -> IncidentCounts:
        """Late, failed and retried answers, including the inherited ones."""
        return reduce(IncidentCounts.plus, self.inherited_troubles.values(), self.own_troubles)

    @property
    def _measure(self) -> str:
        return self.opened.measure if self.opened else ""

    def can_approve(self, proposal: int, act: acts.Proposed) -> bool:
        """Return whether a second owner can still approve the proposal ``act``, in time.

        Its owner must still be one, and where acts are signed, the key must still count.
        """
        return act.by in self.owners and self.keys.can_approve(proposal, act)

    def check_end(self) -> None:
        """Raise `LedgerBroken` if the last entry needs a signature, which is missing."""
        try:
            self.signatures.check_end()
        except LedgerBroken as error:
            raise self.entry_error(str(error)) from error

    def _keep_rule(self, broken: str | None) -> None:
        require(broken is None, broken or "")

    def _owner(self, by: str) -> None:
        require(by in self.owners, "only an owner governs")
