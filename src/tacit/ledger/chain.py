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
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from sqlalchemy import and_, bindparam, insert, or_, select, update

from tacit.errors import InvalidValue, LedgerBroken, UnknownName
from tacit.ledger.anchored_keys import (
    Clock,
    anchored_keys,
    known_keys,
    last_charge_at,
    lost_keys,
)
from tacit.ledger.chain_acts import Restored
from tacit.ledger.charge import NO_UNITS, RETRIES, Units
from tacit.ledger.entries import Act, Decision, Entry, StateSealed, encode_act, follow
from tacit.store import (
    ANCHOR,
    WHAT_TO_DO,
    Seen,
    SigningKey,
    Store,
    Work,
    check_continues,
    check_end,
    is_signed,
    missing_entry,
    remember,
)
from tacit.store.tables import budgets, entries

ALL_TIME = ""
"""The only period that is supported: one budget for all releases, without an end."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)

_last_hash = (
    select(entries.c.hash)
    .where(
        # not budgets.c.population: SQLite would read its name as that of the inner table
        entries.c.population == bindparam("at"),
        entries.c.seq == budgets.c.head_seq - bindparam("entries"),
    )
    .correlate(budgets)
    .scalar_subquery()
)
"""The hash of the chain's last entry, which must be the budget's head (`check_continues`)."""

STEP = (
    update(budgets)
    .where(_here)
    .values(head_seq=budgets.c.head_seq + bindparam("entries"))
    .returning(budgets.c.head_seq, budgets.c.head_hash, _last_hash)
)
"""The statement that takes the next numbers in a chain, for so many ``entries``.

It returns the last of them, and the hash of the entry before them, from the budget and from the
chain. Other writers wait until this unit of work ends.
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
        _last_hash,
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
        check_end(work, population)
        raise UnknownName(
            f"There is no budget for the population {population!r}; an owner opens one with "
            "`tacit apply`."
        )
    check_continues(work, population, place[0] - 1, place[1], place[2])
    body = encode_act(act)
    return write(work, population, place[0], place[1], body, state=state_of(act))


def state_of(act: Act | Decision) -> str | None:
    """Return the text by which the entry of ``act`` is found through the index of states."""
    match act:
        case StateSealed(state):
            return state
        case Restored(_, lost):
            return lost
    return None


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
    work.written[population] = (seq, entry.hash)
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
    work.written.update((entry.population, (entry.seq, entry.hash)) for entry in entries_)


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
        check_end(work, population)
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

_HEADS = select(
    budgets.c.population,
    budgets.c.head_seq,
    budgets.c.head_hash,
    budgets.c.spent_amount,
    budgets.c.spent_delta,
    entries.c.hash,
).select_from(
    budgets.outerjoin(
        entries, (entries.c.population == budgets.c.population) & (entries.c.seq == 1)
    )
)
SUMS = 2
"""The format of anchors that has sums, and no keys of owners."""

_SPENT = select(budgets.c.spent_amount, budgets.c.spent_delta).where(_here)
VERSION = 3
"""The format of anchors.

Format 1 had neither sums nor a signature, and format 2 no keys of owners. Both are still read.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of the newest entry of a chain, at the time of an anchor.

    ``spent`` is what was spent then, and ``first`` the hash of the chain's first entry. An
    anchor of version 0.1 has neither. Acts of owners were ``signed`` since that entry, or not
    if it is 0, and ``keys`` are those of the owners. An earlier format does not say this.
    """

    population: str
    seq: int
    hash: bytes
    spent: Units | None = None
    first: bytes | None = None
    signed: int | None = None
    keys: tuple[str, ...] = ()

    def fields(self, version: int) -> list[object]:
        """Return the values that an anchor of this format writes."""
        found: list[object] = [self.population, self.seq, self.hash.hex()]
        if version == 1:
            return found
        spent, first = self.spent or NO_UNITS, self.first or b""
        found += [first.hex(), str(spent.amount), str(spent.delta)]
        return found if version == SUMS else [*found, self.signed or 0, list(self.keys)]

    @classmethod
    def of(cls, fields: list[Any]) -> "Head":
        """Read the values of a head, in any format."""
        name, seq, head, *more = fields
        if not more:
            return cls(name, int(seq), bytes.fromhex(head))
        first, amount, delta, *signed = more
        found = cls(
            name,
            int(seq),
            bytes.fromhex(head),
            Units(int(amount), int(delta)),
            bytes.fromhex(first),
        )
        if not signed:
            return found
        since, keys = signed
        return replace(found, signed=int(since), keys=tuple(map(str, keys)))


