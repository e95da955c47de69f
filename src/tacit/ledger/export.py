"""A whole ledger as lines of text, for auditors, backups and moves between databases.

The first line names the format; then comes each chain, and then each stored answer. States and
tokens stay behind: they are secrets of one installation.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.answer import all_stored
from tacit.ledger.chain import walk
from tacit.ledger.entry import Entry
from tacit.store.store import Store
from tacit.store.tables import budgets

FORMAT = 1

_POPULATIONS = select(budgets.c.population)


def export(store: Store) -> Iterator[str]:
    """The lines of ``store`` as it stands at one moment."""
    with store.reading() as work:
        yield _line({"tacit ledger": FORMAT})
        # sorted here, since databases sort names in their own ways
        for (population,) in sorted(work.all(_POPULATIONS, {})):
            for entry in walk(work, population):
                yield _entry_line(entry)
        for release, body in all_stored(work):
            yield _answer_line(release, body)


@dataclass(frozen=True, slots=True)
class Exported:
    """What the lines of an export say, not yet believed."""

    chains: dict[str, list[Entry]]
    answers: dict[bytes, bytes]


def read_export(lines: Iterable[str]) -> Exported:
    """The chains and the answers of an exported ledger; each line is canonical, or refused."""
    exported = Exported({}, {})
    numbered = enumerate(lines, start=1)
    if next(numbered, (0, ""))[1].rstrip("\n") != _line({"tacit ledger": FORMAT}).rstrip("\n"):
        raise InvalidValue(f"This is not an exported ledger of format {FORMAT}.")
    for number, line in numbered:
        try:
            written = _read_line(exported, json.loads(line))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerBroken(f"Line {number} is not one of an exported ledger.") from error
        if written.rstrip("\n") != line.rstrip("\n"):
            raise LedgerBroken(f"Line {number} is not canonical.")
    return exported


def _read_line(exported: Exported, value: dict[str, Any]) -> str:
    """Add one line to ``exported``; the line as it should have been written."""
    if "answer" in value:
        release, answer = bytes.fromhex(value["release"]), b64decode(value["answer"])
        if release in exported.answers:
            raise ValueError
        exported.answers[release] = answer
        return _answer_line(release, answer)
    name, seq, body = value["population"], value["seq"], value["body"]
    if (type(name), type(seq), type(body)) != (str, int, str):
        raise TypeError
    name.encode()  # half a character, which JSON can hold, is no text
    entry = Entry(name, seq, body, bytes.fromhex(value["hash"]))
    exported.chains.setdefault(name, []).append(entry)
    return _entry_line(entry)


def _entry_line(entry: Entry) -> str:
    return _line(
        {
            "population": entry.population,
            "seq": entry.seq,
            "body": entry.body,
            "hash": entry.hash.hex(),
        }
    )


def _answer_line(release: bytes, body: bytes) -> str:
    return _line({"release": release.hex(), "answer": b64encode(body).decode()})


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n"
