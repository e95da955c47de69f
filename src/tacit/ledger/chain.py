"""The hash chain of a population: append entries, read them, and anchor their newest hash.

Each population has one chain. Its row in the table ``budgets`` holds the chain's *head*: the
number and the hash of the newest entry. A writer appends in one unit of work: it increments
the head's number, which locks the row against other writers, inserts the entry, and writes the
new hash to the head. So entries of one chain have an order, and their numbers have no gaps.

A hash chain shows that an entry was changed or removed, but not that its end was cut off or
that the whole chain was written again. The second and third part of this file handle that: an
`Anchor` is a copy of the heads outside the database, and a `HeadMark` is a small file with the
heads at the time a folder was last used.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from sqlalchemy import and_, bindparam, insert, or_, select, update

from tacit.errors import InvalidValue, LedgerBroken, UnknownName
from tacit.ledger.charge import RETRIES
from tacit.ledger.entries import Act, Entry, StateSealed, encode_act, follow
from tacit.store import Store, Work
from tacit.store.tables import budgets, entries

ALL_TIME = ""
"""The only period that is supported: one budget for all releases, without an end."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)

STEP = (
    update(budgets)
    .where(_here)
    .values(head_seq=budgets.c.head_seq + bindparam("entries"))
    .returning(budgets.c.head_seq, budgets.c.head_hash)
)
"""The statement that takes the next numbers in a chain, for so many ``entries``.

It returns the last of them. Other writers wait until this unit of work ends.
"""

MARKS = budgets.c.missed + budgets.c.failed + budgets.c.retried // RETRIES
"""Number of incidents that an owner must review: late answers, failures, every third retry."""

SPEND = (
    update(budgets)
    .where(
        _here,
        budgets.c.spent_amount <= budgets.c.cap_amount - bindparam("amount"),
        budgets.c.spent_delta <= budgets.c.cap_delta - bindparam("delta"),
        budgets.c.looked == MARKS,
        or_(
            bindparam("smallest") >= budgets.c.least_amount,
            and_(bindparam("amount") == 0, bindparam("delta") == 0),
        ),
        budgets.c.declared == bindparam("declaration"),
        budgets.c.frozen == 0,
    )
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        spent_delta=budgets.c.spent_delta + bindparam("delta"),
        head_seq=budgets.c.head_seq + bindparam("entries"),
    )
    .returning(
        budgets.c.head_seq,
        budgets.c.head_hash,
        budgets.c.missed,
        budgets.c.failed,
        budgets.c.retried,
    )
)
"""The conditional update that decides a charge: it spends the cost, or it changes no row.

It decides a group of charges as well: ``amount`` and ``delta`` are then the sums of their
costs, ``smallest`` is the least amount among those that are not free, and ``entries`` is the
number of entries that are written. All of them fit, or nothing is changed.

It changes no row where

* the cost does not fit into the rest of the budget;
* a late or failed answer has not yet been reviewed by an owner;
* the cost is below the least price and is not zero;
* the question was priced under a declaration that is no longer current;
* an owner has stopped all charges (frozen).

All conditions are in the statement itself. A server that has not yet heard of a change
therefore cannot charge either, and no check can be out of date when the cost is spent.
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
"""Number of entries that are read at a time."""


def append(work: Work, population: str, act: Act) -> Entry:
    """Append the entry of ``act`` to the end of the population's chain, and return it."""
    place = work.one(STEP, {"at": population, "entries": 1})
    if place is None:
        raise UnknownName(
            f"There is no budget for the population {population!r}; an owner opens one with "
            "`tacit apply`."
        )
    state = act.state if isinstance(act, StateSealed) else None
    return write(work, population, place[0], place[1], encode_act(act), state=state)


def write(  # noqa: PLR0913 - a place in the chain, and the entry's content
    work: Work,
    population: str,
    seq: int,
    previous: bytes,
    body: str,
    *,
    state: str | None = None,
) -> Entry:
    """Write the entry with text ``body`` at the number that was taken for it, and return it.

    ``state`` is the hashed name of the sealed state that the entry is about, if any. The column
    is indexed, so that the newest entry about a state can be found.
    """
    entry = follow(previous, population, seq, body)
    work.run(_ADD, row_of(entry, state))
    work.run(_HEAD, {"at": population, "head": entry.hash})
    return entry


def write_all(work: Work, entries_: Sequence[Entry]) -> None:
    """Write entries whose numbers were taken for them; each follows the one before it.

    They may belong to several chains. None of them is about a sealed state.
    """
    work.run_many(_ADD, [row_of(entry, None) for entry in entries_])
    heads = {entry.population: entry.hash for entry in entries_}
    for population, head in heads.items():
        work.run(_HEAD, {"at": population, "head": head})


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
    """Lock the chain of ``population`` against other writers until ``work`` ends."""
    if not work.run(_HOLD, {"at": population}):
        raise UnknownName(
            f"There is no budget for the population {population!r}; an owner opens one with "
            "`tacit apply`."
        )


def walk(work: Work, population: str, after: int = 0) -> Iterator[Entry]:
    """Yield the entries of the chain in order, beginning after the number ``after``."""
    last = after
    while rows := work.all(_HISTORY, {"at": population, "after": last, "count": PAGE}):
        for last, body, hash_ in rows:
            yield Entry(population, last, body, hash_)