@dataclass(frozen=True, slots=True)
class Anchor:
    """The heads of all chains at one time, which can be written as one line of text.

    ``generation`` is the number of times that an owner began a new series of anchors, and
    ``at`` is the time in milliseconds. A signed anchor has the public key and the signature.

    Example:
        >>> Anchor.of(Anchor((Head("patients", 7, bytes(32)),)).text).heads[0].seq
        7
    """

    heads: tuple[Head, ...]
    generation: int = 0
    at: int = field(default=0, compare=False)
    key: bytes = field(default=b"", compare=False)
    signature: bytes = field(default=b"", compare=False)

    @property
    def text(self) -> str:
        """The anchor as one line of text, which can be printed, mailed, signed or filed."""
        parts = self._parts()
        if self.signature:
            parts["signature"] = self.signature.hex()
        return json.dumps(parts, separators=(",", ":"))

    def _parts(self) -> dict[str, object]:
        version = VERSION
        if any(head.signed is None for head in self.heads):
            version = 1 if any(head.spent is None for head in self.heads) else SUMS
        heads = [head.fields(version) for head in self.heads]
        parts: dict[str, object] = {"tacit anchor": version, "heads": heads}
        if version != 1:
            parts |= {"generation": self.generation, "at": str(self.at)}
        if self.key:
            parts["key"] = self.key.hex()
        return parts

    @property
    def _signed_text(self) -> bytes:
        return json.dumps(self._parts(), separators=(",", ":")).encode()

    def sign(self, key: SigningKey, at: int, generation: int = 0) -> "Anchor":
        """Return the anchor with a time and a generation, signed with ``key``."""
        anchor = replace(self, at=at, generation=generation, key=key.public)
        return replace(anchor, signature=key.sign(anchor._signed_text))  # noqa: SLF001 - ours

    @property
    def is_intact(self) -> bool:
        """Whether the signature fits the text; true of an anchor that is not signed."""
        if not self.signature:
            return not self.key
        return is_signed(self._signed_text, self.signature, self.key)

    @classmethod
    def of(cls, text: str) -> "Anchor":
        """Parse the text of an anchor, and verify the signature if it has one."""
        try:
            parts = json.loads(text)
            anchor = cls(
                tuple(map(Head.of, parts["heads"])),
                parts.get("generation", 0),
                int(parts.get("at", 0)),
                bytes.fromhex(parts.get("key", "")),
                bytes.fromhex(parts.get("signature", "")),
            )
            if anchor.text == text.strip() and anchor.is_intact:
                return anchor
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidValue(
                "This text is not an anchor. Use a line that `tacit ledger anchor` wrote."
            ) from error
        raise InvalidValue(
            "This text is not an anchor any more: it was changed, and its signature or form no "
            "longer fits. Use a line that `tacit ledger anchor` wrote."
        )

    def head(self, population: str) -> Head | None:
        """Return the head of one population's chain, or None if it was not anchored."""
        found = [head for head in self.heads if head.population == population]
        return found[0] if found else None

    @property
    def ends(self) -> tuple[tuple[str, int, bytes], ...]:
        """The population, the number and the hash of each head, which every format has."""
        return tuple((head.population, head.seq, head.hash) for head in self.heads)

    @property
    def entries(self) -> int:
        """The number of entries in all chains."""
        return sum(head.seq for head in self.heads)

    @property
    def has_charges(self) -> bool:
        """Whether anything was spent under one of the populations."""
        return any(head.spent not in {None, NO_UNITS} for head in self.heads)


