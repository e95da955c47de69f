"""Adding to a population's chain: the head moves, and the entry follows it, in one work."""

import fcntl
import json
import os
from collections.abc import Iterator
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
    return write(work, population, place[0], place[1], encode_act(act), state=state)


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


# ------------------------------------------------------------------ anchor
# Where the chains ended, kept outside the database.
#
# Whoever holds the database can rewrite a chain from the start, cut off its end or put back
# last week's copy, and the chain alone will still verify. An anchor that they do not hold
# tells.

_HEADS = select(budgets.c.population, budgets.c.head_seq, budgets.c.head_hash)
_AT = select(entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a chain at some time."""

    population: str
    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Anchor:
    """The heads of all chains at one time, as one line of text.

    Example:
        >>> Anchor.of(Anchor((Head("patients", 7, bytes(32)),)).text).heads[0].seq
        7
    """

    heads: tuple[Head, ...]

    @property
    def text(self) -> str:
        """One line, to be printed, mailed, signed or filed."""
        heads = [[head.population, head.seq, head.hash.hex()] for head in self.heads]
        return json.dumps({"tacit anchor": 1, "heads": heads}, separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> "Anchor":
        """The anchor that was written as ``text``."""
        try:
            heads = json.loads(text)["heads"]
            return cls(tuple(Head(name, int(seq), bytes.fromhex(h)) for name, seq, h in heads))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue("This is not the text of an anchor.") from error

    def head(self, population: str) -> Head | None:
        """The head of one population's chain, if it was anchored."""
        found = [head for head in self.heads if head.population == population]
        return found[0] if found else None


def take_anchor(store: Store) -> Anchor:
    """Where all chains of ``store`` end now."""
    with store.reading() as work:
        # sorted here, since databases sort names in their own ways
        return Anchor(tuple(Head(*row) for row in sorted(work.all(_HEADS, {}))))


def check_anchor(store: Store, anchor: Anchor) -> None:
    """Refuse a store that is older than ``anchor``, or another one: `LedgerBroken`.

    Guarantee: every chain of the store goes through its anchored entry.
    """
    with store.reading() as work:
        for head in anchor.heads:
            row = work.one(_AT, {"at": head.population, "place": head.seq})
            if row is None:
                raise LedgerBroken(
                    f"The chain of {head.population!r} ends before entry {head.seq}, which was "
                    "anchored: this is an old copy, and what was charged since would be "
                    "forgotten. Put the newest one back."
                )
            if row[0] != head.hash:
                raise LedgerBroken(
                    f"Entry {head.seq} of {head.population!r} is not the one that was "
                    "anchored: this chain was rewritten, or belongs to another ledger."
                )


class AnchorFile:
    """Anchors in a file of lines, the newest last; keep it where the database is not."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> Anchor | None:
        """The last anchor, or None where none was written."""
        if not self._path.exists():
            return None
        return _last(self._path.read_text())

    def add(self, store: Store) -> Anchor:
        """Anchor ``store``; refused, and nothing written, where it is older than the last."""
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
    """What was written without a last line that a crash cut short: nobody was given it."""
    return written[: written.rfind("\n") + 1]


# ------------------------------------------------------------------ head mark
# Where the chains ended when a folder was last used: an anchor beside the sealing key.
#
# A store that is restored from a backup, beside a folder that is not, opens with the same key
# and has forgotten what was charged and drawn since. The folder remembers. It is no anchor in
# the full sense: whoever restores both together is not told (`tacit.ledger.chain`).


class HeadMark:
    """The heads of all chains in one small file.

    Guarantee: a store whose chains do not go through what was last written is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, store: Store) -> None:
        """Refuse a store that is older than when this folder was last used with it."""
        if not self._path.exists():
            return
        written = Anchor.of(self._path.read_text(encoding="ascii"))
        try:
            check_anchor(store, written)
        except LedgerBroken as older:
            raise LedgerBroken(
                f"{older} The folder {self._path.parent} was last used with a newer one. Where "
                f"the newest is lost for good, remove {self._path}: what was charged and "
                "released since the backup is then forgotten, and must be added to every "
                "guarantee by hand."
            ) from older

    def move(self, store: Store) -> None:
        """Write down where the chains end now; refused where the store is older."""
        self.check(store)
        text = take_anchor(store).text + "\n"
        if self._path.exists() and self._path.read_text(encoding="ascii") == text:
            return
        # whole or not at all; of two at once the older may win, which is a mark all the same
        with NamedTemporaryFile("w", dir=self._path.parent, prefix=".", delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._path)
