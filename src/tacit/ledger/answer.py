"""Stored releases: durable before the first byte leaves, written once, never drawn again."""

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import (
    AnswerLost,
    AnswerPending,
    Conflict,
    ConnectionLost,
    EngineUnreachable,
    StoreFailed,
)
from tacit.ledger.act import Kept
from tacit.ledger.chain import append
from tacit.ledger.charge import Answer, Charge
from tacit.store.store import Store
from tacit.store.tables import answers, requests
from tacit.store.work import Work

ATTEMPTS = 10
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


def look(work: Work, release_key: bytes, now: int) -> Answer | None:
    """The stored answer, None where nobody is at it, `AnswerPending` where somebody is."""
    row = work.one(_FIND, {"key": release_key})
    if row is None:
        return None
    receipt, until, body = row
    if body is not None:
        return Answer(body, receipt)
    if until == PARKED:
        raise EngineUnreachable(UNREACHED)
    if now < until:
        raise AnswerPending(until)
    return None


def parked(work: Work, release_key: bytes) -> str | None:
    """Where the charge stands whose engine was not reached; None where none waits."""
    row = work.one(_PARKED, {"key": release_key})
    return None if row is None else row[0]


def resume(work: Work, release_key: bytes, until: int) -> None:
    """Say that somebody answers now under the charge that waited, so that others wait."""
    if not work.run(_RESUME, {"key": release_key, "until": until}):
        raise Conflict("Another took this charge up first; look again.")


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
        raise Conflict("Another writer was first; nothing was written.")


def keep(store: Store, charge: Charge, body: bytes, now: int) -> Answer:
    """Store the answer to ``charge``; what is returned may leave.

    Guarantee: durable when it returns, and the same for ever: where an answer to the same
    question was stored before, that one is returned, and ``body`` must be forgotten.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                return keep_within(work, charge, body, now)
        except ConnectionLost:
            continue
        except Conflict:
            stored = _stored(store, charge)
            if stored is not None:
                return stored
    raise StoreFailed("The store's database does not answer; the answer must not leave.")


def abandon(store: Store, charge: Charge) -> None:
    """Say that no answer to ``charge`` will come: it stays charged, and nobody waits for it."""
    with store.writing() as work:
        abandoned(work, charge)


def abandoned(work: Work, charge: Charge) -> None:
    """The same within a work that is under way."""
    work.run(_ABANDON, {"key": charge.release_key, "paid": charge.receipt})


def released(store: Store, release_key: bytes, now: int) -> Answer | None:
    """The stored answer under ``release_key``, or None; `AnswerPending` as in `look`."""
    with store.looking() as work:
        return look(work, release_key, now)


def keep_within(work: Work, charge: Charge, body: bytes, now: int) -> Answer:
    """What `keep` does, as a part of a unit of work."""
    digest = sha256(body).hexdigest()
    for entry in charge.entries:
        act = Kept(entry.seq, charge.release_key.hex(), digest, now)
        append(work, entry.population, act)
    mine = {"key": charge.release_key, "paid": charge.receipt, "body": body}
    if not work.run(_KEEP, mine):
        raise Conflict("This answer is stored already, or another took its place.")
    return Answer(body, charge.receipt)


def _stored(store: Store, charge: Charge) -> Answer | None:
    """What stands where an answer could not be stored; None where the place is still ours."""
    with store.reading() as work:
        return stored_for(work, charge)


def stored_for(work: Work, charge: Charge) -> Answer | None:
    """What stands in the place of the answer to ``charge``; None where it is still ours.

    `AnswerLost` says that another charge took it.
    """
    row = work.one(_FIND, {"key": charge.release_key})
    receipt, _, body = row or (None, 0, None)
    if body is not None:
        return Answer(body, receipt)
    if receipt == charge.receipt:
        return None  # the database gave way to another writer: once more
    raise AnswerLost
