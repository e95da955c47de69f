"""Charges and stored answers: charge before data is read, store before anything is released.

A question takes two units of work. `reserve_charge` charges it and claims the place of its
answer, which makes others who ask the same question wait. After the question has run, `keep`
stores the answer, and only the stored bytes are released. An answer is written once and never
computed with new noise: the same question later returns the same bytes for free.

Both functions handle a lost connection: the client may not know whether its last commit
happened. A repeated `reserve_charge` finds its own charge by a nonce, and a repeated `keep`
finds the stored answer.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit import errors
from tacit.core import Event, Measure, Numerics, encode_event
from tacit.ledger.budget import BudgetRow, at_least, count_for_all, find_budget
from tacit.ledger.chain import SPEND, append, hold, write
from tacit.ledger.charge import (
    NO_UNITS,
    Charge,
    ChargeRequest,
    Offer,
    Record,
    StoredRelease,
    Target,
    Units,
    price,
    utc_day,
)
from tacit.ledger.charge_rows import act_of, kept_row, offer_row, place_row, request_row
from tacit.ledger.entries import AnswerStored, Charged, Entry, decode_act, encode_act
from tacit.ledger.request_keys import KeyRow, check_binding, find_key
from tacit.store import Store, Work, check_continues, check_end
from tacit.store.tables import answers, entries, requests, subjects

ATTEMPTS = 100
"""Number of attempts when other writers win the race; each time, another one has succeeded."""

RECONNECTIONS = 10
"""Number of attempts to store an answer when the connection to the database is lost."""

Result = TypeVar("Result")

PARKED = -1
"""Value of ``until`` for a charge that is parked until its engine can be reached."""

UNREACHED = (
    "The engine cannot be reached. The question is charged and nothing is lost: ask the same "
    "question again, and it continues under the same charge."
)

_FIND = select(answers.c.receipt, answers.c.until, answers.c.body, answers.c.places).where(
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
_OF_HASH = select(entries.c.body).where(
    entries.c.population == bindparam("at"), entries.c.hash == bindparam("hash")
)
_new = upsert(answers)
_CLAIM = _new.on_conflict_do_update(
    index_elements=[answers.c.release],
    set_={
        "receipt": _new.excluded.receipt,
        "until": _new.excluded.until,
        "places": _new.excluded.places,
    },
    where=answers.c.body.is_(None) & (answers.c.until <= bindparam("now")),
)
_mine = (
    (answers.c.release == bindparam("key"))
    & (answers.c.receipt == bindparam("paid"))
    & answers.c.body.is_(None)
)
KEEP = update(answers).where(_mine).values(body=bindparam("body"))
_waits = (
    (answers.c.release == bindparam("key"))
    & (answers.c.until == PARKED)
    & answers.c.body.is_(None)
)
_RESUME = update(answers).where(_waits).values(until=bindparam("until"))
_ABANDON = update(answers).where(_mine).values(until=0)
OFFER = insert(subjects)
_OFFERS = (
    select(
        subjects.c.place,
        subjects.c.release,
        subjects.c.measure,
        subjects.c.amount,
        subjects.c.delta,
    )
    .where(subjects.c.subject == bindparam("subject"))
    .order_by(subjects.c.place)
)


def write_with_retries(
    store: Store,
    write: Callable[[Work], Result],
    *,
    attempts: int | None = None,
    find: Callable[[], Result | None] = lambda: None,
) -> Result:
    """Run ``write`` in a unit of work, and run it again from the start if it did not commit.

    A unit of work does not commit if another writer changed the same rows, or if the connection
    was lost. Where the other writer may have stored the same result, ``find`` looks it up.
    """
    for _ in range(ATTEMPTS if attempts is None else attempts):
        try:
            with store.writing() as work:
                return write(work)
        except errors.ConnectionLost:
            continue
        except errors.Conflict:
            found = find()
            if found is not None:
                return found
    raise errors.StoreFailed(
        "The database of the store does not respond. Ask again with the same idempotency key."
    )


def look(work: Work, release_key: bytes, now: int) -> StoredRelease | None:
    """Return the stored answer, or None if there is none and no process is computing it.

    Raise `AnswerPending` if a process is computing it, and `EngineUnreachable` if its charge is
    parked.
    """
    return _read_place(work.one(_FIND, {"key": release_key}), now)


def _read_place(row: tuple[Any, ...] | None, now: int) -> StoredRelease | None:
    """Return what the row of an answer says at the time ``now``, as `look` does."""
    if row is None:
        return None
    receipt, until, body, _ = row
    if body is not None:
        return StoredRelease(body, receipt)
    if until == PARKED:
        raise errors.EngineUnreachable(UNREACHED)
    if now < until:
        raise errors.AnswerPending(until)
    return None


def find_parked(work: Work, release_key: bytes) -> str | None:
    """Return where the parked charge is recorded (JSON), or None if no charge is parked."""
    return _parked_at(work.one(_FIND, {"key": release_key}))


def _parked_at(row: tuple[Any, ...] | None) -> str | None:
    """Return where the charge of an answer's row is recorded, or None if it is not parked."""
    parked = row is not None and row[1] == PARKED and row[2] is None
    return row[3] if parked and row is not None else None


