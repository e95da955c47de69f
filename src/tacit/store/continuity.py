"""Notice that a chain lost entries: each writer compares its end with the end it saw before.

A process remembers the last entry of each chain that it has read or written (`Work.known`).
When it takes the next number of a chain, the entry before must be that one, or a later one that
follows it. Usually no other process has written meanwhile, so that two values in memory are
compared, and no statement is run.

An anchor is checked in the same way, by `missing_entry`: the anchored entry must be in its
place. Where it is not, the error says which of four things happened, because each needs another
answer:

* the ledger was *deleted*: it has no entry of the population;
* it was *replaced* by another one, or rewritten: another entry has the number;
* it was *truncated*: the budget counts entries that are not there;
* it was *put back* to an older copy: the chain is shorter, and consistent.

An owner who restores an old copy honestly charges the difference (`tacit.ledger.restored`). The
entry of that act names the lost one, which is then no longer missed.
"""

from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from tacit.errors import LedgerBroken
from tacit.store.tables import budgets, entries
from tacit.store.unit_of_work import Row, Work

WHAT_TO_DO = (
    "Nothing was charged. Stop every Tacit process that uses this ledger, restore the newest "
    "copy of it, and start again. If the newest copy is lost, restore a backup and run "
    "`tacit ledger charge-difference`."
)
"""The advice to an operator after a ledger was deleted, replaced, truncated or put back."""

_AT = select(entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)
_LAST = select(func.max(entries.c.seq)).where(entries.c.population == bindparam("at"))
_END = select(budgets.c.head_seq).where(budgets.c.population == bindparam("at"))
_RESTORED = select(entries.c.body).where(
    entries.c.population == bindparam("at"), entries.c.state == bindparam("lost")
)
_RESTORED_TEXT = '"kind":"restored","lost":"{}"'
"""A part of the text of the act that charges for a lost entry.

The hashes of a chain cover the text, and not the column by which it is found.
"""

PROCESS, ANCHOR = "this process has seen", "was anchored"
"""Where the missing entry was seen."""


class Seen(NamedTuple):
    """An entry that was in a chain: its number, its hash, and the hash of the first entry.

    The first entry identifies a ledger. It is None if it is not known.
    """

    population: str
    seq: int
    hash: bytes
    first: bytes | None = None


def check_continues(
    work: Work, population: str, seq: int, head: bytes, found: bytes | None
) -> None:
    """Raise `LedgerBroken` if a chain that ends with entry ``seq`` lost what was seen before.

    ``head`` is the hash of that entry in the budget's row, and ``found`` that in the chain.
    This must be called before the first entry that ``work`` writes to the chain.

    Guarantee: if this returns, the last entry that this process has seen is in the chain.
    """
    if found != head and seq and not _is_last(work, population, seq, head):
        raise LedgerBroken(
            f"The ledger was truncated: entry {seq} of {population!r}, which its budget counts "
            f"as the last one, is missing or differs. {WHAT_TO_DO}"
        )
    known = work.known.ends.get(population)
    if known == (seq, head) or population in work.written:
        return
    if known is None:
        remember_first(work, population)
        return
    error = missing_entry(work, _as_seen(work, population), PROCESS, end=seq)
    if error is not None:
        raise error


def _is_last(work: Work, population: str, seq: int, head: bytes) -> bool:
    """Return whether entry ``seq`` of the chain has the hash ``head``.

    This is asked again by a statement of its own: where PostgreSQL waits for another writer to
    release the budget's row, the statement that waits has read the chain before it waited.
    """
    row = work.one(_AT, {"at": population, "place": seq})
    return row is not None and bytes(row[0]) == head


def check_end(work: Work, population: str) -> None:
    """Check the chain's present end as `check_continues` does, before a charge is refused."""
    if population in work.known.ends and population not in work.written:
        error = missing_entry(work, _as_seen(work, population), PROCESS)
        if error is not None:
            raise error


def remember(work: Work, population: str, seq: int, head: bytes, first: bytes) -> None:
    """Remember the end and the first entry of a chain that was read when it was opened."""
    known = work.known
    if population not in known.ends or known.ends[population][0] < seq:
        known.ends[population] = (seq, head)
    known.firsts.setdefault(population, first)


def remember_first(work: Work, population: str) -> None:
    """Remember the first entry of a chain to which this process writes for the first time."""
    first = work.one(_AT, {"at": population, "place": 1})
    if first is not None:
        work.known.firsts.setdefault(population, bytes(first[0]))


def _as_seen(work: Work, population: str) -> Seen:
    known = work.known
    return Seen(population, *known.ends[population], known.firsts.get(population))


def missing_entry(
    work: Work, seen: Seen, where: str, end: int | None = None
) -> LedgerBroken | None:
    """Return the error for an entry that is not in its place; None if it is there.

    ``where`` says where the entry was seen: `PROCESS` or `ANCHOR`. ``end`` is the number of the
    last entry that the budget counts, where the caller has changed it meanwhile.
    """
    at = {"at": seen.population}
    row = work.one(_AT, {**at, "place": seen.seq})
    if row is not None and bytes(row[0]) == seen.hash:
        return None
    lost = seen.hash.hex()
    act = _RESTORED_TEXT.format(lost)
    if any(act in body for (body,) in work.all(_RESTORED, {**at, "lost": lost})):
        return None
    return LedgerBroken(f"{_what_happened(work, seen, where, row, end)} {WHAT_TO_DO}")


def _what_happened(
    work: Work, seen: Seen, where: str, row: Row | None, counted: int | None
) -> str:
    name, seq = seen.population, seen.seq
    at = {"at": name}
    [(last,)] = work.all(_LAST, at)
    end = work.one(_END, at) if counted is None else (counted,)
    if last is None and end is None:
        return (
            f"The ledger was deleted: it has no entry of {name!r}, whose chain ends before "
            f"entry {seq}, which {where}."
        )
    if row is not None:
        return (
            f"The ledger was replaced: entry {seq} of {name!r} differs from the entry that "
            f"{where}. This chain was rewritten, or it belongs to another ledger."
        )
    first = work.one(_AT, {**at, "place": 1})
    if first is not None and seen.first not in {None, bytes(first[0])}:
        return (
            f"The ledger was replaced: the chain of {name!r} ends before entry {seq}, which "
            f"{where}, and begins with another entry. It belongs to another ledger."
        )
    if end is None or last is None or end[0] != last:
        return (
            f"The ledger was truncated: the chain of {name!r} ends before entry {seq}, "
            f"which {where}, and entries are missing that its budget counts."
        )
    return (
        f"The ledger was put back to an older copy: the chain of {name!r} ends before entry "
        f"{seq}, which {where}. Later charges would be forgotten."
    )
