"""Where the chains ended, kept outside the database.

Whoever holds the database can rewrite a chain from the start, cut off its end or put back last
week's copy, and the chain alone will still verify. An anchor that they do not hold tells.
"""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import bindparam, select

from tacit.errors import InvalidValue, LedgerBroken
from tacit.store.store import Store
from tacit.store.tables import budgets, entries

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
