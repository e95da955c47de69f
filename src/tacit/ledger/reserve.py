"""Charge a question, durably, before anything touches data.

Everything happens in one unit of work: the request's key and the stored answer are looked up,
one conditional update decides whether the cost fits, quotas are counted, and the entry joins
the chain. What another writer did at the same moment makes the whole of it vanish, and it is
looked up again.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from sqlalchemy import bindparam, insert, select

from tacit.core.event import Event, Numerics
from tacit.core.stored_event import encode as encode_event
from tacit.errors import (
    AnswerLost,
    BudgetExceeded,
    ChargesFrozen,
    Conflict,
    ConnectionLost,
    DeclarationsChanged,
    InternalError,
    InvalidValue,
    KeyReused,
    PopulationLocked,
    StoreFailed,
)
from tacit.ledger.act import Charged
from tacit.ledger.answer import claim, look, parked, resume
from tacit.ledger.budget_row import BudgetRow, find_budget
from tacit.ledger.chain import SPEND, hold, write
from tacit.ledger.charge import Answer, Charge, Record
from tacit.ledger.entry import Entry
from tacit.ledger.least import at_least
from tacit.ledger.question import Question, Target
from tacit.ledger.quota import count, holders_of
from tacit.ledger.stored_act import encode
from tacit.ledger.units import NO_UNITS, Units, price
from tacit.store.store import Store
from tacit.store.tables import entries, requests
from tacit.store.work import Work

ATTEMPTS = 100
"""How often a writer that lost to others looks again; each time, another one has won."""

_KNOWN = select(requests.c.binding, requests.c.nonce, requests.c.places).where(
    requests.c.principal == bindparam("who"), requests.c.request == bindparam("key")
)
_REMEMBER = insert(requests)
_ENTRY = select(entries.c.body, entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)


Numbers = Mapping[str, int]
"""The declaration of each population by which a question was priced; 0 where there is none."""

UNDECLARED: Numbers = {}
"""No declaration at all: what is priced so is charged only where the ledger holds none."""

_event_text = lru_cache(maxsize=4096)(encode_event)
"""The text of an event, of which questions use few."""


def reserve(  # noqa: PLR0913 - who asks what, when, and priced by what
    store: Store,
    question: Question,
    *,
    nonce: bytes,
    now: int,
    until: int,
    numbers: Numbers = UNDECLARED,
) -> Charge | Answer:
    """The charge that pays for ``question``, or the answer that was paid for before.

    ``nonce`` is fresh for each call: it tells this call's own charge from another's when the
    database went away before it said that the charge was written. Until ``until``, others who
    ask the same are told to wait. ``numbers`` are the declarations that it was priced by; where
    the ledger holds others, `DeclarationsChanged` is raised.

    Guarantee: when a `Charge` is returned it is durable, in every population's chain, within
    every cap and quota. Where anything is raised, nothing was charged, but for `StoreFailed`,
    after which the same request tells.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                return reserve_within(work, question, nonce, now, until, numbers)
        except (Conflict, ConnectionLost):
            continue
        except (BudgetExceeded, PopulationLocked, ChargesFrozen, DeclarationsChanged):
            # whoever took the last of the budget may have paid for this very question
            with store.reading() as work:
                if parked(work, question.release_key) is not None:
                    raise
                paid = _paid_before(work, question, nonce, now)
            if paid is None:
                raise
            return paid
    raise StoreFailed("The store's database does not answer; ask again with the same key.")


def _paid_before(
    work: Work, question: Question, nonce: bytes, now: int
) -> Charge | Answer | None:
    """What this request, or this question, was paid for before; None where it was not."""
    known = work.one(_KNOWN, {"who": question.principal, "key": question.request_key})
    if known is not None:
        binding, charged_by, places = known
        if binding != question.binding:
            raise KeyReused(
                "This request's key was used for another question; take a new key for each "
                "question, and the same key only to send one again."
            )
        if charged_by == nonce:
            return _own_charge(work, question, places)
    stored = look(work, question.release_key, now)
    if stored is not None:
        return stored
    if known is not None:
        raise AnswerLost
    return None


