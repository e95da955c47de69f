"""Stored releases: durable before the first byte leaves, written once, never drawn again."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit import errors
from tacit.core import Event, Numerics, encode_event
from tacit.ledger.budget import BudgetRow, at_least, count, find_budget, holders_of
from tacit.ledger.chain import SPEND, append, hold, write
from tacit.ledger.charge import (
    NO_UNITS,
    Charge,
    ChargeRequest,
    Record,
    StoredRelease,
    Target,
    Units,
    price,
)
from tacit.ledger.entries import AnswerStored, Charged, Entry, encode_act
from tacit.store import Store, Work
from tacit.store.tables import answers, entries, requests

RECONNECTIONS = 10
"""How often a writer whose connection was lost looks for what it had written."""

PARKED = -1
"""In place of a time: the charge is paid for, and waits for an engine that was not reached."""

UNREACHED = (
    "The engine cannot be reached. The question is paid for, and nothing is lost: ask the same "
    "again, and it goes on under the same charge."
)

_FIND = select(answers.c.receipt, answers.c.until, answers.c.body).where(
    answers.c.release == bindparam("key")
)
_NEXT = (
    select(answers.c.release, answers.c.body)
    .where(answers.c.release > bindparam("after"), answers.c.body.is_not(None))
    .order_by(answers.c.release)
    .limit(1)
)
_CHARGED = select(requests.c.binding).where(
    requests.c.principal == bindparam("who"), requests.c.binding == bindparam("binding")
)
_new = upsert(answers)
_CLAIM = _new.on_conflict_do_update(
    index_elements=[answers.c.release],
    set_={"receipt": _new.excluded.receipt, "until": _new.excluded.until},
    where=answers.c.body.is_(None) & (answers.c.until <= bindparam("now")),
)
_mine = (
    (answers.c.release == bindparam("key"))
    & (answers.c.receipt == bindparam("paid"))
    & answers.c.body.is_(None)
)
_KEEP = update(answers).where(_mine).values(body=bindparam("body"))
_waits = (
    (answers.c.release == bindparam("key"))
    & (answers.c.until == PARKED)
    & answers.c.body.is_(None)
)
_PARKED = select(answers.c.places).where(_waits)
_RESUME = update(answers).where(_waits).values(until=bindparam("until"))
_ABANDON = update(answers).where(_mine).values(until=0)


def look(work: Work, release_key: bytes, now: int) -> StoredRelease | None:
    """The stored answer, None where nobody is at it, `AnswerPending` where somebody is."""
    row = work.one(_FIND, {"key": release_key})
    if row is None:
        return None
    receipt, until, body = row
    if body is not None:
        return StoredRelease(body, receipt)
    if until == PARKED:
        raise errors.EngineUnreachable(UNREACHED)
    if now < until:
        raise errors.AnswerPending(until)
    return None


def parked(work: Work, release_key: bytes) -> str | None:
    """Where the charge stands whose engine was not reached; None where none waits."""
    row = work.one(_PARKED, {"key": release_key})
    return None if row is None else row[0]


def resume(work: Work, release_key: bytes, until: int) -> None:
    """Say that somebody answers now under the charge that waited, so that others wait."""
    if not work.run(_RESUME, {"key": release_key, "until": until}):
        raise errors.Conflict("Another took this charge up first; look again.")


def stored_body(work: Work, release_key: bytes) -> bytes | None:
    """The bytes under ``release_key``, if an answer is stored there."""
    row = work.one(_FIND, {"key": release_key})
    return None if row is None else row[2]


def all_stored(work: Work) -> Iterator[tuple[bytes, bytes]]:
    """Every stored answer with its key, in the order of the keys."""
    after = b""
    while row := work.one(_NEXT, {"after": after}):
        after, body = row
        yield after, body


def was_charged(work: Work, principal: str, binding: bytes) -> bool:
    """Whether a request of ``principal`` that stands for ``binding`` was charged."""
    return work.one(_CHARGED, {"who": principal, "binding": binding}) is not None


def claim(work: Work, charge: Charge, now: int, until: int) -> None:
    """Say that this charge's holder answers now, so that others wait."""
    values = {
        "release": charge.release_key,
        "receipt": charge.receipt,
        "until": until,
        "body": None,
        "places": None,
        "now": now,
    }
    if not work.run(_CLAIM, values):
        raise errors.Conflict("Another writer was first; nothing was written.")


