"""The rules that every entry of a chain keeps, whoever wrote it."""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce

from tacit.core import Budget, Measure, Neighbours, Numerics, decode_event
from tacit.errors import LedgerBroken, TacitError
from tacit.ledger import entries as acts
from tacit.ledger.budget import USUAL_SHARE, least_amount
from tacit.ledger.charge import (
    NO_LIMIT,
    NO_TROUBLES,
    NO_UNITS,
    Troubles,
    Units,
    binding_of,
    price,
)


def require(holds: bool, rule: str) -> None:  # noqa: FBT001
    """Refuse an entry that does not keep ``rule``."""
    if not holds:
        raise LedgerBroken(f"it breaks the rule that {rule}")


def hash_in(text: str) -> bytes:
    """The hash, or the nonce, that an entry writes in hexadecimal."""
    rule = "a hash is hexadecimal"
    try:
        read = bytes.fromhex(text)
    except ValueError as error:
        raise LedgerBroken(f"it breaks the rule that {rule}") from error
    require(read.hex() == text, rule)
    return read


def countable(limit: Units, measure: str) -> Units:
    """``limit``, where a store can count up to it in ``measure``."""
    require(limit <= NO_LIMIT, "a limit is counted in 64 bits")
    require(not limit.delta or measure != Measure.PURE.value, "a pure loss has no delta")
    return limit


def check_opening(act: acts.Opened) -> None:
    """Refuse the opening of a budget that nobody could have opened."""
    require(act.by in act.owners, "an owner opens a budget")
    require(len(set(act.owners)) == len(act.owners), "owners are named once")
    try:
        Neighbours(act.neighbours)
        cap = Units(act.amount, act.delta).loss(Measure(act.measure))
        idealised = {0: False, 1: True}[act.idealised]
        budget = Budget(cap, Fraction(act.conversion_delta), idealised)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("it breaks the rule that a budget has a meaning") from error
    written = str(budget.conversion_delta)
    require(written == act.conversion_delta, "a fraction is written in one way")


