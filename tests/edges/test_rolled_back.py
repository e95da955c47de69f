"""A ledger and its sealed states are rolled back together, or what used them is refused.

In version 0.1.0 a ledger that was put back without its states released the steps of a stream
again, with the noise that was used before, on rows that had changed since: the difference of
the two releases is exact.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
import streaming
from conftest import Bar
from streaming import FIRST, PEOPLE, prepared, rows
from streaming import opened as opened_stream

from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import LedgerBroken
from tacit.ledger.chain import HeadMark
from tacit.ledger.ledger import Ledger
from tacit.ledger.sealed_states import ChainWitness
from tacit.ledger.verify import export, restore
from tacit.session.curator import MARK, LedgerFolder
from tacit.store.connect import open_store
from tacit.store.sealed_state import NO_STATE, SealingKey, States
from tacit.stream.open_stream import OpenStream

HORIZON, BEFORE, AFTER = 8, 3, 2
LEDGER = ("budgets", "entries", "requests", "answers", "holders")
KEY = SealingKey(bytes(32))


@contextmanager
def opened(address: str) -> Iterator[OpenStream]:
    with opened_stream(address, HORIZON, lambda _: None) as running:
        yield running


def file_of(address: str) -> Path:
    return Path(address.removeprefix("sqlite:///"))


def copied(address: str) -> Path:
    """Copy the database as it is now, as a backup does."""
    old = file_of(address).with_suffix(".old")
    with closing(sqlite3.connect(file_of(address))) as now, closing(sqlite3.connect(old)) as to:
        now.backup(to)
    return old


def put_back(address: str, old: Path, *tables: str) -> None:
    """Put back some tables of a backup, and leave the others as they are."""
    with closing(sqlite3.connect(file_of(address), isolation_level=None)) as database:
        database.execute("ATTACH ? AS old", (str(old),))
        database.execute("BEGIN IMMEDIATE")
        asked = "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger'"
        triggers = database.execute(asked).fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER main.{name}")
        for table in tables:
            database.execute(f"DELETE FROM main.{table}")  # noqa: S608
            database.execute(f"INSERT INTO main.{table} SELECT * FROM old.{table}")  # noqa: S608
        for _, sql in triggers:
            database.execute(sql)
        database.execute("COMMIT")


def released(address: str, steps: int) -> list[str]:
    with opened(address) as running:
        return [repr(running.release().columns) for _ in range(steps)]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return prepared(tmp_path)


ALONE = {"ledger": LEDGER, "states": ("states",)}


@pytest.mark.parametrize("what", ALONE)
@pytest.mark.parametrize("before", [0, BEFORE])
def test_what_is_rolled_back_alone_is_refused(
    address: str, what: str, before: int, bar: Bar
) -> None:
    with opened(address) as running:
        running.start()
    released(address, before)
    old = copied(address)
    released(address, AFTER)
    put_back(address, old, *ALONE[what])
    says = {"ledger": "the ledger is an old copy", "states": "but the state is missing"}[what]
    with pytest.raises(LedgerBroken, match=says) as told:
        released(address, 1)
    assert "Restore the newest copy of both" in str(told.value)
    bar(
        f"edge rolled back, {what} to {before} of {before + AFTER} steps", "refused", "so", True
    )


@pytest.mark.parametrize("what", ALONE)
def test_a_version_that_the_ledger_does_not_know_of_is_refused(address: str, what: str) -> None:
    with closing(open_store(address)) as store:
        tied = States(store, KEY, ChainWitness()).of(PEOPLE.name)
        one = tied.change("threshold", NO_STATE, b"one")
        old = copied(address)
        tied.change("threshold", one, b"two")
    put_back(address, old, *ALONE[what])
    with closing(open_store(address)) as store:
        tied = States(store, KEY, ChainWitness()).of(PEOPLE.name)
        with pytest.raises(LedgerBroken, match=f"the {what} (is|are) an old copy"):
            tied.find("threshold")


def test_both_together_go_on(address: str) -> None:
    """What is rolled back as one is consistent: only an anchor or a publication knows more."""
    first = released(address, BEFORE)
    old = copied(address)
    released(address, AFTER)
    put_back(address, old, *LEDGER, "states")
    with opened(address) as running:
        assert running.released == BEFORE
        assert [repr(running.release(step).columns) for step in range(BEFORE)] == first


def counts(running: OpenStream) -> list[Fraction]:
    return [Fraction(value) for value in running.release()["n"].values]


def test_states_that_no_ledger_knows_of_tell_exactly_who_came(
    address: str, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: states as version 0.1.0 had them."""
    monkeypatch.setattr(streaming, "_states", lambda store: States(store, KEY))
    released(address, BEFORE)
    old = copied(address)
    with opened(address) as running:
        first = counts(running)
    put_back(address, old, *LEDGER)
    came = {"patient": 999, "ward": "north", "day": FIRST + timedelta(days=BEFORE)}
    monkeypatch.setattr(streaming, "rows", lambda horizon: [*rows(horizon), came])
    with opened(address) as running:
        again = counts(running)
    moved = [str(new - before) for before, new in zip(first, again, strict=True)]
    name = "lie: a ledger is rolled back without its states: a step moves by"
    bar(name, moved, "exactly one person", moved == ["1", "0"])


