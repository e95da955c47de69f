"""Edits of a chain, of its checkpoints and of its anchor: all are seen with the anchor."""

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from asking import answer, ask, open_pure
from conftest import Bar

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken
from tacit.ledger.book import Book
from tacit.ledger.book_state import signed_text, state_digest
from tacit.ledger.chain import Anchor, take_anchor
from tacit.ledger.checkpoints import current_book, write_checkpoint
from tacit.ledger.entries import Checkpointed, Entry, decode_act, encode_act, follow
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, read_export, verify
from tacit.store.key_files import SigningKey
from tacit.store.store import Store
from tacit.testing.memory_store import MemoryStore

KEY, OTHER = SigningKey(bytes(32)), SigningKey(b"2" * 32)
TAMPERINGS = int(os.environ.get("TACIT_TAMPERINGS", "10000"))


def checkpoint(store: Store) -> None:
    with store.reading() as work:
        book = current_book(work, "patients", KEY)
    assert write_checkpoint(store, book, KEY, 5) is not None


def rehash(chain: list[Entry]) -> list[Entry]:
    """Give every entry the number and the hash that its place has."""
    made: list[Entry] = []
    head = bytes(32)
    for number, entry in enumerate(chain, start=1):
        made.append(follow(head, "patients", number, entry.body))
        head = made[-1].hash
    return made


def forge(chain: list[Entry]) -> list[Entry]:
    """Sign every checkpoint again with another key, for what a forged chain adds up to."""
    book, made = Book("patients"), []
    for entry in chain:
        act, body = decode_act(entry.body), entry.body
        if isinstance(act, Checkpointed):
            digest = state_digest(book.state)
            text = signed_text("patients", book.seq + 1, book.head, digest)
            signed = OTHER.sign(text).hex()
            body = encode_act(Checkpointed(digest, OTHER.public.hex(), signed, act.at))
        made.append(follow(book.head, "patients", book.seq + 1, body))
        book.read(made[-1])
    return made


Edit = Callable[[list[Entry], int], list[Entry]]


def edit_a_character(chain: list[Entry], number: int) -> list[Entry]:
    place = number % len(chain)
    body = chain[place].body
    at = (number * 7919) % len(body)
    other = chr(33 + (ord(body[at]) - 33 + 1 + number % 90) % 94)
    changed = replace(chain[place], body=body[:at] + other + body[at + 1 :])
    return [*chain[:place], changed, *chain[place + 1 :]]


def edit_a_checkpoint(chain: list[Entry], number: int) -> list[Entry]:
    places = [n for n, entry in enumerate(chain) if '"checkpointed"' in entry.body]
    place = places[number % len(places)]
    fields = json.loads(chain[place].body)
    name = ("state", "key", "signature", "at")[number % 4]
    text = fields[name]
    at = (number * 31) % len(text)
    fields[name] = text[:at] + str((int(text[at], 16) + 1) % 10) + text[at + 1 :]
    body = json.dumps(fields, separators=(",", ":"), sort_keys=True)
    return [*chain[:place], replace(chain[place], body=body), *chain[place + 1 :]]


def delete_an_entry(chain: list[Entry], number: int) -> list[Entry]:
    place = number % len(chain)
    return [*chain[:place], *chain[place + 1 :]]


def swap_two_entries(chain: list[Entry], number: int) -> list[Entry]:
    made, place = list(chain), number % (len(chain) - 1)
    made[place], made[place + 1] = made[place + 1], made[place]
    return made


def write_an_entry_twice(chain: list[Entry], number: int) -> list[Entry]:
    place = number % len(chain)
    return [*chain[:place], chain[place], *chain[place:]]


def cut_off_the_end(chain: list[Entry], number: int) -> list[Entry]:
    return chain[: 1 + number % (len(chain) - 1)]


KINDS: dict[str, tuple[Edit, bool]] = {
    "a character of an entry": (edit_a_character, False),
    "a checkpoint": (edit_a_checkpoint, False),
    "a checkpoint, all after it rehashed": (edit_a_checkpoint, True),
    "an entry deleted": (delete_an_entry, False),
    "an entry deleted, all after it rehashed": (delete_an_entry, True),
    "two entries swapped, all after rehashed": (swap_two_entries, True),
    "an entry written twice, rehashed": (write_an_entry_twice, True),
    "the end cut off": (cut_off_the_end, False),
}
FORGED = "an entry deleted, rehashed, and every checkpoint signed again"
OF_ANCHOR = "an anchor"


def edited_anchor(anchor: Anchor, number: int) -> str:
    text = anchor.text
    at = (number * 7919) % len(text)
    other = chr(33 + (ord(text[at]) - 33 + 1 + number % 90) % 94)
    return text[:at] + other + text[at + 1 :]


def test_random_edits_of_chain_checkpoints_and_anchors_are_all_seen(bar: Bar) -> None:
    store = MemoryStore()
    ledger = Ledger(store)
    open_pure(ledger, "5")
    ledger.set_quota("patients", "ann", Loss.pure("3"), by="olga")
    for number in range(12):
        answer(ledger, ask(f"count {number}"))
        if number % 5 == 4:
            checkpoint(store)
    chain = read_export(export(store)).chains["patients"]
    anchor = take_anchor(store).sign(KEY, 1)
    assert sum('"checkpointed"' in entry.body for entry in chain) == 2

    def believed(changed: list[Entry], text: str | None) -> bool:
        try:
            verify("patients", changed, None if text is None else Anchor.of(text))
        except (LedgerBroken, ValueError):
            return False
        return True

    assert believed(chain, anchor.text)
    made, seen, alone = Counter[str](), Counter[str](), Counter[str]()
    names = [*KINDS, FORGED, OF_ANCHOR]
    for number in range(TAMPERINGS):
        name, turn = names[number % len(names)], number // len(names)
        made[name] += 1
        if name == OF_ANCHOR:
            seen[name] += not believed(chain, edited_anchor(anchor, turn))
            continue
        if name == FORGED:
            changed = _forged(chain, turn)
        else:
            edit, again = KINDS[name]
            changed = edit(chain, turn)
            changed = rehash(changed) if again else changed
        if changed == chain:
            made[name] -= 1  # two equal entries were swapped
            continue
        seen[name] += not believed(changed, anchor.text)
        alone[name] += not believed(changed, None)
    total, all_made = seen.total(), made.total()
    name = "edits of chain, checkpoints and anchors that are seen"
    bar(name, f"{total} of {all_made}", "all", total == all_made)
    # the lie: without an anchor, an end that was cut off and a forged chain are believed
    assert alone["the end cut off"] < made["the end cut off"]
    assert alone[FORGED] < made[FORGED]


def _forged(chain: list[Entry], turn: int) -> list[Entry]:
    """Leave out a charge with its answer, or cut the end off where that breaks a rule."""
    place = 2 + turn % (len(chain) - 3)
    for count in (2, 1):
        try:
            return forge([*chain[:place], *chain[place + count :]])
        except LedgerBroken:
            continue
    return forge(chain[:place])
