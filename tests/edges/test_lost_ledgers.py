"""A ledger that is deleted, replaced, truncated or put back under a running process is noticed.

In version 0.1.0 a process whose database was replaced went on: its charges went into a file
that had no name any more, or an older copy forgot them (F-S5).
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from sqlalchemy import create_engine, make_url, text

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken
from tacit.ledger.ledger import Ledger
from tacit.session.curator import LedgerFolder
from tacit.store.store import SqlStore
from tacit.testing.memory_store import MemoryStore

Lose = Callable[[Path, Path, Path], None]
"""A way to lose the ledger in a folder: the folder, an old copy, and another ledger."""


def backup(path: Path, to: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def delete_folder(folder: Path, _: Path, __: Path) -> None:
    shutil.rmtree(folder)


def delete_file(folder: Path, _: Path, __: Path) -> None:
    (folder / "ledger.db").unlink()


def delete_all_files(folder: Path, _: Path, __: Path) -> None:
    for file in folder.glob("ledger.db*"):
        file.unlink()


def run(folder: Path, *statements: str) -> None:
    """Change the database behind the ledger's back, without its triggers."""
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in database.execute(names).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        database.commit()


def delete_rows(folder: Path, _: Path, __: Path) -> None:
    run(folder, "DELETE FROM entries", "DELETE FROM budgets")


def truncate_to_nothing(folder: Path, _: Path, __: Path) -> None:
    os.truncate(folder / "ledger.db", 0)