def keep(store: Store, charge: Charge, body: bytes, now: int) -> StoredRelease:
    """Store the answer to ``charge``; what is returned may leave.

    Guarantee: durable when it returns, and the same for ever: where an answer to the same
    question was stored before, that one is returned, and ``body`` must be forgotten.
    """
    for _ in range(RECONNECTIONS):
        try:
            with store.writing() as work:
                return keep_within(work, charge, body, now)
        except errors.ConnectionLost:
            continue
        except errors.Conflict:
            stored = _stored(store, charge)
            if stored is not None:
                return stored
    raise errors.StoreFailed("The store's database does not answer; the answer must not leave.")


def abandon(store: Store, charge: Charge) -> None:
    """Say that no answer to ``charge`` will come: it stays charged, and nobody waits for it."""
    with store.writing() as work:
        abandoned(work, charge)


def abandoned(work: Work, charge: Charge) -> None:
    """The same within a work that is under way."""
    work.run(_ABANDON, {"key": charge.release_key, "paid": charge.receipt})


def released(store: Store, release_key: bytes, now: int) -> StoredRelease | None:
    """The stored answer under ``release_key``, or None; `AnswerPending` as in `look`."""
    with store.looking() as work:
        return look(work, release_key, now)


def keep_within(work: Work, charge: Charge, body: bytes, now: int) -> StoredRelease:
    """What `keep` does, as a part of a unit of work."""
    digest = sha256(body).hexdigest()
    for entry in charge.entries:
        act = AnswerStored(entry.seq, charge.release_key.hex(), digest, now)
        append(work, entry.population, act)
    mine = {"key": charge.release_key, "paid": charge.receipt, "body": body}
    if not work.run(_KEEP, mine):
        raise errors.Conflict("This answer is stored already, or another took its place.")
    return StoredRelease(body, charge.receipt)


def _stored(store: Store, charge: Charge) -> StoredRelease | None:
    """What stands where an answer could not be stored; None where the place is still ours."""
    with store.reading() as work:
        return stored_for(work, charge)


def stored_for(work: Work, charge: Charge) -> StoredRelease | None:
    """What stands in the place of the answer to ``charge``; None where it is still ours.

    `AnswerLost` says that another charge took it.
    """
    row = work.one(_FIND, {"key": charge.release_key})
    receipt, _, body = row or (None, 0, None)
    if body is not None:
        return StoredRelease(body, receipt)
    if receipt == charge.receipt:
        return None  # the database gave way to another writer: once more
    raise errors.AnswerLost


# ------------------------------------------------------------------ reserve
# Charge a question, durably, before anything touches data.
#
# Everything happens in one unit of work: the request's key and the stored answer are looked
# up, one conditional update decides whether the cost fits, quotas are counted, and the entry
# joins the chain. What another writer did at the same moment makes the whole of it vanish,
# and it is looked up again.

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


def reserve_charge(  # noqa: PLR0913 - who asks what, when, and priced by what
    store: Store,
    question: ChargeRequest,
    *,
    nonce: bytes,
    now: int,
    until: int,
    numbers: Numbers = UNDECLARED,
) -> Charge | StoredRelease:
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
        except (errors.Conflict, errors.ConnectionLost):
            continue
        except (
            errors.BudgetExceeded,
            errors.PopulationLocked,
            errors.ChargesFrozen,
            errors.DeclarationsChanged,
        ):
            # whoever took the last of the budget may have paid for this very question
            with store.reading() as work:
                if parked(work, question.release_key) is not None:
                    raise
                paid = _paid_before(work, question, nonce, now)
            if paid is None:
                raise
            return paid
    raise errors.StoreFailed(
        "The store's database does not answer; ask again with the same key."
    )


