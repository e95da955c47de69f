"""Exports that are not as they were written: refused, each for its reason."""

import json
from collections.abc import Callable

import pytest
from asking import ask
from history import write_history
from tampering import hashed_anew

from tacit.errors import LedgerBroken
from tacit.ledger.entries import Entry
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, read_export, restore
from tacit.store.store import Store

Lines = list[str]


def edited(lines: Lines, place: int, **values: object) -> Lines:
    value = json.loads(lines[place]) | values
    line = json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"
    return [*lines[:place], line, *lines[place + 1 :]]


def without(lines: Lines, part: str) -> Lines:
    return [line for line in lines if part not in line]


def staff_without(lines: Lines, *acts: str) -> Lines:
    """The second population's chain without some acts, hashed anew so that it holds itself."""
    staff = read_export(lines).chains["staff"]
    kept = [entry for entry in staff if not any(f'"kind":"{a}"' in entry.body for a in acts)]
    others = without(lines, '"population":"staff"')
    return [*others, *map(line_of, hashed_anew(kept))]


def line_of(entry: Entry) -> str:
    value = {"body": entry.body, "hash": entry.hash.hex(), "population": entry.population}
    return json.dumps(value | {"seq": entry.seq}, sort_keys=True, separators=(",", ":")) + "\n"


PLANTED = '{"answer":"AAAA","release":"%s"}\n'
BROKEN: dict[str, tuple[str, Callable[[Lines], Lines]]] = {
    "an entry is missing": (
        "an entry with another number",
        lambda lines: [*lines[:5], *lines[6:]],
    ),
    "two entries change places": (
        "an entry with another number",
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
    ),
    "a chain without its twin": (
        "missing in the chain of 'staff'",
        lambda lines: without(lines, '"population":"staff"'),
    ),
    "a charge that its twin does not tell of": (
        "missing in the chain of 'staff'",
        lambda lines: staff_without(lines, "charged", "kept"),
    ),
    "an answer that its twin does not tell of": (
        "record different answers to one question",
        lambda lines: staff_without(lines, "kept"),
    ),
    "an answer is missing": ("answers in this export differ", lambda lines: lines[:-1]),
    "an answer is another": (
        "answers in this export differ",
        lambda lines: edited(lines, len(lines) - 1, answer="AAAA"),
    ),
    "an answer is told twice": ("Line .* is not a line", lambda lines: [*lines, lines[-1]]),
    "an answer to nothing": (
        "answers in this export differ",
        lambda lines: [*lines, PLANTED % ("00" * 32)],
    ),
    "an answer that was lost": (
        "answers in this export differ",
        lambda lines: [*lines, PLANTED % ask("count 5").release_key.hex()],
    ),
    "text that is no JSON": ("Line 6 is not a line", lambda ls: [*ls[:5], "{\n", *ls[5:]]),
    "a line of another kind": ("Line .* is not a line", lambda lines: [*lines, "[]\n"]),
    "a line that never ends": ("Line .* is not a line", lambda lines: [*lines, "[" * 10**5]),
    "a field too many": ("Line 6 is not canonical", lambda lines: edited(lines, 5, more=1)),
    "spaces": (
        "Line 6 is not canonical",
        lambda lines: [*lines[:5], lines[5].replace(":", ": ", 1), *lines[6:]],
    ),
    "a place as text": ("Line 6 is not a line", lambda lines: edited(lines, 5, seq="5")),
    "a place that is true": ("Line 2 is not a line", lambda lines: edited(lines, 1, seq=True)),
    "a body that is no text": ("Line 6 is not a line", lambda lines: edited(lines, 5, body=7)),
    "a body of half a character": (
        "Entry 5 .* not canonical",
        lambda lines: edited(lines, 5, body="\ud800"),
    ),
    "a name of half a character": (
        "Line 6 is not a line",
        lambda lines: edited(lines, 5, population="\ud800"),
    ),
    "no chain at its start": (
        "an entry with another number",
        lambda lines: [lines[0], *lines[2:]],
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_export_is_refused_and_nothing_is_written(
    new_store: Callable[[str], str], opened: Callable[[str], Store], how: str
) -> None:
    written, target = opened(new_store("sqlite")), opened(new_store("sqlite"))
    write_history(Ledger(written))
    lines = list(export(written))
    why, broken = BROKEN[how]
    with pytest.raises(LedgerBroken, match=why):
        restore(target, broken(lines))
    assert len(list(export(target))) == 1
    restore(target, lines)
