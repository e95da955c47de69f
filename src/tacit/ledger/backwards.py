"""A chain read from its end, by the texts of its entries, for what the newest ones say.

The newest lines of a ledger, and the incidents since an owner's last review, are in few entries
of a long chain. Here the entries are yielded from the newest on, as texts: the kind of an entry
is found without decoding it, which is ten times faster. A reader stops as soon as it has what
it looks for.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, or_, select

from tacit.ledger.budget import find_budget
from tacit.ledger.charge import MOST
from tacit.ledger.entries import Failed, Missed, Retried, decode_act
from tacit.store import Work
from tacit.store.tables import entries

Mark = Missed | Failed | Retried
"""An incident that an owner reviews."""

MARKS = frozenset({"missed", "failed", "retried"})
"""The stored names of incidents."""

PAGE = 4000
"""Number of entries that are read at a time."""

SMALL = 200
"""Number of entries of the first page, because the newest entries are often enough."""

_KIND = '"kind":"'
_SPECIAL = re.compile("[%_/]")
_ANSWER = '{"answer":%'
"""The beginning of an entry about a stored answer: no other kind has this field first."""

_CHARGE = '{"amount":%"event":%'
"""The beginning of a charge: no other kind has an event."""

_BEFORE = (
    select(entries.c.seq, entries.c.body)
    .where(entries.c.population == bindparam("at"), entries.c.seq < bindparam("before"))
    .order_by(entries.c.seq.desc())
    .limit(bindparam("count"))
)


@cache
def _page(*, answers: bool, charges: bool, named: bool) -> Select[Any]:
    """Return the statement of a page. The database leaves out what is not wanted."""
    found = _BEFORE
    if not answers:
        found = found.where(entries.c.body.not_like(_ANSWER))
    if not charges:
        return found.where(entries.c.body.not_like(_CHARGE))
    if named:
        name = entries.c.body.like(bindparam("named"), escape="/")
        found = found.where(or_(entries.c.body.not_like(_CHARGE), name))
    return found


def kind_in(body: str) -> str:
    """Return the stored name of the kind of an entry, from its text.

    Example:
        >>> kind_in('{"at":"5","by":"olga","kind":"looked"}')
        'looked'
    """
    # texts are escaped, and the kind of a decision comes before that of an act
    begin = body.rindex(_KIND) + len(_KIND)
    return body[begin : body.index('"', begin)]


def backwards(  # noqa: PLR0913 - a part of a chain, and what is left out of it
    work: Work,
    population: str,
    least: int = 0,
    before: int = MOST,
    *,
    answers: bool = True,
    charges: bool = True,
    named: str | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of the entries from ``least`` on, the newest first.

    They begin below the number ``before``. Without ``answers``, entries about stored answers
    are left out, and without ``charges`` charges: they are most of a long chain. With a text
    that is ``named``, charges that do not have it are left out, and perhaps some that have it
    in other letters are not.
    """
    statement = _page(answers=answers, charges=charges, named=named is not None)
    values: dict[str, object] = {"at": population}
    if charges and named is not None:
        values["named"] = "%" + _SPECIAL.sub(r"/\g<0>", named) + "%"
    last, count = before, SMALL
    while rows := work.all(statement, values | {"before": last, "count": count}):
        for last, body in rows:
            if last < least:
                return
            yield last, body
        count = PAGE


def count_incidents(work: Work, population: str) -> int:
    """Return how many incidents a chain has at most: late, failed and retried answers."""
    budget = find_budget(work, population)
    return budget.missed + budget.failed + budget.retried


def incidents_since_review(
    work: Work, population: str, after: int = 0, before: int = MOST
) -> tuple[tuple[Mark, ...], int]:
    """Return the incidents since an owner's last review, and the number of that review.

    Only entries between the numbers ``after`` and ``before`` are read, and none that is older
    than the review or than the first incident of the chain. The number is 0 without a review.
    """
    found: list[Mark] = []
    left = count_incidents(work, population)
    if not left:
        return (), 0
    for seq, body in backwards(work, population, after + 1, before, answers=False):
        kind = kind_in(body)
        if kind == "looked":
            return tuple(reversed(found)), seq
        if kind in MARKS:
            found.append(decode_act(body))  # type: ignore[arg-type]
            left -= 1
            if not left:
                break
    return tuple(reversed(found)), 0