def head_of(work: Work, population: str) -> tuple[int, bytes]:
    """Return the number and the hash of the chain's newest entry."""
    row = work.one(_FIND_HEAD, {"at": population})
    if row is None:
        raise UnknownName(
            f"There is no budget for the population {population!r}; an owner opens one with "
            "`tacit apply`."
        )
    return row[0], row[1]


# ------------------------------------------------------------------ anchors
# An anchor is a copy of the newest hash of each chain, stored outside the database.
#
# Anyone who can write to the database can rewrite a chain from its start, cut off its end, or
# restore last week's copy, and the chain alone still verifies. An anchor in a place to which
# that person cannot write shows the change.

_HEADS = select(budgets.c.population, budgets.c.head_seq, budgets.c.head_hash)
_AT = select(entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of the newest entry of a chain, at the time of an anchor."""

    population: str
    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Anchor:
    """The heads of all chains at one time, which can be written as one line of text.

    Example:
        >>> Anchor.of(Anchor((Head("patients", 7, bytes(32)),)).text).heads[0].seq
        7
    """

    heads: tuple[Head, ...]

    @property
    def text(self) -> str:
        """The anchor as one line of text, which can be printed, mailed, signed or filed."""
        heads = [[head.population, head.seq, head.hash.hex()] for head in self.heads]
        return json.dumps({"tacit anchor": 1, "heads": heads}, separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> "Anchor":
        """Parse the text of an anchor."""
        try:
            heads = json.loads(text)["heads"]
            return cls(tuple(Head(name, int(seq), bytes.fromhex(h)) for name, seq, h in heads))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(
                "This text is not an anchor. Use a line that `tacit ledger anchor` wrote."
            ) from error

    def head(self, population: str) -> Head | None:
        """Return the head of one population's chain, or None if it was not anchored."""
        found = [head for head in self.heads if head.population == population]
        return found[0] if found else None


def take_anchor(store: Store) -> Anchor:
    """Return the heads of all chains of ``store`` as they are now."""
    with store.reading() as work:
        # sorted in Python, because databases order text by different collations
        return Anchor(tuple(Head(*row) for row in sorted(work.all(_HEADS, {}))))


def check_anchor(store: Store, anchor: Anchor) -> None:
    """Raise `LedgerBroken` if ``store`` is older than ``anchor``, or is another ledger.

    Guarantee: if this returns, every chain of the store contains its anchored entry.
    """
    with store.reading() as work:
        for head in anchor.heads:
            row = work.one(_AT, {"at": head.population, "place": head.seq})
            if row is None:
                raise LedgerBroken(
                    f"The chain of {head.population!r} ends before entry {head.seq}, which was "
                    "anchored. This ledger is an old copy, and later charges would be "
                    "forgotten. Restore the newest copy."
                )
            if row[0] != head.hash:
                raise LedgerBroken(
                    f"Entry {head.seq} of {head.population!r} differs from the entry that was "
                    "anchored. This chain was rewritten, or it belongs to another ledger. "
                    "Restore the ledger that was anchored."
                )


class AnchorFile:
    """A file of anchors, one a line, the newest last. Store it apart from the database."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> Anchor | None:
        """Return the last anchor of the file, or None if there is none."""
        if not self._path.exists():
            return None
        return _last(self._path.read_text())

    def add(self, store: Store) -> Anchor:
        """Append an anchor of ``store``.

        Raise `LedgerBroken`, and write nothing, if the store is older than the last anchor.
        """
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            written = file.read()
            last = _last(written)
            if last is not None:
                check_anchor(store, last)
            anchor = take_anchor(store)
            file.truncate(len(_whole(written)))  # lines are ASCII
            file.write(anchor.text + "\n")
            file.flush()
            os.fsync(file.fileno())
        return anchor


def _last(written: str) -> Anchor | None:
    lines = _whole(written).splitlines()
    return Anchor.of(lines[-1]) if lines else None


def _whole(written: str) -> str:
    """Return ``written`` without an incomplete last line.

    A crash can cut the last line short. `add` had not returned then, so nobody relies on it.
    """
    return written[: written.rfind("\n") + 1]


# ------------------------------------------------------------------ head mark
# A head mark is an anchor in the folder of the ledger, next to the sealing key.
#
# A database that is restored from a backup opens with the same key, but lacks all charges and
# noise draws since the backup. Where the folder was not restored with it, the head mark shows
# this. It is weaker than an anchor elsewhere: a restore of both together is not detected.


class HeadMark:
    """A small file with the heads of all chains when the folder was last used.

    Guarantee: a store whose chains do not contain the heads that were last written is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, store: Store) -> None:
        """Raise `LedgerBroken` if ``store`` is older than the one this folder last used."""
        if not self._path.exists():
            return
        written = Anchor.of(self._path.read_text(encoding="ascii"))
        try:
            check_anchor(store, written)
        except LedgerBroken as older:
            raise LedgerBroken(
                f"{older} The folder {self._path.parent} was last used with a newer copy. If "
                f"the newest copy is lost for good, remove {self._path}. The ledger then has "
                "no record of the charges and releases since the backup, and you must add "
                "them to every guarantee by hand."
            ) from older

    def move(self, store: Store) -> None:
        """Write the current heads; raise `LedgerBroken` if ``store`` is older than the mark."""
        self.check(store)
        text = take_anchor(store).text + "\n"
        if self._path.exists() and self._path.read_text(encoding="ascii") == text:
            return
        # Replace the file atomically. Of two writers at once the one with the older heads may
        # win; its mark is still correct, only less recent.
        with NamedTemporaryFile("w", dir=self._path.parent, prefix=".", delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._path)
