"""The private PostgreSQL of the tests."""

from pathlib import Path

import postgres_cluster
import psycopg
import pytest
from postgres_cluster import PostgresCluster

from tacit.errors import MissingExtra


def test_a_cluster_keeps_what_was_committed_through_a_crash(
    open_folder: Path,
) -> None:
    cluster = PostgresCluster(open_folder)
    try:
        first, second = cluster.database("first"), cluster.database("second")
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
            syncs = connection.execute("SELECT current_setting('fsync')").fetchone()
        assert syncs == ("on",)
        cluster.stop("immediate")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(first)
        cluster.start()
        with psycopg.connect(first) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        with (
            psycopg.connect(second) as connection,
            pytest.raises(psycopg.errors.UndefinedTable),
        ):
            connection.execute("SELECT answer FROM kept")
    finally:
        cluster.stop("immediate")


def test_it_listens_on_this_machine_alone(cluster: PostgresCluster) -> None:
    address = cluster.database("alone")
    assert address == f"postgresql://postgres@127.0.0.1:{cluster.port}/alone"
    with psycopg.connect(address) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1",)


def test_without_its_programs_the_package_is_named(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_cluster, "PROGRAMS", [])
    monkeypatch.setenv("PATH", str(open_folder))
    with pytest.raises(MissingExtra, match="initdb is not here; install Debian's postgresql"):
        PostgresCluster(open_folder)