def resume(work: Work, release_key: bytes, until: int) -> None:
    """Take the lease of a parked charge until ``until``, so that other processes wait."""
    if not work.run(_RESUME, {"key": release_key, "until": until}):
        raise errors.Conflict("Another process resumed this charge first; try again.")


def stored_body(work: Work, release_key: bytes) -> bytes | None:
    """Return the answer that is stored under ``release_key``, or None."""
    row = work.one(_FIND, {"key": release_key})
    return None if row is None else row[2]


def all_stored(work: Work) -> Iterator[tuple[bytes, bytes]]:
    """Yield every stored answer with its key, in the order of the keys."""
    after = b""
    while row := work.one(_NEXT, {"after": after}):
        after, body = row
        yield after, body


def day_charged(work: Work, population: str, receipt: bytes) -> date | None:
    """Return the day of the charge with this ``receipt``, the hash of its entry, or None."""
    row = work.one(_OF_HASH, {"at": population, "hash": receipt})
    act = None if row is None else decode_act(row[0])
    return utc_day(act.at) if isinstance(act, Charged) else None


def was_charged(work: Work, principal: str, binding: bytes) -> bool:
    """Return whether a request of ``principal`` with this ``binding`` was charged."""
    return work.one(_CHARGED, {"who": principal, "binding": binding}) is not None


def claim(work: Work, charge: Charge, now: int, until: int) -> None:
    """Take the lease of a new charge until ``until``, so that other processes wait."""
    if not work.run(_CLAIM, {**place_row(charge, until), "now": now}):
        raise errors.Conflict("Another writer was first, and nothing was written; try again.")


def keep(store: Store, charge: Charge, body: bytes, now: int) -> StoredRelease:
    """Store the answer to ``charge``. Only the returned answer may be released.

    Guarantee: the answer is durable when it is returned, and it never changes. If an answer to
    the same question was stored before, that one is returned and ``body`` must be discarded.
    """
    return write_with_retries(
        store,
        lambda work: keep_within(work, charge, body, now),
        attempts=RECONNECTIONS,
        find=lambda: _find_stored(store, charge),
    )


def abandon(store: Store, charge: Charge) -> None:
    """End the lease of ``charge``: it stays charged, and nobody waits for its answer."""
    with store.writing() as work:
        end_lease(work, charge)


def end_lease(work: Work, charge: Charge) -> None:
    """End the lease of ``charge`` within a unit of work."""
    work.run(_ABANDON, {"key": charge.release_key, "paid": charge.receipt})


def find_release(store: Store, release_key: bytes, now: int) -> StoredRelease | None:
    """Return the stored answer under ``release_key``, or None; raise errors as in `look`."""
    with store.looking() as work:
        return look(work, release_key, now)


