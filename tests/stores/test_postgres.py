"""What a store in PostgreSQL asks of its server."""

from collections.abc import Callable
from pathlib import Path

import postgres_cluster
import pytest
from postgres_cluster import PostgresCluster
from sqlalchemy import insert, text
from sqlalchemy.engine import make_url

from tacit.errors import ConnectionLost, InternalError, MissingExtra, StoreFailed
from tacit.extras import EXTRAS
from tacit.store.connect import SETTINGS, open_store
from tacit.store.store import SqlStore
from tacit.store.tables import entries, states

Open = Callable[[str], SqlStore]
PID = text("SELECT pg_backend_pid()")
CUT = text("SELECT pg_terminate_backend(:pid)")


@pytest.fixture
def address(new_store: Callable[[str], str]) -> str:
    return new_store("postgresql")


@pytest.fixture
def store(address: str, opened: Open) -> SqlStore:
    return opened(address)


def put(store: SqlStore, name: str) -> None:
    with store.writing() as work:
        work.run(insert(states), {"name": name, "version": 1, "sealed": b""})


def test_a_session_waits_for_its_commits_whatever_the_database_prefers(
    address: str, opened: Open
) -> None:
    name = make_url(address).database
    with opened(address).writing() as work:
        work.run(text(f"ALTER DATABASE {name} SET synchronous_commit = off"), {})
    with opened(address).reading() as work:
        found = {setting: work.one(text(f"SHOW {setting}"), {}) for setting in SETTINGS}
    assert found["synchronous_commit"] == ("on",)
    assert found["lock_timeout"] == ("1min",)
    assert found["idle_in_transaction_session_timeout"] == ("30s",)


def test_no_statement_is_compiled(address: str, opened: Open) -> None:
    """A statement about a whole table looks expensive where sequential scans are avoided."""
    whole = text("EXPLAIN (ANALYZE, FORMAT text) SELECT population, declared FROM budgets")
    with opened(address).reading() as work:
        assert "JIT" not in str(work.all(whole, {}))
    with opened(address).writing() as work:
        work.run(text("SET LOCAL jit = on"), {})
        assert "JIT" in str(work.all(whole, {}))


def test_a_reader_cannot_write(store: SqlStore) -> None:
    def write_while_reading() -> None:
        with store.reading() as work:
            work.run(insert(states), {"name": "a", "version": 1, "sealed": b""})

    with pytest.raises(StoreFailed, match="could not be written"):
        write_while_reading()


@pytest.mark.parametrize("table", ["entries", "answers"])
def test_the_log_is_not_emptied(store: SqlStore, table: str) -> None:
    with store.writing() as work:
        row = {
            "population": "patients",
            "seq": 1,
            "body": "{}",
            "hash": bytes(32),
            "state": None,
        }
        work.run(insert(entries), row)

    def empty() -> None:
        with store.writing() as work:
            work.run(text(f"TRUNCATE {table}"), {})

    with pytest.raises(InternalError):
        empty()


def test_a_connection_that_is_cut_is_told_and_made_again(store: SqlStore) -> None:
    def cut_in_the_middle() -> None:
        with store.writing() as work, store.reading() as other:
            work.run(insert(states), {"name": "lost", "version": 1, "sealed": b""})
            (pid,) = work.one(PID, {}) or (0,)
            other.one(CUT, {"pid": pid})

    with pytest.raises(
        ConnectionLost, match="Ask again with the same idempotency key to find out"
    ):
        cut_in_the_middle()
    put(store, "kept")
    with store.reading() as work:
        assert work.all(text("SELECT name FROM states"), {}) == [("kept",)]


def test_what_failed_first_is_told_where_the_connection_is_cut_as_well(
    store: SqlStore,
) -> None:
    def fail_twice() -> None:
        with store.writing() as work, store.reading() as other:
            (pid,) = work.one(PID, {}) or (0,)
            other.one(CUT, {"pid": pid})
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fail_twice()
    put(store, "kept")


def test_a_server_that_is_away_is_told(open_folder: Path) -> None:
    cluster = PostgresCluster(open_folder)
    try:
        address = cluster.database("ledger")
        store = open_store(address)
    finally:
        cluster.stop("immediate")
    with pytest.raises(ConnectionLost):
        put(store, "a")
    with pytest.raises(StoreFailed, match=r"does not respond\. Try again"):
        put(store, "a")
    store.close()
    with pytest.raises(StoreFailed, match="PostgreSQL server of the store does not respond"):
        open_store(address)
    cluster.start()
    try:
        put(store, "a")
        store.close()
    finally:
        cluster.stop("immediate")


def test_a_server_without_fsync_is_refused(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = postgres_cluster.SETTINGS.replace("fsync=on", "fsync=off")
    monkeypatch.setattr(postgres_cluster, "SETTINGS", careless)
    cluster = PostgresCluster(open_folder)
    try:
        with pytest.raises(StoreFailed, match="without fsync or full_page_writes"):
            open_store(cluster.database("ledger"))
    finally:
        cluster.stop("immediate")


def test_without_a_driver_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(EXTRAS, "postgres", "a_library_that_nobody_installs")
    with pytest.raises(MissingExtra, match=r'pip install "tacit\[postgres\]"'):
        open_store("postgresql://somewhere/ledger")


def test_a_role_that_may_make_no_tables_is_refused(address: str, opened: Open) -> None:
    url = make_url(address)
    administrator = opened(address)
    with administrator.writing() as work:
        for table in ("alembic_version", "states"):  # as good as a database without tables
            work.run(text(f"DROP TABLE {table}"), {})
        work.run(text("CREATE ROLE guest LOGIN"), {})
    with pytest.raises(StoreFailed, match="could not be opened, because its database"):
        open_store(url.set(username="guest").render_as_string(hide_password=False))