def test_a_restored_export_has_no_states_and_says_so(address: str, tmp_path: Path) -> None:
    released(address, BEFORE)
    other = f"sqlite:///{tmp_path}/other/ledger.db"
    with closing(open_store(address)) as store, closing(open_store(other)) as new:
        restore(new, list(export(store)))
    with opened(other) as running:
        assert running.released == BEFORE
        running.release(BEFORE - 1)  # what was released is there
        with pytest.raises(LedgerBroken, match="but the state is missing"):
            running.release()


def test_a_state_of_an_old_version_goes_on_and_is_known_from_then_on(address: str) -> None:
    """A store of 0.1.0: its states stand in no chain until they change."""
    with closing(open_store(address)) as store:
        made = States(store, KEY).change("noise", NO_STATE, b"one")
        tied = States(store, KEY, ChainWitness()).of(PEOPLE.name)
        assert tied.find("noise") == made
        after = tied.change("noise", made, b"two")
        assert (after.version, tied.find("noise")) == (2, after)
        book = Ledger(store).book(PEOPLE.name)
        assert [version for version, _ in book.states.values()] == [2]
        Ledger(store).verify(PEOPLE.name)
        with pytest.raises(LedgerBroken):  # it is sealed for its population
            States(store, KEY).find("noise")


def test_a_state_that_was_replaced_is_refused(address: str) -> None:
    with closing(open_store(address)) as store:
        tied = States(store, KEY, ChainWitness()).of(PEOPLE.name)
        tied.change("noise", tied.find("noise"), b"one")
    with closing(sqlite3.connect(file_of(address))) as database:
        database.execute("UPDATE states SET sealed = zeroblob(40)")
        database.commit()
    with closing(open_store(address)) as store:
        tied = States(store, KEY, ChainWitness()).of(PEOPLE.name)
        with pytest.raises(LedgerBroken, match="the stored version 1 is not the one that"):
            tied.find("noise")


def used(folder: Path, wanted: int) -> None:
    """Ask the home in a folder for a population's budget, as a session does."""
    home = LedgerFolder.at(folder)
    try:
        names = home.ledger.populations()
        for number in range(len(names), wanted):
            people = Population(f"p{number}", PrivacyUnit("person"))
            home.ledger.open_budget(people, Budget(Loss.pure(1)), ("ann",), by="ann")
    finally:
        home.close()


def test_a_store_that_was_restored_beside_a_kept_key_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / ".tacit"
    used(folder, 1)
    backup = shutil.copy(folder / "ledger.db", tmp_path / "backup.db")
    used(folder, 2)
    now = (folder / "ledger.db").read_bytes()
    shutil.copy(backup, folder / "ledger.db")
    with pytest.raises(LedgerBroken, match="was last used with a newer copy"):
        used(folder, 2)
    (folder / "ledger.db").write_bytes(now)
    used(folder, 2)  # the newest is put back
    # the lie: nobody wrote down where the chains ended
    shutil.copy(backup, folder / "ledger.db")
    (folder / MARK).unlink()
    used(folder, 1)


def test_a_mark_moves_forward_only(tmp_path: Path) -> None:
    folder = tmp_path / ".tacit"
    used(folder, 1)
    backup = shutil.copy(folder / "ledger.db", tmp_path / "backup.db")
    used(folder, 2)
    before = (folder / MARK).read_text()
    with closing(open_store(f"sqlite:///{backup}")) as old, pytest.raises(LedgerBroken):
        HeadMark(folder / MARK).move(old)
    assert (folder / MARK).read_text() == before
    assert (folder / MARK).stat().st_mode & 0o077 == 0