def keep_within(work: Work, charge: Charge, body: bytes, now: int) -> StoredRelease:
    """Store the answer to ``charge`` as `keep` does, within a unit of work."""
    digest = sha256(body).hexdigest()
    places = []
    for entry in charge.entries:
        act = AnswerStored(entry.seq, charge.release_key.hex(), digest, now)
        places.append(append(work, entry.population, act).seq)
    if not work.run(KEEP, kept_row(charge, body)):
        raise errors.Conflict(
            "An answer is already stored, or another charge replaced this one; try again."
        )
    if charge.loss is not None:
        work.run(OFFER, offer_row(charge, charge.loss, places[0]))
    return StoredRelease(body, charge.receipt)


def find_offers(
    store: Store, question: ChargeRequest, subjects_to_find: Iterable[bytes]
) -> tuple[Offer, ...]:
    """Return the stored answers about these subjects, the earliest first.

    Raise `KeyReused` if the idempotency key of ``question`` belongs to another question.

    Guarantee: an answer that was found once is found for ever, and later ones come after it.
    So the first one that serves is the same each time.
    """
    found = []
    with store.reading() as work:
        check_binding(find_key(work, question), question)
        for subject in subjects_to_find:
            for place, key, measure, amount, delta in work.all(_OFFERS, {"subject": subject}):
                loss = Units(amount, delta).loss(Measure(measure))
                found.append(Offer(subject, place, bytes(key), loss))
    return tuple(sorted(found, key=lambda offer: offer.place))


def _find_stored(store: Store, charge: Charge) -> StoredRelease | None:
    """Return the answer that is already stored; None if ``charge`` still has the lease."""
    with store.reading() as work:
        return stored_for(work, charge)


def stored_for(work: Work, charge: Charge) -> StoredRelease | None:
    """Return the answer that is already stored; None if ``charge`` still has the lease.

    Raise `AnswerLost` if another charge has replaced ``charge``.
    """
    row = work.one(_FIND, {"key": charge.release_key})
    receipt, _, body, _ = row or (None, 0, None, None)
    if body is not None:
        return StoredRelease(body, receipt)
    if receipt == charge.receipt:
        return None  # the unit of work was aborted because of another writer: try again
    raise errors.AnswerLost


# ------------------------------------------------------------------ reserve
# Charge a question durably, before any code reads data.
#
# Everything happens in one unit of work: look up the idempotency key and the stored answer;
# decide by one conditional update whether the cost fits; count the quotas; append the entry to
# the chain. If another writer changed the same rows at the same moment, the database aborts the
# whole unit of work, and it runs again from the start.

REMEMBER = insert(requests)
_ENTRY = select(entries.c.body, entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)


Numbers = Mapping[str, int]
"""Numbers of the declarations under which a question was priced, by population; 0 for none."""

UNDECLARED: Numbers = {}
"""No declarations: a question can then be charged only to populations that have none."""


@lru_cache(maxsize=4096)
def _priced_event(event: Event, measure: Measure, delta: Fraction) -> tuple[Units, str]:
    """Return the price and the text of an event; questions use few different events."""
    return price(event, measure, delta), encode_event(event)


def reserve_charge(  # noqa: PLR0913 - the question, its time and its declarations
    store: Store,
    question: ChargeRequest,
    *,
    nonce: bytes,
    now: int,
    until: int,
    numbers: Numbers = UNDECLARED,
) -> Charge | StoredRelease:
    """Charge ``question`` and return the charge, or return the answer that was charged before.

    ``nonce`` is fresh for each call. If the connection is lost before the database confirms a
    commit, the nonce distinguishes this call's own charge from that of another call. Until the
    time ``until``, others who ask the same question wait. ``numbers`` are the declarations
    under which the question was priced; if the ledger has newer ones, `DeclarationsChanged` is
    raised.

    Guarantee: a returned `Charge` is durable, in every population's chain, within every cap and
    quota. If an error is raised, nothing was charged, except for `StoreFailed`: then the same
    request must be sent again to find out.
    """
    try:
        return write_with_retries(
            store, lambda work: reserve_within(work, question, nonce, now, until, numbers)
        )
    except (
        errors.BudgetExceeded,
        errors.PopulationLocked,
        errors.ChargesFrozen,
        errors.DeclarationsChanged,
    ):
        # the charge that used up the budget may have been for this same question
        with store.reading() as work:
            if find_parked(work, question.release_key) is not None:
                raise
            known, place = _read_request(work, question)
            paid = _paid_before(work, question, nonce, now, known, place)
        if paid is None:
            raise
        return paid


