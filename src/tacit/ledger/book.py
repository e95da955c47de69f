"""What a chain adds up to, by reading it from its first entry: the second opinion.

Nothing here looks at the tables that `reserve` keeps: an auditor with the exported log alone
comes to the same sums, or says where they cannot be right.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from tacit.core.measure import Measure
from tacit.core.stored_event import decode as decode_event
from tacit.errors import LedgerBroken, TacitError
from tacit.ledger.act import (
    Act,
    Approved,
    CapRaised,
    Charged,
    Decision,
    Joined,
    Kept,
    Opened,
    OwnerAdded,
    OwnerRemoved,
    Proposed,
    QuotaSet,
)
from tacit.ledger.entry import GENESIS, Entry, follow
from tacit.ledger.stored_act import decode
from tacit.ledger.units import NO_LIMIT, NO_UNITS, Units, price


class Book:
    """The state of one population's budget after the entries read so far."""

    def __init__(self, population: str) -> None:
        self.population = population
        self.seq = 0
        self.head = GENESIS
        self.opened: Opened | None = None
        self.cap = self.spent = NO_UNITS
        self.owners: set[str] = set()
        self.quotas: dict[str, Units] = {}
        self.spent_by: dict[str, Units] = {}
        self.groups: dict[str, set[str]] = {}
        self.proposals: dict[int, Proposed] = {}
        self.charges: dict[int, str] = {}
        self.kept: dict[bytes, bytes] = {}

    def read_all(self, entries: Iterable[Entry]) -> "Book":
        """This book after all of ``entries``."""
        for entry in entries:
            self.read(entry)
        return self

    def read(self, entry: Entry) -> Act:
        """Add one entry; `LedgerBroken` where it does not follow, or breaks a rule."""
        self.seq += 1
        if entry.seq != self.seq or entry.population != self.population:
            raise self.broken("another entry stands in its place")
        if follow(self.head, self.population, self.seq, entry.body).hash != entry.hash:
            raise self.broken("its hash does not follow from the entry before and its text")
        self.head = entry.hash
        try:
            act = decode(entry.body)
            self._apply(act)
        except LedgerBroken as error:
            raise self.broken(str(error)) from error
        return act  # type: ignore[return-value]

    def broken(self, why: str) -> LedgerBroken:
        """The error that names the entry at hand."""
        return LedgerBroken(f"Entry {self.seq} of {self.population!r}: {why}.")

    def _apply(self, act: Act | Decision) -> None:
        _require((self.seq == 1) == isinstance(act, Opened), "a chain begins with its opening")
        match act:
            case Opened():
                self.opened, self.cap = act, Units(act.amount, act.delta)
                self.owners = set(act.owners)
                _require(act.by in self.owners, "an owner opens a budget")
            case Charged():
                self._charge(act)
            case Kept(charge, release, answer, _):
                paid = self.charges.pop(charge, None)
                _require(paid == release, "an answer belongs to a charge")
                key = _hash(release)
                _require(key not in self.kept, "an answer is stored once")
                self.kept[key] = _hash(answer)
            case QuotaSet(holder, amount, delta, by, _):
                self._owner(by)
                self.quotas[holder] = Units(amount, delta)
            case Joined(principal, group, by, _):
                self._owner(by)
                self.groups.setdefault(principal, set()).add(group)
            case Proposed(decision, by, _):
                self._owner(by)
                if len(self.owners) == 1:
                    self._decide(decision)
                else:
                    self.proposals[self.seq] = act
            case Approved(proposal, by, _):
                self._owner(by)
                proposed = self.proposals.pop(proposal, None)
                _require(proposed is not None, "an approval has a proposal")
                if proposed is not None:
                    _require(proposed.by != by, "a second owner approves")
                    self._decide(proposed.decision)
            case _:
                _require(False, "a decision stands in a proposal")

    def _charge(self, act: Charged) -> None:
        cost = Units(act.amount, act.delta)
        measure = self.opened.measure if self.opened else ""
        due = _price(act.event, measure, act.price_delta)
        _require(due <= cost, "a charge is at least the price of its event")
        self.spent += cost
        _require(self.spent <= self.cap, "the sum of charges stays within the cap")
        holders = (act.principal, *sorted(self.groups.get(act.principal, ())))
        _require(act.holders == holders, "a charge counts for its analyst and their groups")
        for holder in holders:
            total = self.spent_by.get(holder, NO_UNITS) + cost
            _require(total <= self.quotas.get(holder, NO_LIMIT), "a quota holds")
            self.spent_by[holder] = total
        self.charges[self.seq] = act.release

    def _decide(self, decision: Decision) -> None:
        match decision:
            case CapRaised(amount, delta, _):
                self.cap += Units(amount, delta)
            case OwnerAdded(owner):
                self.owners.add(owner)
            case OwnerRemoved(owner):
                self.owners.discard(owner)
                _require(bool(self.owners), "the last owner stays")

    def _owner(self, by: str) -> None:
        _require(by in self.owners, "an owner governs")


def _require(holds: bool, rule: str) -> None:  # noqa: FBT001
    if not holds:
        raise LedgerBroken(f"it breaks the rule that {rule}")


def _hash(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise LedgerBroken("it breaks the rule that a hash is hexadecimal") from error


@lru_cache(maxsize=4096)
def _price(event: str, measure: str, price_delta: str) -> Units:
    """What an event costs by today's accounting."""
    try:
        return price(decode_event(event), Measure(measure), Fraction(price_delta))
    except (TacitError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("it breaks the rule that an event has a price") from error
