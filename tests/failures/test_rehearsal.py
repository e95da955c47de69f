"""What fails whatever the rows are is refused before it is charged, and locks nobody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from postgres_cluster import PostgresCluster

import tacit
from tacit.engines import postgres
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_role import reader_of
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.pipeline import Pipeline, StandardScaler
from tacit.query import below_charge
from tacit.session.session import Session

WIDE = [f"c{place}" for place in range(60)]


@pytest.fixture
def wide(cluster: PostgresCluster) -> tuple[str, str]:
    """A table of many columns: the addresses of its owner and of the quiet role."""
    owner, role = cluster.database(f"wide_{uuid4().hex[:8]}"), f"tacit_{uuid4().hex[:8]}"
    with psycopg.connect(owner, autocommit=True) as work:
        columns = ", ".join(f"{name} bigint" for name in (*WIDE, "aim"))
        work.execute(f"CREATE TABLE wide (person bigint, {columns})")
        numbers = ", ".join("i % 10" for _ in (*WIDE, "aim"))
        rows = f"SELECT i, {numbers} FROM generate_series(1, 200) i"  # noqa: S608
        work.execute(f"INSERT INTO wide {rows}")
        for statement in reader_of(role, [("wide",)]):
            work.execute(statement)
    return owner, owner.replace("postgres@", f"{role}@")


@pytest.fixture
def session(
    wide: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    monkeypatch.setattr(below_charge, "OUTAGE_SECONDS", 0.5)
    monkeypatch.setitem(postgres.SETTINGS, "lock_timeout", "300ms")
    with tacit.open(
        wide[1],
        population="people",
        unit="person",
        bounds=dict.fromkeys((*WIDE, "aim"), (0, 9)),
        max_groups=1,
        max_rows=2,
        budget=(30, "1e-6"),
        table="wide",
        folder=tmp_path / ".tacit",
        principal="olga",
    ) as opened:
        yield opened


def fitted(session: Session, features: int, model: Any = None) -> None:
    session.fit(
        model or LinearRegression(epsilon=0.1), "wide", features=WIDE[:features], target="aim"
    )


def count(session: Session, rho: str) -> None:
    session.sql("SELECT COUNT(*) AS n FROM wide").ask(rho=rho)


def test_a_fit_of_more_columns_than_postgresql_allows_is_free(session: Session) -> None:
    with pytest.raises(InvalidValue, match=r"Nothing was charged\. Ask for fewer columns"):
        fitted(session, 60)
    status = session.status()
    assert (status.spent.amount, status.failed, status.locked) == (0, 0, False)
    fitted(session, 55)  # what is not refused is answered, at the limit as well
    assert not session.status().locked


def test_a_later_step_of_a_fit_is_rehearsed_as_well(session: Session) -> None:
    steps = [
        ("scaled", StandardScaler(epsilon=0.1, bounds=(0, 9))),
        ("line", LinearRegression(epsilon=0.1, bounds=(-3, 3))),
    ]
    with pytest.raises(InvalidValue, match="Nothing was charged"):
        fitted(session, 60, Pipeline(steps))
    assert not session.status().locked


def test_without_a_rehearsal_it_locks(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Postgres, "rehearse", lambda *_, **__: None)
    with pytest.raises(InternalError):
        fitted(session, 60)
    assert session.status().locked


def test_a_table_that_its_owner_drops_is_an_outage(
    session: Session, wide: tuple[str, str]
) -> None:
    count(session, "0.001")
    with psycopg.connect(wide[0], autocommit=True) as owner:
        owner.execute("ALTER TABLE wide RENAME TO gone")
        with pytest.raises(EngineUnreachable, match="is charged"):
            count(session, "0.002")
        status = session.status()
        assert (status.failed, status.retried, status.locked) == (0, 0, False)
        with pytest.raises(EngineUnreachable, match="Nothing was charged"):
            session.sql("SELECT SUM(c1) AS s FROM wide").ask(rho="0.002")
        owner.execute("ALTER TABLE gone RENAME TO wide")
    count(session, "0.002")
    assert session.status().spent == status.spent


def test_a_table_that_is_there_makes_no_outage(
    session: Session, wide: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    count(session, "0.001")
    monkeypatch.setattr(Postgres, "_readable", lambda *_: True)
    with psycopg.connect(wide[0], autocommit=True) as owner:
        owner.execute("ALTER TABLE wide RENAME TO gone")
        with pytest.raises(InternalError):
            count(session, "0.002")
    assert session.status().locked


def test_a_table_that_its_owner_locks_is_an_outage(
    session: Session, wide: tuple[str, str]
) -> None:
    count(session, "0.001")
    with psycopg.connect(wide[0]) as owner:
        owner.execute("LOCK TABLE wide IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(EngineUnreachable):
            count(session, "0.002")
    status = session.status()
    assert (status.failed, status.retried, status.locked) == (0, 0, False)
    count(session, "0.002")
    assert session.status().spent == status.spent
