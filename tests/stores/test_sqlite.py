"""What a store in one file does with that file."""

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from tacit.errors import ConnectionLost, StoreFailed
from tacit.store import connect
from tacit.store.connect import _prepare, open_sqlite
from tacit.store.store import SqlStore
from tacit.store.tables import states

LARGE = {"version": 1, "sealed": bytes(100_000)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "made" / "ledger.db"


@pytest.fixture
def store(place: Path, opened: Callable[[str], SqlStore]) -> SqlStore:
    return opened(f"sqlite:///{place}")


def pragma(store: SqlStore, name: str) -> object:
    with store.reading() as work:
        row = work.one(text(f"PRAGMA {name}"), {})
    assert row is not None
    return row[0]


def put(store: SqlStore, name: str) -> None:
    with store.writing() as work:
        work.run(insert(states), {"name": name, **LARGE})


def test_every_connection_syncs_each_commit(store: SqlStore) -> None:
    connections = [store._engine.connect() for _ in range(3)]
    for connection in connections:
        found = [
            connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "fullfsync", "trusted_schema")
        ]
        assert found == ["wal", 2, 1, 0]
        connection.close()


def test_the_log_is_written_back_after_a_bounded_number_of_pages(store: SqlStore) -> None:
    assert pragma(store, "wal_autocheckpoint") == 30_000


def test_only_its_owner_reads_the_file_and_its_log(store: SqlStore, place: Path) -> None:
    put(store, "a")
    files = list(place.parent.iterdir())
    assert {file.name for file in files} == {"ledger.db", "ledger.db-wal", "ledger.db-shm"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_store_whose_disk_is_full_writes_nothing_more(store: SqlStore, place: Path) -> None:
    put(store, "before")
    pragma(store, "max_page_count=1")  # no page can be added from here on
    with pytest.raises(
        ConnectionLost, match="Ask again with the same idempotency key to find out"
    ):
        put(store, "during")
    with pytest.raises(StoreFailed, match=r"disk of this store failed.* open the store again"):
        put(store, "after")
    again = open_sqlite(place)
    put(again, "again")
    with again.reading() as work:
        assert work.all(text("SELECT name FROM states ORDER BY name"), {}) == [
            ("again",),
            ("before",),
        ]
    again.close()


def test_a_writer_who_waits_too_long_is_told_that_nothing_was_written(
    place: Path, opened: Callable[[str], SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "WAIT_SECONDS", 0.01)
    store, another = opened(f"sqlite:///{place}"), opened(f"sqlite:///{place}")
    with (
        another.writing(),
        pytest.raises(StoreFailed, match=r"busy and nothing was written. Ask again"),
    ):
        put(store, "a")


def test_a_place_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreFailed, match="cannot be created or written"):
        open_sqlite(tmp_path / "file" / "ledger.db")


def test_a_database_that_keeps_no_log_or_no_folder_is_refused(tmp_path: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(StoreFailed, match="cannot use a write-ahead log"),
    ):
        _prepare(connection, tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        with pytest.raises(StoreFailed, match="folder of the store's file cannot be synced"):
            _prepare(connection, tmp_path / "nowhere")
        _prepare(connection, tmp_path)
