"""Adding to a population's chain: the head moves, and the entry follows it, in one work."""

from collections.abc import Iterator

from sqlalchemy import and_, bindparam, insert, or_, select, update

from tacit.errors import UnknownName
from tacit.ledger.act import Act, StateSealed
from tacit.ledger.entry import Entry, follow
from tacit.ledger.stored_act import encode
from tacit.ledger.trouble import RETRIES
from tacit.store.tables import budgets, entries
from tacit.store.work import Work

ALL_TIME = ""
"""The one period that is built: a budget for all that ever leaves."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)

STEP = (
    update(budgets)
    .where(_here)
    .values(head_seq=budgets.c.head_seq + 1)
    .returning(budgets.c.head_seq, budgets.c.head_hash)
)
"""Take the next place in the chain; whoever comes next waits until this work ends."""

MARKS = budgets.c.missed + budgets.c.failed + budgets.c.retried // RETRIES
"""How often an owner had reason to look: late answers, failures, and every third retry."""

SPEND = (
    update(budgets)
    .where(
        _here,
        budgets.c.spent_amount <= budgets.c.cap_amount - bindparam("amount"),
        budgets.c.spent_delta <= budgets.c.cap_delta - bindparam("delta"),
        budgets.c.looked == MARKS,
        or_(
            bindparam("amount") >= budgets.c.least_amount,
            and_(bindparam("amount") == 0, bindparam("delta") == 0),
        ),
        budgets.c.declared == bindparam("declaration"),
        budgets.c.frozen == 0,
    )
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        spent_delta=budgets.c.spent_delta + bindparam("delta"),
        head_seq=budgets.c.head_seq + 1,
    )
    .returning(
        budgets.c.head_seq,
        budgets.c.head_hash,
        budgets.c.missed,
        budgets.c.failed,
        budgets.c.retried,
    )
)
"""The one statement that decides a charge: it fits and is spent, or nothing happens.

Nothing happens either while an answer that was late or failed waits for an owner to look, where
the charge is below the least price and not free, under another declaration than the one that
holds, and while an owner has stopped all charges. All of this stands in the statement itself,
so that a server which has not heard of it cannot charge.
"""

_ADD = insert(entries)
_HEAD = update(budgets).where(_here).values(head_hash=bindparam("head"))
_HOLD = update(budgets).where(_here).values(head_seq=budgets.c.head_seq)
_FIND_HEAD = select(budgets.c.head_seq, budgets.c.head_hash).where(_here)
_HISTORY = (
    select(entries.c.seq, entries.c.body, entries.c.hash)
    .where(entries.c.population == bindparam("at"), entries.c.seq > bindparam("after"))
    .order_by(entries.c.seq)
    .limit(bindparam("count"))
)

PAGE = 1000
"""How many entries are read at a time."""


def append(work: Work, population: str, act: Act) -> Entry:
    """The entry of ``act``, at the end of the population's chain."""
    place = work.one(STEP, {"at": population})
    if place is None:
        raise UnknownName(f"There is no budget for the population {population!r}; open one.")
    state = act.state if isinstance(act, StateSealed) else None
    return write(work, population, place[0], place[1], encode(act), state=state)


def write(  # noqa: PLR0913 - a place in the chain, and what stands there
    work: Work,
    population: str,
    seq: int,
    previous: bytes,
    body: str,
    *,
    state: str | None = None,
) -> Entry:
    """The entry of ``body`` at the place that was taken for it.

    ``state`` is the sealed state that it tells of; by it the newest such entry is found.
    """
    entry = follow(previous, population, seq, body)
    work.run(_ADD, row_of(entry, state))
    work.run(_HEAD, {"at": population, "head": entry.hash})
    return entry


def row_of(entry: Entry, state: str | None) -> dict[str, object]:
    """Return the row of ``entry`` in the table of entries."""
    return {
        "population": entry.population,
        "seq": entry.seq,
        "body": entry.body,
        "hash": entry.hash,
        "state": state,
    }


def hold(work: Work, population: str) -> None:
    """Wait until nobody else adds to the chain of ``population``, to the end of ``work``."""
    if not work.run(_HOLD, {"at": population}):
        raise UnknownName(f"There is no budget for the population {population!r}; open one.")


def walk(work: Work, population: str, after: int = 0) -> Iterator[Entry]:
    """The entries of the chain in order, from the one after ``after``."""
    last = after
    while rows := work.all(_HISTORY, {"at": population, "after": last, "count": PAGE}):
        for last, body, hash_ in rows:
            yield Entry(population, last, body, hash_)


def head_of(work: Work, population: str) -> tuple[int, bytes]:
    """The place and the hash of the chain's last entry."""
    row = work.one(_FIND_HEAD, {"at": population})
    if row is None:
        raise UnknownName(f"There is no budget for the population {population!r}; open one.")
    return row[0], row[1]