@lru_cache(maxsize=4096)
def due(event: str, opened: acts.Opened, price_delta: str) -> Units:
    """What ``event`` costs by today's accounting, under the budget that was opened."""
    try:
        read = decode_event(event)
        units = price(read, Measure(opened.measure), Fraction(price_delta))
    except (TacitError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("it breaks the rule that an event has a price") from error
    exact = read.numerics is not Numerics.IDEALISED
    require(exact or bool(opened.idealised), "a budget of exact noise holds no other")
    return units


# ------------------------------------------------------------------ book
# What a chain adds up to, by reading it from its first entry: the second opinion.
#
# Nothing here looks at the tables that `reserve` keeps: an auditor with the exported log
# alone comes to the same sums, or says where they cannot be right.


class Book:
    """The state of one population's budget after the entries read so far."""

    def __init__(self, population: str) -> None:
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
        """What the owners last said is publicly known of the tables."""
        self.declaration = 0
        """The number of the declaration that holds; 0 before the first that has one."""
        self.holdings: dict[str, bool] = {}
        """The tables that are (True) or once were (False) this population's, by identity."""
        self.inherited: dict[str, Units] = {}
        """What was spent on these people under other populations, by the other's name."""
        self.inherited_troubles: dict[str, Troubles] = {}
        """How often answers about them were late or failed there, by the other's name."""
        self.frozen = False
        """Whether an owner has stopped all charges."""
        self.proposals: dict[int, acts.Proposed] = {}
        self.requests: dict[tuple[str, bytes], bytes] = {}
        """What each request stands for, by its principal and its key."""
        self.paid = 0
        """How many charges cost anything: the steps of a stream were paid for at its start."""
        self.shared: dict[str, acts.Charged] = {}
        """The charges that stand in the chains of other populations too, by their nonces."""
        self.unanswered: dict[int, bytes] = {}
        """The release of each charge that has no answer, by the place of the charge."""
        self.kept: dict[bytes, bytes] = {}
        """The hash of each answer, by its release."""
        self.missed: set[int] = set()
        """The charges whose answers missed their deadlines."""
        self.failed: set[int] = set()
        """The charges that failed for good."""
        self.retried: set[int] = set()
        """The charges that were run once more."""
        self.looked = 0
        """How many reasons to look an owner has looked at."""
        self.least_share = USUAL_SHARE
        """The least price of a question, as a share of the cap."""
        self._least_said = False
        self.states: dict[str, tuple[int, str]] = {}
        """The last version of each sealed state, and the hash of its bytes."""

    def read_all(self, entries: Iterable[acts.Entry]) -> "Book":
        """This book after all of ``entries``."""
        for entry in entries:
            self.read(entry)
        return self

    def read(self, entry: acts.Entry) -> acts.Act:
        """Add one entry; `LedgerBroken` where it does not follow, or breaks a rule."""
        self.seq += 1
        if entry.seq != self.seq or entry.population != self.population:
            raise self.broken("another entry stands in its place")
        if not entry.body.isascii():
            raise self.broken("its text is not canonical")
        if acts.follow(self.head, self.population, self.seq, entry.body).hash != entry.hash:
            raise self.broken("its hash does not follow from the entry before and its text")
        self.head = entry.hash
        try:
            act = acts.decode_act(entry.body)
            self._apply(act)
        except LedgerBroken as error:
            raise self.broken(str(error).rstrip(".")) from error
        return act  # type: ignore[return-value]

    def broken(self, why: str) -> LedgerBroken:
        """The error that names the entry at hand."""
        return LedgerBroken(f"Entry {self.seq} of {self.population!r}: {why}.")

    def _apply(self, act: acts.Act | acts.Decision) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a kind
        require(
            (self.seq == 1) == isinstance(act, acts.Opened), "a chain begins with its opening"
        )
        match act:
            case acts.Opened():
                self._open(act)
            case acts.Charged():
                self._charge(act)
            case acts.AnswerStored(charge, release, answer, _):
                key = hash_in(release)
                paid = self.unanswered.pop(charge, None)
                require(paid == key, "an answer belongs to a charge")
                require(charge not in self.missed, "what was missed is not answered")
                require(charge not in self.failed, "what failed is not answered")
                require(key not in self.kept, "an answer is stored once")
                self.kept[key] = hash_in(answer)
            case acts.Missed(charge, _):
                require(charge in self.unanswered, "what is missed was charged")
                require(charge not in self.missed, "an answer is missed once")
                self.missed.add(charge)
            case acts.Retried(charge, _):
                require(charge in self.unanswered, "what is run again was charged")
                require(charge not in self.retried, "a charge is run again once")
                require(charge not in self.failed, "what failed is not run again")
                self.retried.add(charge)
            case acts.Failed(charge, _):
                require(charge in self.unanswered, "what fails was charged")
                require(charge not in self.failed, "a charge fails once")
                self.failed.add(charge)
            case acts.Looked(by, _):
                self._owner(by)
                require(self.looked < self.marks, "an owner looks at what was late or failed")
                self.looked = self.marks
            case acts.LeastSet(share, by, _):
                self._owner(by)
                self._set_least(share)
            case acts.StateSealed(state, version, digest):
                before = self.states.get(hash_in(state).hex(), (version - 1, ""))[0]
                require(version >= 1, "the versions of a state begin with 1")
                require(version == before + 1, "the versions of a state follow each other")
                self.states[state] = version, hash_in(digest).hex()
            case acts.QuotaSet(holder, amount, delta, by, _):
                self._owner(by)
                self.quotas[holder] = countable(Units(amount, delta), self._measure)
            case acts.Joined(principal, group, by, _):
                self._owner(by)
                joined = self.groups.setdefault(principal, set())
                require(group not in joined, "an analyst joins a group once")
                joined.add(group)
            case acts.FactsDeclared(facts, by, _):
                self._owner(by)
                self.declared = facts
            case acts.Described(facts, tables, by, _):
                self._owner(by)
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
                    "charges stop and go on in turn",
                )
                self.frozen = isinstance(act, acts.Frozen)
            case acts.Proposed(decision, by, _):
                self._owner(by)
                if len(self.owners) == 1:
                    self._decide(decision)
                else:
                    self.proposals[self.seq] = act
            case acts.Approved(proposal, by, _):
                self._owner(by)
                proposed = self.proposals.pop(proposal, None)
                require(proposed is not None, "an approval has a proposal")
                if proposed is not None:
                    require(proposed.by in self.owners - {by}, "a second owner approves")
                    self._decide(proposed.decision)
            case _:
                require(False, "a decision stands in a proposal")

    def _open(self, act: acts.Opened) -> None:
        self.opened, self.cap = act, countable(Units(act.amount, act.delta), act.measure)
        self.owners = set(act.owners)
        check_opening(act)

    def _charge(self, act: acts.Charged) -> None:
        cost = Units(act.amount, act.delta)
        if self.opened is not None:
            priced = due(act.event, self.opened, act.price_delta)
            require(priced <= cost, "a charge is at least the price of its event")
        require(self.population in act.populations, "a charge names whom it is about")
        request, release = (act.principal, hash_in(act.request)), hash_in(act.release)
        require(request not in self.requests, "a request is charged once")
        require(release not in self.kept, "what was answered is not charged again")
        require(self.looked == self.marks, "an owner looks before more is charged")
        least = least_amount(self.cap.amount, self.least_share)
        dear = not self._least_said or cost == NO_UNITS or cost.amount >= least
        require(dear, "a charge is free or at least the least price")
        require(not self.frozen, "nothing is charged while an owner has stopped all charges")
        require(
            act.declaration == self.declaration, "a charge names the declaration that holds"
        )
        self.paid += cost != NO_UNITS
        self.spent += cost
        require(self.spent <= self.cap, "the sum of charges stays within the cap")
        holders = (act.principal, *sorted(self.groups.get(act.principal, ())))
        require(act.holders == holders, "a charge counts for its analyst and their groups")
        for holder in holders:
            total = self.spent_by.get(holder, NO_UNITS) + cost
            require(total <= self.quotas.get(holder, NO_LIMIT), "a quota holds")
            self.spent_by[holder] = total
        self.requests[request] = binding_of(act.principal, act.populations, release)
        self.unanswered[self.seq] = release
        if len(act.populations) > 1:
            require(act.nonce not in self.shared, "a charge stands in a chain once")
            self.shared[act.nonce] = act

    def _inherit(self, act: acts.Inherited) -> None:
        source, cost = act.source, Units(act.amount, act.delta)
        troubles = Troubles(act.late, act.failed, act.retried)
        require(source != self.population, "a population inherits from another one")
        more = cost != NO_UNITS or troubles != NO_TROUBLES
        require(more, "what is inherited is more than nothing")
        all_seen = self.looked == self.marks
        self.inherited[source] = self.inherited.get(source, NO_UNITS) + cost
        if troubles != NO_TROUBLES:
            before = self.inherited_troubles.get(source, NO_TROUBLES)
            self.inherited_troubles[source] = before.plus(troubles)
        self.looked = self.marks if all_seen else self.looked
        self.spent += cost
        require(self.spent <= self.cap, "the sum of charges stays within the cap")

    @property
    def own(self) -> Units:
        """What was spent by questions about this population itself."""
        return self.spent - sum(self.inherited.values(), NO_UNITS)

    def _decide(self, decision: acts.Decision) -> None:
        match decision:
            case acts.CapRaised(amount, delta, _):
                rise = Units(amount, delta)
                require(rise != NO_UNITS, "a rise of a cap is more than nothing")
                self.cap = countable(self.cap + rise, self._measure)
            case acts.OwnerAdded(owner):
                require(owner not in self.owners, "owners are named once")
                self.owners.add(owner)
            case acts.OwnerRemoved(owner):
                require(owner in self.owners, "who is removed was an owner")
                self.owners.remove(owner)
                require(bool(self.owners), "the last owner stays")

    def _set_least(self, share: str) -> None:
        rule = "the least price is a share of the cap"
        try:
            self.least_share = Fraction(share)
        except (ValueError, ZeroDivisionError) as error:
            raise LedgerBroken(f"it breaks the rule that {rule}") from error
        require(str(self.least_share) == share and 0 <= self.least_share <= 1, rule)
        self._least_said = True

    @property
    def marks(self) -> int:
        """How often an owner had reason to look: late, failed, and every third retry."""
        return self.troubles.marks

    @property
    def own_troubles(self) -> Troubles:
        """How often answers about this population itself were late, failed or run again."""
        return Troubles(len(self.missed), len(self.failed), len(self.retried))

    @property
    def troubles(self) -> Troubles:
        """The same with what was inherited."""
        return reduce(Troubles.plus, self.inherited_troubles.values(), self.own_troubles)

    @property
    def _measure(self) -> str:
        return self.opened.measure if self.opened else ""

    def _owner(self, by: str) -> None:
        require(by in self.owners, "an owner governs")
