"""The first hour goes as its page tells it: commands, SQL, a server and its client."""

from collections.abc import Iterator
from pathlib import Path
from socket import create_server

import psycopg
import pytest
from postgres_cluster import PostgresCluster
from walking import Walk

PAGE = (Path(__file__).parents[2] / "docs/tutorials/first-hour.md").read_text()


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """Somebody in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return Walk(monkeypatch)


@pytest.fixture
def clinic(cluster: PostgresCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A PostgreSQL with an empty database, to which the usual variables lead."""
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "PGUSER": "postgres"}
    for name, value in where.items():
        monkeypatch.setenv(name, value)
    cluster.database("clinic")
    yield
    with psycopg.connect("dbname=postgres", autocommit=True) as owner:
        owner.execute("DROP DATABASE clinic WITH (FORCE)")
        owner.execute("DROP ROLE IF EXISTS tacit")


def free_port() -> str:
    with create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.usefixtures("clinic")
def test_the_first_hour_goes_as_it_is_told(walk: Walk) -> None:
    assert PAGE.count("\n$ tacit ") >= 25
    assert walk.through(PAGE.replace("8800", free_port())) == []


def test_what_ends_otherwise_is_found(walk: Walk) -> None:
    console = "```console\n{}\n```\n"
    assert len(walk.through(console.format("$ tacit status"))) == 1
    walk.wrong.clear()
    assert len(walk.through(console.format("$ tacit demo\nerror: nothing"))) == 1
    walk.wrong.clear()
    python = "```python\n1  # error: nothing\nraise ValueError('no')\nnot_there\n```\n"
    assert len(walk.through(python)) == 3