def reserve_within(  # noqa: PLR0913, PLR0917 - a part of `reserve`
    work: Work,
    question: Question,
    nonce: bytes,
    now: int,
    until: int,
    numbers: Numbers = UNDECLARED,
) -> Charge | Answer:
    """What `reserve` does, as a part of a unit of work."""
    places = parked(work, question.release_key)
    if places is not None:
        return _taken_up(work, question, places, until, numbers)
    paid = _paid_before(work, question, nonce, now)
    if paid is not None:
        return paid
    charged = [
        _charge(work, question, target, nonce, now, numbers.get(target.population.name, 0))
        for target in question.targets
    ]
    lines = tuple([line for line, _ in charged])
    charge = Charge(lines, question.release_key, tuple([record for _, record in charged]))
    claim(work, charge, now, until)
    work.run(
        _REMEMBER,
        {
            "principal": question.principal,
            "request": question.request_key,
            "binding": question.binding,
            "nonce": nonce,
            "places": " ".join([str(line.seq) for line in lines]),
        },
    )
    return charge


def _charge(  # noqa: PLR0913, PLR0917 - a part of `reserve`
    work: Work, question: Question, target: Target, nonce: bytes, now: int, declaration: int
) -> tuple[Entry, Record]:
    """The entry in one population's chain, and how earlier answers about them ended."""
    name = target.population.name
    budget = find_budget(work, name)
    budget.check(target.population)
    cost, event = _cost(budget, target.event, question.price_delta)
    asked = {"amount": cost.amount, "delta": cost.delta, "declaration": declaration}
    place = work.one(SPEND, {"at": name, **asked})
    if place is None:
        found = find_budget(work, name)
        if at_least(cost, found.least_amount) != cost:
            raise Conflict("The least price was raised meanwhile; look again.")
        raise found.refusal(name, cost, declaration)
    seq, previous, missed, failed, retried = place
    record = budget._replace(missed=missed, failed=failed, retried=retried).record
    # what was read before the row was ours may be out of date
    holders = holders_of(work, name, question.principal)
    for holder in holders:
        count(work, name, holder, cost)
    act = Charged(
        principal=question.principal,
        holders=holders,
        request=question.request_key.hex(),
        plan=question.plan.hex(),
        release=question.release_key.hex(),
        event=event,
        amount=cost.amount,
        delta=cost.delta,
        price_delta=str(question.price_delta),
        populations=question.populations,
        nonce=nonce.hex(),
        at=now,
        declaration=declaration,
    )
    return write(work, name, seq, previous, encode(act)), record


def _cost(budget: BudgetRow, event: Event, price_delta: Fraction) -> tuple[Units, str]:
    if event.numerics is Numerics.IDEALISED and not budget.idealised:
        raise InvalidValue(
            "This question uses noise whose law holds for real numbers only, and the budget "
            "allows exact noise alone; choose another mechanism."
        )
    cost = price(event, budget.measure, price_delta)
    return at_least(cost, budget.least_amount), _event_text(event)


def _taken_up(
    work: Work, question: Question, places: str, until: int, numbers: Numbers
) -> Charge:
    """The charge that waited for its engine, for whoever asks the same now.

    What was charged and has not begun is not begun while an owner has to look, after an owner
    has stopped all charges, and by whoever still goes by an earlier declaration.
    """
    for population in question.populations:
        hold(work, population)  # no owner acts between this look and the end of the work
        budget, number = find_budget(work, population), numbers.get(population, 0)
        budget.check_open(population)
        if budget.frozen or budget.declared != number:
            raise budget.refusal(population, NO_UNITS, number)
    resume(work, question.release_key, until)
    told = json.loads(places)
    charge = _charge_at(work, question, dict(told["places"]))
    return replace(charge, retried=told["retried"])


def _own_charge(work: Work, question: Question, places: str) -> Charge:
    """The charge that this very call wrote, before the database went away."""
    numbers = [int(place) for place in places.split()]
    return _charge_at(work, question, dict(zip(question.populations, numbers, strict=True)))


def _charge_at(work: Work, question: Question, places: dict[str, int]) -> Charge:
    """The charge for ``question`` whose entries stand at ``places`` of the chains."""
    lines, records = [], []
    for population in question.populations:
        place = places[population]
        row = work.one(_ENTRY, {"at": population, "place": place})
        if row is None:
            raise InternalError("A charge that was remembered is not in the chain.")
        lines.append(Entry(population, place, row[0], row[1]))
        records.append(find_budget(work, population).record)
    return Charge(tuple(lines), question.release_key, tuple(records))