def take_anchor(store: Store) -> Anchor:
    """Return the heads of all chains of ``store`` as they are now."""
    with store.reading() as work:
        # sorted in Python, because databases order text by different collations
        rows = sorted(work.all(_HEADS, {}), key=itemgetter(0))
        keys = anchored_keys(work)
    unsigned: tuple[int, tuple[str, ...]] = (0, ())
    return Anchor(
        tuple(
            Head(
                name,
                seq,
                bytes(head),
                Units(amount, delta),
                bytes(first or b""),
                *keys.get(name, unsigned),
            )
            for name, seq, head, amount, delta, first in rows
        )
    )


def time_of_anchor(store: Store, clock: Clock) -> int:
    """Return the time of an anchor that was just taken of ``store``: not before its charges.

    A charge reads the clock before it is committed, perhaps on a machine whose clock is ahead.
    """
    with store.reading() as work:
        names = sorted(name for name, *_ in work.all(_HEADS, {}))
        return max([clock(), *(last_charge_at(work, name) for name in names)])


def check_anchor(store: Store, anchor: Anchor) -> None:
    """Raise `LedgerBroken` if ``store`` is older than ``anchor``, or is another ledger.

    Guarantee: if this returns, every chain of the store contains its anchored entry, or an
    owner's act that charges the difference (`tacit.ledger.restored`), and the sum that limits
    charges is at least the anchored one. Every anchored key of an owner is known.
    """
    with store.reading() as work:
        for head in anchor.heads:
            seen = Seen(head.population, head.seq, head.hash, head.first)
            error = missing_entry(work, seen, ANCHOR)
            if error is not None:
                raise error
            _check_sum(work, head)
            known = known_keys(work, head.population) if head.keys else ()
            lost = lost_keys(head.population, head.signed, head.keys, known)
            if lost is not None:
                raise LedgerBroken(f"The ledger was changed: {lost}. {WHAT_TO_DO}")


def _check_sum(work: Work, head: Head) -> None:
    """Raise `LedgerBroken` if less is spent than when ``head`` was anchored.

    A sum never falls, also not by a restore, after which the difference is charged.
    """
    row = work.one(_SPENT, {"at": head.population})
    if head.spent is not None and row is not None and not head.spent <= Units(*row):
        raise LedgerBroken(
            f"The ledger was changed: less is spent under {head.population!r} than when entry "
            f"{head.seq} was anchored. {WHAT_TO_DO}"
        )


def remember_ends(store: Store) -> None:
    """Remember the ends of all chains, so that this process notices if one is put back."""
    anchor = take_anchor(store)
    with store.reading() as work:
        for head in anchor.heads:
            remember(work, head.population, head.seq, head.hash, head.first or b"")


class AnchorFile:
    """A file of anchors, one a line, the newest last. Store it apart from the database."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> Anchor | None:
        """Return the last anchor of the file, or None if there is none."""
        if not self._path.exists():
            return None
        return _last(self._path.read_text())

    def add(
        self, store: Store, key: SigningKey | None = None, clock: Clock = lambda: 0
    ) -> Anchor:
        """Append an anchor of ``store``, signed with ``key`` if one is given.

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
            if key is not None:
                anchor = anchor.sign(key, time_of_anchor(store, clock))
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

    def read(self) -> Anchor | None:
        """Return the heads that were last written, or None."""
        if not self._path.exists():
            return None
        return Anchor.of(self._path.read_text(encoding="ascii"))

    def forget(self) -> None:
        """Remove the file: an owner has charged what the store has forgotten."""
        self._path.unlink(missing_ok=True)

    def check(self, store: Store) -> None:
        """Raise `LedgerBroken` if ``store`` is older than the one this folder last used."""
        written = self.read()
        if written is None:
            return
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