def _read_request(
    work: Work, question: ChargeRequest
) -> tuple[KeyRow | None, tuple[Any, ...] | None]:
    """Return the rows of the idempotency key and of the place of the answer, in this order.

    A charge writes both at once. Read in this order, the place is never older than the key.
    """
    known = find_key(work, question)
    return known, work.one(_FIND, {"key": question.release_key})


def _paid_before(  # noqa: PLR0913, PLR0917 - a part of `reserve`
    work: Work,
    question: ChargeRequest,
    nonce: bytes,
    now: int,
    known: KeyRow | None,
    place: tuple[Any, ...] | None,
) -> Charge | StoredRelease | None:
    """Return the earlier charge of this call or the stored answer; None if it was not charged.

    Raise `KeyReused` if the idempotency key belongs to another question, and `AnswerLost` if
    the request was charged and its answer will not come.
    """
    if known is not None:
        check_binding(known, question)
        if known.nonce == nonce:
            return _own_charge(work, question, known.places)
    stored = _read_place(place, now)
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
    """Charge ``question`` as `reserve_charge` does, within a unit of work."""
    known, place = _read_request(work, question)
    places = _parked_at(place)
    if places is not None:
        return _resume_charge(work, question, places, until, numbers)
    paid = _paid_before(work, question, nonce, now, known, place)
    if paid is not None:
        return paid
    charged = [
        _charge(work, question, target, nonce, now, numbers.get(target.population.name, 0))
        for target in question.targets
    ]
    lines = tuple([line for line, _ in charged])
    records = tuple([record for _, record in charged])
    charge = charge_of(question, lines, records)
    claim(work, charge, now, until)
    work.run(REMEMBER, request_row(question, nonce, lines))
    return charge


def _charge(  # noqa: PLR0913, PLR0917 - a part of `reserve`
    work: Work,
    question: ChargeRequest,
    target: Target,
    nonce: bytes,
    now: int,
    declaration: int,
) -> tuple[Entry, Record]:
    """Charge one population, and return the entry and the population's incidents so far."""
    name = target.population.name
    budget = find_budget(work, name)
    budget.check(target.population)
    cost, event = cost_of_event(budget, target.event, question.price_delta)
    asked = {"amount": cost.amount, "delta": cost.delta, "declaration": declaration}
    place = spend(work, {"at": name, "smallest": cost.amount, "entries": 1, **asked})
    if place is None:
        check_end(work, name)
        found = find_budget(work, name)
        if at_least(cost, found.least_amount) != cost:
            raise errors.Conflict("The least price was raised at the same time; try again.")
        raise found.refusal(name, cost, declaration)
    seq, previous, found_hash, missed, failed, retried = place
    check_continues(work, name, seq - 1, previous, found_hash)
    record = budget._replace(missed=missed, failed=failed, retried=retried).record
    # read the groups and quotas now: before the update locked the row they could change
    holders = count_for_all(work, name, question.principal, cost, budget)
    act = act_of(question, nonce, now, cost, event, holders, declaration)
    return write(work, name, seq, previous, encode_act(act)), record


Place = tuple[int, bytes, bytes | None, int, int, int]


def spend(work: Work, asked: Mapping[str, object]) -> Place | None:
    """Run `SPEND`; return the last number taken, the head before it, and the incidents.

    The head is that of the budget, and that of the chain. Return None if the cost was not
    spent.
    """
    place = work.one(SPEND, asked)
    if place is None:
        return None
    return (place[0], place[1], place[2], place[3], place[4], place[5])