def _paid_before(
    work: Work, question: ChargeRequest, nonce: bytes, now: int
) -> Charge | StoredRelease | None:
    """What this request, or this question, was paid for before; None where it was not."""
    known = work.one(_KNOWN, {"who": question.principal, "key": question.request_key})
    if known is not None:
        binding, charged_by, places = known
        if binding != question.binding:
            raise errors.KeyReused(
                "This request's key was used for another question; take a new key for each "
                "question, and the same key only to send one again."
            )
        if charged_by == nonce:
            return _own_charge(work, question, places)
    stored = look(work, question.release_key, now)
    if stored is not None:
        return stored
    if known is not None:
        raise errors.AnswerLost
    return None


def reserve_within(  # noqa: PLR0913, PLR0917 - a part of `reserve`
    work: Work,
    question: ChargeRequest,
    nonce: bytes,
    now: int,
    until: int,
    numbers: Numbers = UNDECLARED,
) -> Charge | StoredRelease:
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
    work: Work,
    question: ChargeRequest,
    target: Target,
    nonce: bytes,
    now: int,
    declaration: int,
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
            raise errors.Conflict("The least price was raised meanwhile; look again.")
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
    return write(work, name, seq, previous, encode_act(act)), record


def _cost(budget: BudgetRow, event: Event, price_delta: Fraction) -> tuple[Units, str]:
    if event.numerics is Numerics.IDEALISED and not budget.idealised:
        raise errors.InvalidValue(
            "This question uses noise whose law holds for real numbers only, and the budget "
            "allows exact noise alone; choose another mechanism."
        )
    cost = price(event, budget.measure, price_delta)
    return at_least(cost, budget.least_amount), _event_text(event)


def _taken_up(
    work: Work, question: ChargeRequest, places: str, until: int, numbers: Numbers
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


def _own_charge(work: Work, question: ChargeRequest, places: str) -> Charge:
    """The charge that this very call wrote, before the database went away."""
    numbers = [int(place) for place in places.split()]
    return _charge_at(work, question, dict(zip(question.populations, numbers, strict=True)))


def _charge_at(work: Work, question: ChargeRequest, places: dict[str, int]) -> Charge:
    """The charge for ``question`` whose entries stand at ``places`` of the chains."""
    lines, records = [], []
    for population in question.populations:
        place = places[population]
        row = work.one(_ENTRY, {"at": population, "place": place})
        if row is None:
            raise errors.InternalError("A charge that was remembered is not in the chain.")
        lines.append(Entry(population, place, row[0], row[1]))
        records.append(find_budget(work, population).record)
    return Charge(tuple(lines), question.release_key, tuple(records))


# ------------------------------------------------------------------ enter
# Charge a question and store its answer in one unit of work.
#
# For what needs no data once it is charged: the declaration of a stream, whose whole horizon
# is charged, and each step of it, which was paid for then and costs nothing.


def enter(  # noqa: PLR0913 - as in `reserve`
    store: Store,
    question: ChargeRequest,
    body: bytes,
    *,
    nonce: bytes,
    now: int,
    numbers: Numbers = UNDECLARED,
) -> StoredRelease:
    """The stored answer: ``body``, or what was stored for the same question before.

    Guarantee: durable when it returns, charged once, and the same for ever; what leaves is what
    this returns. A crash leaves both the charge and the answer, or neither.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                found = reserve_within(work, question, nonce, now, now, numbers)
                if isinstance(found, StoredRelease):
                    return found
                return keep_within(work, found, body, now)
        except (errors.Conflict, errors.ConnectionLost):
            continue
        except (errors.BudgetExceeded, errors.ChargesFrozen, errors.DeclarationsChanged):
            # whoever took the last of the budget may have entered this very question
            with store.reading() as work:
                stored = look(work, question.release_key, now)
            if stored is None:
                raise
            return stored
    raise errors.StoreFailed(
        "The store's database does not answer; ask again with the same key."
    )
