"""Checkpoints: what is resumed from one is what a walk from the start adds up to."""

import json
import sqlite3
from contextlib import closing

import pytest
from asking import answer, ask, open_pure
from history import write_history
from sqlalchemy import select

from tacit.errors import InternalError, LedgerBroken
from tacit.ledger import book as book_module
from tacit.ledger import book_state, checkpoints
from tacit.ledger.book import Book
from tacit.ledger.book_state import FORMS, OF_ENTRIES, OF_PLACE, read_state, state_text
from tacit.ledger.chain import Anchor, Head, take_anchor, walk
from tacit.ledger.checkpoints import current_book, write_checkpoint
from tacit.ledger.entries import ACTS, Checkpointed
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, read_export, restore
from tacit.store.key_files import SigningKey
from tacit.store.store import Store
from tacit.store.tables import checkpoints as table
from tacit.testing.memory_store import MemoryStore

KEY, OTHER = SigningKey(bytes(32)), SigningKey(b"2" * 32)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a checkpoint after ten entries, and not after a thousand."""
    monkeypatch.setattr(checkpoints, "EVERY", 10)
    monkeypatch.setattr("tacit.ledger.ledger.EVERY", 10)


def fields_of(book: Book) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(book).items()
        if name not in OF_ENTRIES and name not in OF_PLACE
    }


def checkpoint(store: Store, population: str = "patients", key: SigningKey = KEY) -> int:
    with store.reading() as work:
        book = current_book(work, population, key)
    written = write_checkpoint(store, book, key, 5)
    assert written is not None
    return written.seq


def newest(store: Store) -> tuple[int, str]:
    with store.reading() as work:
        [(_, seq, state)] = work.all(
            select(table.c.population, table.c.seq, table.c.state).where(
                table.c.population == "patients"
            ),
            {},
        )
    return seq, state


def test_a_book_that_is_resumed_is_the_one_that_was_read_whole() -> None:
    """After each entry of a history with every kind of act, at every later one."""
    store = MemoryStore()
    write_history(Ledger(store))
    chain = read_export(export(store)).chains["patients"]
    whole = Book("patients")
    for number, entry in enumerate(chain):
        if number:
            state = whole.state
            assert state_text(read_state(state)) == state
            book = Book.resume("patients", whole.seq + 1, whole.head, state)
            book.read_all(chain[number:])
            rest = Book("patients").read_all(chain)
            assert fields_of(book) == fields_of(rest)
            assert (book.seq, book.head) == (rest.seq, rest.head)
            assert book.kept.items() <= rest.kept.items()
        whole.read(entry)


def test_a_checkpoint_is_written_after_many_entries_and_read_from_then_on() -> None:
    store = MemoryStore()
    ledger = Ledger(store, key=KEY)
    open_pure(ledger)
    for number in range(4):
        answer(ledger, ask(f"count {number}"))
    assert ledger.verify("patients").since == 0  # nine entries
    answer(ledger, ask("count 4"))
    before = ledger.verify("patients")
    assert (before.entries, before.since) == (11, 0)
    assert newest(store)[0] == 12
    after = ledger.verify("patients")
    assert (after.entries, after.since, after.spent) == (12, 12, before.spent)
    assert "read from the checkpoint in entry 12" in str(after)
    whole = ledger.verify("patients", from_the_start=True)
    assert (whole.entries, whole.since, whole.spent) == (12, 0, before.spent)
    answer(ledger, ask("count 5"))
    assert ledger.current_book("patients").spent == ledger.book("patients").spent
    assert ledger.verify("patients", take_anchor(store)).anchored


def test_only_what_came_after_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    ledger = Ledger(store, key=KEY)
    write_history(ledger)
    checkpoint(store)
    read: list[int] = []
    honest = Book.read
    monkeypatch.setattr(
        Book, "read", lambda self, entry: (read.append(entry.seq), honest(self, entry))[1]
    )
    ledger.verify("patients")
    assert len(read) == 1
    with ledger.governing(by="olga") as acts:
        acts.current_book("patients")
    assert len(read) == 2
    Ledger(store).verify("patients")  # the lie: without the key all of it is read
    assert len(read) > 60


def test_a_checkpoint_of_another_key_is_not_trusted() -> None:
    store = MemoryStore()
    write_history(Ledger(store))
    checkpoint(store, key=OTHER)
    assert Ledger(store, key=KEY).verify("patients").since == 0
    checkpoint(store)
    assert Ledger(store, key=KEY).verify("patients").since > 0
    assert Ledger(store, key=OTHER).verify("patients").since == 0


def test_a_ledger_with_checkpoints_is_exported_and_restored() -> None:
    store, other = MemoryStore(), MemoryStore()
    write_history(Ledger(store))
    checkpoint(store)
    lines = list(export(store))
    restore(other, lines)
    assert list(export(other)) == lines
    # a restored ledger has no state, and is read from its start
    assert Ledger(other, key=KEY).verify("patients").since == 0


def change(store: MemoryStore, *statements: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.deserialize(store.image)
        names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in database.execute(names).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            assert database.execute(statement).rowcount > 0, statement
        store.image = database.serialize()
        store.close()


CHANGES = {
    "UPDATE checkpoints SET state = replace(state, 'olga', 'eve')": "state that is stored",
    "UPDATE checkpoints SET seq = seq - 1": "not in the chain",
    "UPDATE checkpoints SET seq = seq + 1": "not in the chain",
    'UPDATE entries SET body = replace(body, \'"signature":"\', \'"signature":"00\')'
    " WHERE body LIKE '%checkpointed%'": "signature does not fit",
    "UPDATE entries SET hash = zeroblob(32) WHERE body LIKE '%checkpointed%'": "hash of the",
    "UPDATE budgets SET spent_amount = spent_amount - 1": "not the sum of the chain",
    "UPDATE holders SET spent_amount = 0 WHERE holder = 'ann'": "quotas in the store",
}


@pytest.mark.parametrize("statement", CHANGES)
def test_a_changed_checkpoint_is_told_without_reading_all(statement: str) -> None:
    store = MemoryStore()
    write_history(Ledger(store))
    checkpoint(store)
    assert Ledger(store, key=KEY).verify("patients").since
    change(store, statement)
    with pytest.raises(LedgerBroken, match=CHANGES[statement]):
        Ledger(store, key=KEY).verify("patients")


def test_an_entry_before_a_checkpoint_is_seen_by_a_walk_and_by_its_anchor() -> None:
    store = MemoryStore()
    ledger = Ledger(store, key=KEY)
    write_history(ledger)
    with store.reading() as work:
        entries = list(walk(work, "patients"))
    anchor = Anchor((Head("patients", entries[9].seq, entries[9].hash),))
    checkpoint(store)
    change(store, "UPDATE entries SET hash = zeroblob(32) WHERE seq = 10")
    assert ledger.verify("patients").since  # this entry is not read
    with pytest.raises(LedgerBroken, match="Entry 10"):
        ledger.verify("patients", from_the_start=True)
    with pytest.raises(LedgerBroken, match="The ledger was replaced: entry 10"):
        ledger.verify("patients", anchor)


def test_a_state_has_every_field_of_a_book() -> None:
    """A new field needs a new form, and no checkpoint is written without one."""
    book = Book("patients")
    assert json.loads(book.state).keys() == vars(book).keys() - OF_ENTRIES - OF_PLACE
    vars(book)["later"] = {"a set", "of texts"}
    with pytest.raises(InternalError, match="No form of a state has the field 'later'"):
        state_text(vars(book))
    del vars(book)["later"]
    vars(book)["owners"] = object()
    with pytest.raises(InternalError, match="cannot contain a object"):
        state_text(vars(book))


def test_a_checkpoint_of_an_earlier_form_is_verified_and_not_resumed_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    write_history(Ledger(store))
    checkpoint(store)
    assert Ledger(store, key=KEY).verify("patients").since
    later = FORMS | {2: FORMS[1] | {"later"}}
    honest = Book.__init__

    def with_more(self: Book, population: str) -> None:
        honest(self, population)
        vars(self)["later"] = "what a later version adds up of the same entries"

    monkeypatch.setattr(Book, "__init__", with_more)
    for place in (book_state, book_module, checkpoints):
        monkeypatch.setattr(place, "NEWEST_FORM", 2)
        if hasattr(place, "FORMS"):
            monkeypatch.setattr(place, "FORMS", later)
    assert Ledger(store, key=KEY).verify("patients").since == 0


@pytest.mark.parametrize("text", ["[]", "{}x", '{"spent":{"units":[1]}}', '{"a":{"b":1}}'])
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(LedgerBroken, match="cannot be decoded"):
        read_state(text)
    assert ACTS["checkpointed"] is Checkpointed
