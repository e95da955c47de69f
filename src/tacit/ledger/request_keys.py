"""Find the charge to which an idempotency key belongs.

An idempotency key is stored as a hash of the key and of the populations of its question
(`tacit.ledger.charge.request_key_of`). Version 0.1.0 hashed the key alone. Its rows are found
too, but only by the question that they were stored for: for any other question, such a row may
be about other people, whose owners the caller must learn nothing of. No new row has an old
hash, so that what is found here cannot appear while a charge is written.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Select, bindparam, literal, select, union_all

from tacit import errors
from tacit.ledger.charge import ChargeRequest
from tacit.store import Work
from tacit.store.tables import requests


class KeyRow(NamedTuple):
    """The charge to which an idempotency key belongs: for what, by which call, and where."""

    binding: bytes
    nonce: bytes
    places: str


def _row(age: int, *more: Any) -> Select[Any]:
    """Select the row of a key: of this version for ``age`` 0, of version 0.1.0 for 1."""
    return select(
        requests.c.binding, requests.c.nonce, requests.c.places, literal(age).label("age")
    ).where(requests.c.principal == bindparam("who"), *more)


# Two lookups, because PostgreSQL may read the whole table for an OR
_FIND: CompoundSelect[Any] = union_all(
    _row(0, requests.c.request == bindparam("key")),
    _row(
        1,
        requests.c.request == bindparam("old"),
        requests.c.binding == bindparam("binding"),
    ),
).order_by("age")


def find_key(work: Work, question: ChargeRequest) -> KeyRow | None:
    """Return the row of the idempotency key of ``question``; None if it was never charged."""
    row = work.one(
        _FIND,
        {
            "who": question.principal,
            "key": question.request_key,
            "old": question.old_request_key,
            "binding": question.binding,
        },
    )
    return None if row is None else KeyRow(*row[:3])


def check_binding(known: KeyRow | None, question: ChargeRequest) -> None:
    """Raise `KeyReused` if the row of an idempotency key belongs to another question."""
    if known is not None and known.binding != question.binding:
        raise errors.KeyReused(
            "This idempotency key was used for another question. Use a new key for each "
            "question, and the same key only to send a question again."
        )


@lru_cache
def many_keys(size: int) -> CompoundSelect[Any]:
    """Return the statement that looks up ``size`` idempotency keys, as (principal, hash)."""
    # a list of pairs (IN) makes PostgreSQL read the whole table
    return union_all(
        *(
            select(requests.c.principal, requests.c.request).where(
                requests.c.principal == bindparam(f"who{number}"),
                requests.c.request == bindparam(f"request{number}"),
            )
            for number in range(size)
        )
    )
