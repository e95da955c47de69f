"""A whole ledger as lines of text, for auditors, backups and moves between databases.

The first line names the format; then comes each chain, and then each stored answer. States and
tokens stay behind: they are secrets of one installation.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import select

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.answer import all_stored
from tacit.ledger.chain import walk
from tacit.ledger.entry import Entry
from tacit.store.store import Store
from tacit.store.tables import budgets

FORMAT = 1

_POPULATIONS = select(budgets.c.population).order_by(budgets.c.population)


def export(store: Store) -> Iterator[str]:
    """The lines of ``store`` as it stands at one moment."""
    with store.reading() as work:
        yield _line({"tacit ledger": FORMAT})
        for (population,) in work.all(_POPULATIONS, {}):
            for entry in walk(work, population):
                yield _line(
                    {
                        "population": population,
                        "seq": entry.seq,
                        "body": entry.body,
                        "hash": entry.hash.hex(),
                    }
                )
        for release, body in all_stored(work):
            yield _line({"release": release.hex(), "answer": b64encode(body).decode()})


@dataclass(frozen=True, slots=True)
class Exported:
    """What the lines of an export say, not yet believed."""

    chains: dict[str, list[Entry]]
    answers: dict[bytes, bytes]


def read_export(lines: Iterable[str]) -> Exported:
    """The chains and the answers of an exported ledger."""
    exported = Exported({}, {})
    try:
        values = map(json.loads, lines)
        if next(values, None) != {"tacit ledger": FORMAT}:
            raise InvalidValue(f"This is not an exported ledger of format {FORMAT}.")
        for value in values:
            if "answer" in value:
                body = b64decode(value["answer"], validate=True)
                exported.answers[bytes.fromhex(value["release"])] = body
            else:
                name, seq = value["population"], int(value["seq"])
                entry = Entry(name, seq, value["body"], bytes.fromhex(value["hash"]))
                exported.chains.setdefault(name, []).append(entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerBroken("This is not a line of an exported ledger.") from error
    return exported


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n"