def cost_of_event(budget: BudgetRow, event: Event, price_delta: Fraction) -> tuple[Units, str]:
    """Return the cost of ``event`` for ``budget``, and the text of the event.

    Raise `InvalidValue` if the budget does not allow its noise.
    """
    if event.numerics is Numerics.IDEALISED and not budget.idealised:
        raise errors.InvalidValue(
            "This question uses idealised noise, whose distribution holds for real numbers "
            "only, but the budget allows exact noise only. Choose another mechanism."
        )
    cost, text = _priced_event(event, budget.measure, price_delta)
    return at_least(cost, budget.least_amount), text


def _resume_charge(
    work: Work, question: ChargeRequest, places: str, until: int, numbers: Numbers
) -> Charge:
    """Return the parked charge for the same question, and take its lease.

    A parked charge is refused like a new one: while an owner must review incidents, while an
    owner has stopped all charges, and under an earlier declaration.
    """
    for population in question.populations:
        hold(work, population)  # no owner can act between this check and the end of the work
        budget, number = find_budget(work, population), numbers.get(population, 0)
        budget.check_open(population)
        if budget.frozen or budget.declared != number:
            raise budget.refusal(population, NO_UNITS, number)
    resume(work, question.release_key, until)
    recorded = json.loads(places)
    charge = _charge_at(work, question, dict(recorded["places"]))
    return replace(charge, retried=recorded["retried"], parked=places)


def _own_charge(work: Work, question: ChargeRequest, places: str) -> Charge:
    """Return the charge that this same call wrote before the connection was lost."""
    numbers = [int(place) for place in places.split()]
    return _charge_at(work, question, dict(zip(question.populations, numbers, strict=True)))


def _charge_at(work: Work, question: ChargeRequest, places: dict[str, int]) -> Charge:
    """Return the charge for ``question`` whose entries have the numbers ``places``."""
    lines, records = [], []
    for population in question.populations:
        place = places[population]
        row = work.one(_ENTRY, {"at": population, "place": place})
        if row is None:
            raise errors.InternalError("A recorded charge is not in the chain.")
        lines.append(Entry(population, place, row[0], row[1]))
        records.append(find_budget(work, population).record)
    return charge_of(question, tuple(lines), tuple(records))


def charge_of(
    question: ChargeRequest, lines: tuple[Entry, ...], records: tuple[Record, ...]
) -> Charge:
    """Return the charge for ``question`` that has the entries ``lines``."""
    if not question.question:  # no other question can use its answer
        return Charge(lines, question.release_key, records)
    return Charge(
        lines, question.release_key, records, subject=question.subject, loss=question.loss
    )


# ------------------------------------------------------------------ enter
# Charge a question and store its answer in one unit of work. This is for answers that read no
# data after the charge: the declaration of a stream, which charges the whole horizon, and each
# step of the stream, which the declaration has paid for and which is free.


def enter(  # noqa: PLR0913 - as in `reserve_charge`
    store: Store,
    question: ChargeRequest,
    body: bytes,
    *,
    nonce: bytes,
    now: int,
    numbers: Numbers = UNDECLARED,
) -> StoredRelease:
    """Charge ``question`` and store ``body`` as its answer, or return an earlier answer.

    Only the returned answer may be released.

    Guarantee: the answer is durable when it is returned, it is charged once, and it never
    changes. A crash leaves both the charge and the answer, or neither.
    """

    def write(work: Work) -> StoredRelease:
        found = reserve_within(work, question, nonce, now, now, numbers)
        if isinstance(found, StoredRelease):
            return found
        return keep_within(work, found, body, now)

    try:
        return write_with_retries(store, write)
    except (errors.BudgetExceeded, errors.ChargesFrozen, errors.DeclarationsChanged):
        # the charge that used up the budget may have been for this same question
        with store.reading() as work:
            stored = look(work, question.release_key, now)
        if stored is None:
            raise
        return stored
