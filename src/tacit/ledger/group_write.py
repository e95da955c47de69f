"""Write several charges and answers in one unit of work, in the order in which they came.

A unit of work costs a sync of the disk, and each of its statements costs a round trip to the
database. Both are shared here: the costs of a group are added up and decided by one conditional
update for each population (`tacit.ledger.chain.SPEND`), and the rows of all charges are sent
together. The chain has the same entries, with the same hashes, as if the charges had been
written one after the other.

A group only ever *grants*. It takes the members up to the first one that is not plain: a
request that is known, an answer that has a place already, a cost that does not fit, a
declaration that is not current. That member is written alone by `tacit.ledger.reserve`, which
decides and words every refusal. Where a statement of the group itself refuses, for example
because another process was first, `Conflict` is raised, nothing of the group is written, and
each member is written alone. So nothing is decided here that `reserve` would decide otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from sqlalchemy import Select, bindparam, insert, select

from tacit import errors
from tacit.ledger import reserve
from tacit.ledger.budget import BudgetRow, find_budget
from tacit.ledger.chain import STEP, write_all
from tacit.ledger.charge import NO_UNITS, Charge, ChargeRequest, StoredRelease, Units
from tacit.ledger.charge_rows import act_of, kept_row, offer_row, place_row, request_row
from tacit.ledger.entries import Act, AnswerStored, Entry, encode_act, follow
from tacit.ledger.group_quotas import count_for_many
from tacit.ledger.request_keys import many_keys
from tacit.store import Store, Work, check_continues
from tacit.store.tables import answers

_PLACE = insert(answers)
"""Claim the place of an answer that nobody ever claimed. `reserve.claim` takes over others."""


@dataclass(frozen=True, slots=True)
class ChargeWriting:
    """A charge that is to be written; see `reserve.reserve_charge`."""

    question: ChargeRequest
    nonce: bytes
    now: int
    until: int
    numbers: reserve.Numbers = field(default_factory=dict)

    def alone(self, store: Store) -> Charge | StoredRelease:
        """Charge the question in a unit of work of its own."""
        return reserve.reserve_charge(
            store,
            self.question,
            nonce=self.nonce,
            now=self.now,
            until=self.until,
            numbers=self.numbers,
        )


@dataclass(frozen=True, slots=True)
class AnswerWriting:
    """An answer that is to be stored; see `reserve.keep`."""

    charge: Charge
    body: bytes
    now: int

    def alone(self, store: Store) -> StoredRelease:
        """Store the answer in a unit of work of its own."""
        return reserve.keep(store, self.charge, self.body, self.now)


Member = ChargeWriting | AnswerWriting
Named = TypeVar("Named")


def write_group(work: Work, members: Sequence[Member]) -> list[Charge | StoredRelease]:
    """Write the first members within ``work``, up to the first one that is not plain.

    Return one result for each member that was written; the list may be empty.

    Guarantee: if ``work`` commits, every returned charge is within every cap and quota, and
    is in the chains, in the order of ``members``. An error means that ``work`` must be
    rolled back, and that each member must be written alone.
    """
    plain = _Prefix(work, members)
    if not plain.members:
        return []
    chains = {name: _take_numbers(work, name, plain) for name in sorted(plain.tallies)}
    holders = {
        (name, principal): found
        for name, tally in sorted(plain.tallies.items())
        for principal, found in count_for_many(work, name, tally.by_principal).items()
    }
    written = _Rows()
    results: list[Charge | StoredRelease] = []
    for member in plain.members:
        if isinstance(member, ChargeWriting):
            results.append(written.add_charge(member, plain, chains, holders))
        else:
            results.append(written.add_answer(member, chains))
    written.write(work)
    return results


# ------------------------------------------------------------------ the plain members


@dataclass(slots=True)
class _Tally:
    """The sums of a group for one population."""

    budget: BudgetRow
    declaration: int | None = None
    cost: Units = NO_UNITS
    smallest: int | None = None
    entries: int = 0
    by_principal: dict[str, Units] = field(default_factory=dict)

    def add(self, principal: str, cost: Units) -> None:
        """Count one more charge of ``principal``."""
        self.cost += cost
        self.by_principal[principal] = self.by_principal.get(principal, NO_UNITS) + cost
        if cost != NO_UNITS:
            smallest = cost.amount if self.smallest is None else self.smallest
            self.smallest = min(smallest, cost.amount)

    def has_room(self, cost: Units, declaration: int) -> bool:
        """Return whether one more charge seems to fit; the database decides it later."""
        row = self.budget
        return (
            not row.frozen
            and not row.locked
            and row.declared == declaration
            and self.declaration in {None, declaration}
            and self.cost + cost <= row.cap - row.spent
        )


class _Prefix:
    """The members of a group up to the first one that is not plain, and their sums."""

    def __init__(self, work: Work, members: Sequence[Member]) -> None:
        self._work = work
        self.tallies: dict[str, _Tally] = {}
        self.costs: dict[int, list[tuple[Units, str]]] = {}
        """The cost and the text of the event of each target, by the identity of its charge."""
        self.members: list[Member] = []
        known = _find_known(work, members)
        for member in members:
            if isinstance(member, AnswerWriting):
                for entry in member.charge.entries:
                    self._tally(entry.population).entries += 1
            elif not self._take_charge(member, known):
                break
            self.members.append(member)

    def _tally(self, population: str) -> _Tally:
        if population not in self.tallies:
            self.tallies[population] = _Tally(find_budget(self._work, population))
        return self.tallies[population]

    def _take_charge(self, member: ChargeWriting, known: set[object]) -> bool:
        """Count ``member``; return False, and count nothing, if it must be written alone."""
        asked = member.question
        keys = {asked.release_key, *_names_of_key(asked)}
        if keys & known:
            return False
        priced = []
        for target in asked.targets:
            name = target.population.name
            try:
                tally = self._tally(name)
                tally.budget.check(target.population)
                cost, event = reserve.cost_of_event(
                    tally.budget, target.event, asked.price_delta
                )
            except errors.TacitError:
                return False
            if not tally.has_room(cost, member.numbers.get(name, 0)):
                return False
            priced.append((cost, event))
        for target, (cost, _) in zip(asked.targets, priced, strict=True):
            tally = self.tallies[target.population.name]
            tally.declaration = member.numbers.get(target.population.name, 0)
            tally.entries += 1
            tally.add(asked.principal, cost)
        self.costs[id(member)] = priced
        known |= keys
        return True


def _find_known(work: Work, members: Sequence[Member]) -> set[object]:
    """Return the release keys and request keys of ``members`` that the store has already."""
    asked = [member.question for member in members if isinstance(member, ChargeWriting)]
    if not asked:
        return set()
    names = [name for question in asked for name in _names_of_key(question)]
    places = {f"release{at}": each.release_key for at, each in enumerate(_pad_to_power(asked))}
    keys: dict[str, object] = {}
    for at, (who, request) in enumerate(_pad_to_power(names)):
        keys |= {f"who{at}": who, f"request{at}": request}
    found: set[object] = {bytes(row[0]) for row in work.all(_many_places(len(places)), places)}
    rows = work.all(many_keys(len(keys) // 2), keys)
    return found | {(who, bytes(request)) for who, request in rows}


def _names_of_key(question: ChargeRequest) -> tuple[tuple[str, bytes], ...]:
    """Return the names under which the idempotency key of ``question`` may be stored."""
    hashes = {question.request_key, question.old_request_key}
    return tuple((question.principal, each) for each in sorted(hashes))


def _pad_to_power(found: list[Named]) -> list[Named]:
    """Return ``found`` with its last element repeated up to a power of 2.

    So few different statements are compiled and prepared.
    """
    size = 1 << (len(found) - 1).bit_length()
    return [*found, *(found[-1] for _ in range(size - len(found)))]


@lru_cache
def _many_places(size: int) -> Select[Any]:
    """Return the statement that looks up the places of ``size`` answers."""
    places: list[Any] = [bindparam(f"release{number}") for number in range(size)]
    return select(answers.c.release).where(answers.c.release.in_(places))


# ------------------------------------------------------------------ numbers and rows


class _Chain:
    """The end of one chain, to which the group appends."""

    def __init__(self, population: str, last: int, head: bytes, budget: BudgetRow) -> None:
        self._population = population
        self._last = last
        self._head = head
        self.budget = budget

    def append(self, act: Act) -> Entry:
        """Return the next entry of the chain, with the text of ``act``."""
        entry = follow(self._head, self._population, self._last + 1, encode_act(act))
        self._last, self._head = entry.seq, entry.hash
        return entry


def _take_numbers(work: Work, population: str, plain: _Prefix) -> _Chain:
    """Spend the cost of the group, take the numbers of its entries, and lock the chain."""
    tally = plain.tallies[population]
    taken = {"at": population, "entries": tally.entries}
    if tally.declaration is None:  # the group has only answers about this population
        place = work.one(STEP, taken)
    else:
        asked = {
            "amount": tally.cost.amount,
            "delta": tally.cost.delta,
            "smallest": tally.smallest or 0,
            "declaration": tally.declaration,
        }
        place = reserve.spend(work, {**taken, **asked})
    if place is None:
        raise errors.Conflict("The group does not fit, and nothing was written; try again.")
    last, head, found, *incidents = place
    check_continues(work, population, last - tally.entries, head, found)
    counted = dict(zip(("missed", "failed", "retried"), incidents, strict=False))
    return _Chain(population, last - tally.entries, head, tally.budget._replace(**counted))


class _Rows:
    """The rows that a group writes."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._places: list[dict[str, object]] = []
        self._requests: list[dict[str, object]] = []
        self._bodies: list[dict[str, object]] = []
        self._offers: list[dict[str, object]] = []

    def add_charge(
        self,
        member: ChargeWriting,
        plain: _Prefix,
        chains: dict[str, _Chain],
        holders: dict[tuple[str, str], tuple[str, ...]],
    ) -> Charge:
        """Add the rows of a charge, and return the charge."""
        asked, lines = member.question, []
        for name, (cost, event) in zip(asked.populations, plain.costs[id(member)], strict=True):
            act = act_of(
                asked,
                member.nonce,
                member.now,
                cost,
                event,
                holders[name, asked.principal],
                member.numbers.get(name, 0),
            )
            lines.append(chains[name].append(act))
        records = tuple(chains[name].budget.record for name in asked.populations)
        charge = reserve.charge_of(asked, tuple(lines), records)
        self._entries += lines
        self._places.append(place_row(charge, member.until))
        self._requests.append(request_row(asked, member.nonce, lines))
        return charge

    def add_answer(self, member: AnswerWriting, chains: dict[str, _Chain]) -> StoredRelease:
        """Add the rows of an answer, and return the answer."""
        charge, body = member.charge, member.body
        digest = sha256(body).hexdigest()
        lines = [
            chains[entry.population].append(
                AnswerStored(entry.seq, charge.release_key.hex(), digest, member.now)
            )
            for entry in charge.entries
        ]
        self._entries += lines
        self._bodies.append(kept_row(charge, body))
        if charge.loss is not None:
            self._offers.append(offer_row(charge, charge.loss, lines[0].seq))
        return StoredRelease(body, charge.receipt)

    def write(self, work: Work) -> None:
        """Write all rows; raise `Conflict` if an answer has lost its place."""
        write_all(work, self._entries)
        work.run_many(_PLACE, self._places)
        work.run_many(reserve.REMEMBER, self._requests)
        if work.run_many(reserve.KEEP, self._bodies) != len(self._bodies):
            raise errors.Conflict(
                "An answer is already stored, or another charge replaced one; try again."
            )
        work.run_many(reserve.OFFER, self._offers)