def truncate_to_half(folder: Path, _: Path, __: Path) -> None:
    size = (folder / "ledger.db").stat().st_size
    os.truncate(folder / "ledger.db", size // 2)


def truncate_chain(folder: Path, _: Path, __: Path) -> None:
    run(folder, "DELETE FROM entries WHERE seq > 3")


def truncate_chain_and_head(folder: Path, _: Path, __: Path) -> None:
    cut = "UPDATE budgets SET head_seq = 4, head_hash = zeroblob(32)"
    run(folder, "DELETE FROM entries WHERE seq > 3", cut)


def put_back(folder: Path, old: Path, _: Path) -> None:
    """What an operator does: the log is removed, and the backup gets the file's name."""
    for file in folder.glob("ledger.db*"):
        file.unlink()
    shutil.copy(old, folder / "ledger.db")


def rename_back(folder: Path, old: Path, _: Path) -> None:
    shutil.copy(old, folder / "old")
    (folder / "old").rename(folder / "ledger.db")


def overwrite_back(folder: Path, old: Path, _: Path) -> None:
    for file in folder.glob("ledger.db-*"):
        file.unlink()
    shutil.copyfile(old, folder / "ledger.db")


def put_rows_back(folder: Path, old: Path, _: Path) -> None:
    """What a restore into a running database does."""
    tables = ("budgets", "entries", "requests", "answers", "holders")
    statements = [f"ATTACH '{old}' AS old"]
    for table in tables:
        statements.append(f"DELETE FROM main.{table}")  # noqa: S608 - our own names
        statements.append(f"INSERT INTO main.{table} SELECT * FROM old.{table}")  # noqa: S608
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as database:
        names = "SELECT name FROM main.sqlite_master WHERE type = 'trigger'"
        for (name,) in database.execute(names).fetchall():
            database.execute(f"DROP TRIGGER main.{name}")
        for statement in statements:
            database.execute(statement)


def replace_by_another(folder: Path, _: Path, other: Path) -> None:
    shutil.copy(other, folder / "other")
    (folder / "other").rename(folder / "ledger.db")


def replace_by_a_text(folder: Path, _: Path, __: Path) -> None:
    with closing(sqlite3.connect(folder / "new")) as database:
        database.execute("CREATE TABLE notes (text)")
    (folder / "new").rename(folder / "ledger.db")


def rewrite_an_entry(folder: Path, _: Path, __: Path) -> None:
    run(
        folder,
        "UPDATE entries SET hash = zeroblob(32) WHERE seq = 5",
        "UPDATE budgets SET head_hash = zeroblob(32)",
    )


WAYS: dict[Lose, str] = {
    delete_folder: "The ledger was deleted",
    delete_file: "The ledger was deleted",
    delete_all_files: "The ledger was deleted",
    delete_rows: "The ledger was deleted",
    truncate_to_nothing: "The ledger was truncated",
    truncate_to_half: "The ledger was truncated",
    truncate_chain: "The ledger was truncated",
    truncate_chain_and_head: "The ledger was truncated",
    put_back: "The ledger was put back to an older copy",
    rename_back: "The ledger was put back to an older copy",
    overwrite_back: "The ledger was put back to an older copy",
    put_rows_back: "The ledger was put back to an older copy",
    replace_by_another: "The ledger was replaced",
    replace_by_a_text: "The ledger was replaced",
    rewrite_an_entry: "The ledger was replaced",
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[LedgerFolder, Path, Path, Path]]:
    """An open ledger with five entries, its copy from before the last charge, and another."""
    folder, old, other = tmp_path / ".tacit", tmp_path / "old.db", tmp_path / "other.db"
    theirs = LedgerFolder.at(tmp_path / "theirs")
    open_pure(theirs.ledger, "2")
    for number in range(4):
        answer(theirs.ledger, ask(f"theirs {number}"))
    backup(tmp_path / "theirs/ledger.db", other)
    theirs.close()
    home = LedgerFolder.at(folder)
    open_pure(home.ledger)
    answer(home.ledger, ask("before"))
    backup(folder / "ledger.db", old)
    answer(home.ledger, ask("after"))
    yield home, folder, old, other
    home.store.close()


@pytest.mark.parametrize("lose", WAYS, ids=lambda lose: lose.__name__)
def test_a_lost_ledger_is_noticed_at_the_next_charge(
    running: tuple[LedgerFolder, Path, Path, Path], lose: Lose
) -> None:
    home, *places = running
    lose(*places)
    for number in range(2):
        with pytest.raises(LedgerBroken, match=WAYS[lose]) as told:
            home.ledger.reserve(ask(f"next {number}"), lease_ms=1000)
        for words in ("Nothing was charged", "restore the newest copy"):
            assert words in str(told.value)
        assert str(places[0]) not in str(told.value)  # an analyst may read it


@pytest.mark.parametrize("lose", WAYS, ids=lambda lose: lose.__name__)
def test_a_process_whose_ledger_is_lost_can_end(
    running: tuple[LedgerFolder, Path, Path, Path], lose: Lose
) -> None:
    """It ends without an error, and leaves the mark by which the next one notices the loss."""
    home, *places = running
    assert home.mark is not None
    home.mark.move(home.store)
    marked = home.mark.read()
    lose(*places)
    home.close()
    assert home.mark.read() == (marked if places[0].exists() else None)


def test_each_way_has_a_message_of_its_own() -> None:
    assert len(set(WAYS.values())) == 4


def test_owners_and_answers_notice_it_too(
    running: tuple[LedgerFolder, Path, Path, Path],
) -> None:
    home, *places = running
    put_rows_back(*places)
    with pytest.raises(LedgerBroken, match="older copy"):
        home.ledger.freeze("patients", by="olga")
    with pytest.raises(LedgerBroken, match="older copy"):
        home.ledger.raise_cap("patients", Loss.pure("1"), "why", by="olga")


def test_a_copy_with_every_entry_is_taken_at_the_next_start(
    running: tuple[LedgerFolder, Path, Path, Path], tmp_path: Path
) -> None:
    """A file that was moved to another disk contains all that was charged."""
    home, folder, *_ = running
    backup(folder / "ledger.db", tmp_path / "new.db")
    (tmp_path / "new.db").rename(folder / "ledger.db")
    with pytest.raises(LedgerBroken, match="has every entry that this process has seen"):
        home.ledger.reserve(ask("next"), lease_ms=1000)
    home.close()
    for file in folder.glob("ledger.db-*"):
        file.unlink()
    again = LedgerFolder.at(folder)
    answer(again.ledger, ask("next"))
    assert again.ledger.verify("patients").entries == 7
    again.close()


def test_the_lie_that_only_the_file_is_looked_at(
    running: tuple[LedgerFolder, Path, Path, Path], bar: Bar
) -> None:
    """Without what the process has seen, rows that are put back are taken."""
    home, *places = running
    put_rows_back(*places)
    assert isinstance(home.store, SqlStore)
    home.store.known.ends.clear()
    answer(home.ledger, ask("next"))
    entries = home.ledger.verify("patients").entries
    bar("lie: entries of an older copy that is charged", entries, "5", entries == 5)


def test_another_process_that_charges_is_no_loss(tmp_path: Path) -> None:
    one, two = LedgerFolder.at(tmp_path), LedgerFolder.at(tmp_path)
    open_pure(one.ledger)
    for number in range(4):
        answer((one, two)[number % 2].ledger, ask(f"count {number}"))
    assert one.ledger.verify("patients").entries == 9
    for home in (one, two):
        home.close()


@pytest.fixture
def two_stores(store_address: str, opened: Callable[[str], SqlStore]) -> tuple[Ledger, ...]:
    return tuple(Ledger(opened(store_address)) for _ in range(2))


def test_rows_put_back_are_noticed_though_others_wrote_since(
    two_stores: tuple[Ledger, ...], store_address: str
) -> None:
    ours, theirs = two_stores
    open_pure(ours)
    answer(ours, ask("one"))
    answer(ours, ask("two"))
    url = make_url(store_address)
    drivers = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
    engine = create_engine(url.set(drivername=drivers[url.drivername]))
    with engine.begin() as connection:
        if url.drivername == "sqlite":
            found = connection.execute(
                text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            )
            for (name,) in found.all():
                connection.execute(text(f"DROP TRIGGER {name}"))
        else:
            for table in ("entries", "answers"):
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
        connection.execute(
            text(
                "UPDATE budgets SET head_seq = 3, spent_amount = spent_amount / 2, head_hash = "
                "(SELECT hash FROM entries WHERE seq = 3)"
            )
        )
        connection.execute(text("DELETE FROM entries WHERE seq > 3"))
    engine.dispose()
    for number in range(2):
        answer(theirs, ask(f"later {number}"))
    with pytest.raises(LedgerBroken, match="The ledger was replaced: entry 5"):
        ours.reserve(ask("next"), lease_ms=1000)


def test_a_store_in_memory_notices_it_too() -> None:
    store = MemoryStore()
    ledger = Ledger(store)
    open_pure(ledger)
    answer(ledger, ask("one"))
    old = store.image
    answer(ledger, ask("two"))
    store.image = old
    store.close()
    with pytest.raises(LedgerBroken, match="older copy"):
        ledger.reserve(ask("three"), lease_ms=1000)
