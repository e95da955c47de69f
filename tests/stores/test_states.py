"""States: sealed, and changed only by who saw the last one."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import bindparam, select, update

from tacit.errors import Conflict, LedgerBroken
from tacit.store.sealed_state import NO_STATE, SealingKey, State, States
from tacit.store.store import SqlStore
from tacit.store.tables import states

SALT = b"a salt that nobody but us may read"
MOVE = update(states).where(states.c.name == bindparam("at"))
SEALED = select(states.c.sealed).where(states.c.name == bindparam("at"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def one_file(place: Path, opened: Callable[[str], SqlStore]) -> SqlStore:
    return opened(f"sqlite:///{place}")


@pytest.fixture
def kept(one_file: SqlStore) -> States:
    return States(one_file, SealingKey(bytes(32)))


def forge(store: SqlStore, name: str, **values: object) -> None:
    with store.writing() as work:
        work.run(MOVE.values(**values), {"at": name})


def sealed(store: SqlStore, name: str) -> bytes:
    with store.reading() as work:
        (found,) = work.one(SEALED, {"at": name}) or (b"",)
    return bytes(found)


def test_a_state_is_found_as_it_was_left(store: SqlStore) -> None:
    kept = States(store, SealingKey(bytes(32)))
    assert kept.find("visits") == NO_STATE
    first = kept.change("visits", NO_STATE, SALT)
    assert kept.find("visits") == first == State(1, SALT)
    second = kept.change("visits", first, b"")
    assert kept.find("visits") == second == State(2, b"")
    assert kept.find("doses") == NO_STATE


def test_of_two_who_change_one_version_one_is_told(store: SqlStore) -> None:
    kept = States(store, SealingKey(bytes(32)))
    first = kept.change("visits", NO_STATE, b"one")
    with pytest.raises(Conflict):
        kept.change("visits", NO_STATE, b"two")
    second = kept.change("visits", first, b"two")
    with pytest.raises(Conflict, match="Another writer changed this state first"):
        kept.change("visits", first, b"three")
    assert kept.find("visits") == second


def test_a_state_that_is_not_there_cannot_be_changed(kept: States) -> None:
    with pytest.raises(Conflict):
        kept.change("visits", State(1, b""), SALT)


def test_what_a_state_holds_is_not_in_the_file(kept: States, place: Path) -> None:
    kept.change("visits", NO_STATE, SALT)
    files = [file.read_bytes() for file in place.parent.iterdir() if file.is_file()]
    assert any(b"visits" in file for file in files)  # we look where it would be
    assert not any(SALT in file or b64encode(SALT) in file for file in files)


def test_a_state_does_not_print_what_it_holds() -> None:
    assert repr(State(3, SALT)) == "<state at version 3>"


@pytest.mark.parametrize("at", [0, 12, -1])
def test_a_state_that_was_changed_from_outside_does_not_open(
    kept: States, one_file: SqlStore, at: int
) -> None:
    kept.change("visits", NO_STATE, SALT)
    blob = bytearray(sealed(one_file, "visits"))
    blob[at] ^= 1
    forge(one_file, "visits", sealed=bytes(blob))
    with pytest.raises(LedgerBroken, match="changed or moved, or the sealing key is"):
        kept.find("visits")


def test_a_state_that_was_cut_does_not_open(kept: States, one_file: SqlStore) -> None:
    kept.change("visits", NO_STATE, SALT)
    for length in (0, 5, 12, 20):
        forge(one_file, "visits", sealed=sealed(one_file, "visits")[:length])
        with pytest.raises(LedgerBroken):
            kept.find("visits")


def test_an_old_state_does_not_open_in_the_place_of_a_new_one(
    kept: States, one_file: SqlStore
) -> None:
    first = kept.change("visits", NO_STATE, b"old")
    blob = sealed(one_file, "visits")
    kept.change("visits", first, b"new")
    forge(one_file, "visits", sealed=blob)
    with pytest.raises(LedgerBroken):
        kept.find("visits")
    forge(one_file, "visits", version=1)  # together they would; the anchor is for that
    assert kept.find("visits") == first


def test_a_state_of_another_name_does_not_open(kept: States, one_file: SqlStore) -> None:
    kept.change("visits", NO_STATE, SALT)
    kept.change("doses", NO_STATE, b"other")
    forge(one_file, "doses", sealed=sealed(one_file, "visits"))
    with pytest.raises(LedgerBroken):
        kept.find("doses")


def test_another_key_opens_nothing(kept: States, one_file: SqlStore) -> None:
    kept.change("visits", NO_STATE, SALT)
    with pytest.raises(LedgerBroken):
        States(one_file, SealingKey(b"\x01" * 32)).find("visits")
