"""What a session opens: data frames, Parquet files, DuckDB and PostgreSQL databases."""

# ruff: noqa: S608 - our own names

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from uuid import uuid4

import duckdb
import pandas as pd
import polars as pl
import psycopg
import public
import pyarrow as pa
import pytest
from postgres_cluster import PostgresCluster

import tacit
from tacit.core.catalog import Limits
from tacit.core.domain import Kind
from tacit.engines.duckdb import DuckDB
from tacit.engines.duckdb_files import open_frame, open_parquet
from tacit.engines.postgres_role import reader
from tacit.errors import InvalidValue, MissingExtra, UnknownName
from tacit.query.pricing import price
from tacit.session.ask import request_for
from tacit.session.curator import Curator, LedgerFolder
from tacit.session.session import Session
from tacit.sql.parser import parse

DAY = date(2026, 1, 1)
COLUMNS = {
    "patient": [f"p{number % 400}" for number in range(1200)],
    "age": [number % 90 for number in range(1200)],
    "day": [DAY] * 1200,
}
TEXT = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"

Opens = Callable[..., Session]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    closing = ExitStack()

    def make(source: object, **changes: object) -> Session:
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"age": (0, 120)},
            "max_groups": 1,
            "max_rows": 3,
            "budget": (3, "1e-6"),
            "table": "visits",
            "folder": tmp_path / ".tacit",
        }
        return closing.enter_context(tacit.open(source, **(declared | changes)))

    with closing:
        yield make


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_data_frame_is_asked(opens: Opens, library: Callable[[object], object]) -> None:
    answer = opens(library(COLUMNS)).sql(TEXT).ask(epsilon=2)
    assert abs(answer["n"].values[0] - 600) < 60


def test_days_of_a_frame_have_bounds(opens: Opens) -> None:
    year = {"day": (DAY, date(2026, 12, 31))}
    session = opens(pl.DataFrame(COLUMNS), bounds=year)
    month = "DATE_TRUNC('month', day)"
    asked = session.sql(f"SELECT {month} AS month, COUNT(*) FROM visits GROUP BY {month}")
    assert asked.ask(epsilon=2)["month"].values[:2] == ("2026-01-01", "2026-02-01")


def test_a_frame_is_copied_when_it_is_opened(opens: Opens) -> None:
    frame = pd.DataFrame(COLUMNS)
    session = opens(frame)
    frame["age"] = 99
    assert session.sql(TEXT).ask(epsilon=2)["n"].values[0] > 500


def kinds(frame: object) -> dict[str, Kind]:
    engine = open_frame(frame, "visits")
    return {column.name: column.kind for column in engine.columns(("visits",))}


def test_types_of_a_frame_do_not_depend_on_what_stands_in_it() -> None:
    columns = [["a", "b"], [None, None], [1, 2], [DAY, DAY], [1, "b"]]
    frames = [pd.DataFrame({"x": pd.Series(values, dtype=object)}) for values in columns]
    assert [kinds(frame) for frame in frames] == [{"x": Kind.TEXT}] * 5
    looked = set()
    for frame in frames:
        connection = duckdb.connect()  # which looks at the values
        connection.register("given", frame)
        looked.add(str(connection.execute("SELECT * FROM given LIMIT 0").description[0][1]))
    assert len(looked) > 1


def test_labels_are_text_and_what_has_no_kind_is_left_out() -> None:
    frame = pd.DataFrame({"ward": pd.Categorical(["north", "south"])})
    frame["when"] = pd.to_datetime(["2026-01-01"] * 2).astype("datetime64[ns]")
    frame["zoned"] = frame["when"].dt.tz_localize("UTC")
    frame["long"] = pd.to_timedelta(["1 day"] * 2)
    stamp = Kind.TIMESTAMP
    assert kinds(frame) == {"ward": Kind.TEXT, "when": stamp, "zoned": stamp}


def test_what_makes_a_table_fast_is_said_when_it_is_opened(opens: Opens) -> None:
    frame = pl.DataFrame(COLUMNS)
    session = opens(frame, row_key="age", max_rows_in_all=2)
    visits = session.catalog.dataset("visits")
    assert (visits.row_key, visits.limits) == ("age", Limits(1, 3, 2))
    answer = session.sql("SELECT COUNT(*) AS n FROM visits").ask(epsilon=2)
    assert abs(answer["n"].values[0] - 800) < 60  # 2 rows of 400 people, and not all 3
    assert abs(opens(frame).sql(TEXT).ask(epsilon=2)["n"].values[0] - 600) < 60
    with pytest.raises(UnknownName, match="no column 'visit'"):
        opens(frame, row_key="visit")
    with pytest.raises(InvalidValue, match="Limits must be at least 1"):
        opens(frame, max_rows_in_all=0)


def test_one_row_each_is_believed_and_said_in_the_guarantee(opens: Opens) -> None:
    once = pl.DataFrame(COLUMNS).unique("patient")
    said = opens(once, one_row=True).sql(TEXT).ask(epsilon=2)
    assert "visits.patient is unique" in str(said.guarantee)
    bounded = opens(once).sql(TEXT).ask(epsilon=2)
    assert "is unique" not in str(bounded.guarantee)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A Parquet file of visits, beside another one."""
    place = tmp_path / "it's" / "visits.parquet"
    place.parent.mkdir()
    pl.DataFrame(COLUMNS).write_parquet(place)
    pl.DataFrame({"secret": ["a canary"]}).write_parquet(place.parent / "other.parquet")
    return place


def test_a_parquet_file_is_asked_where_it_is(opens: Opens, file: Path) -> None:
    session = opens(file, table=None)
    assert abs(session.sql(TEXT).ask(epsilon=2)["n"].values[0] - 600) < 60
    assert session.catalog.dataset("visits").schema.names == ("patient", "age", "day")


def reads(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Whether a statement is let through."""
    try:
        connection.cursor().execute(statement)
    except duckdb.Error:
        return False
    return True


def escapes(file: Path) -> list[str]:
    """Statements that leave the one file; nothing of ours prints them."""
    folder = str(file.parent).replace("'", "''")
    up = f"{folder}/../{folder.rpartition('/')[2]}"
    return [
        f"SELECT * FROM '{folder}/other.parquet'",
        f"SELECT * FROM read_parquet('{up}/other.parquet')",
        f"SELECT * FROM read_parquet('{folder}/oth*.parquet')",
        f"SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_csv('/etc/passwd')",
        f"COPY (SELECT 1 AS one) TO '{folder}/written.parquet'",
        f"ATTACH '{folder}/attached.duckdb'",
        "SET allowed_paths = ['/etc/passwd']",
        "RESET allowed_paths",
        "SET enable_external_access = true",
    ]


def test_of_all_files_only_the_one_that_was_opened_can_be_read(file: Path) -> None:
    locked = open_parquet(str(file), "visits")._connection
    assert reads(locked, "SELECT * FROM visits")
    assert [each for each in escapes(file) if reads(locked, each)] == []
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "other.parquet",
        "visits.parquet",
    ]


def test_a_connection_that_is_not_locked_reads_them_all(file: Path) -> None:
    unlocked = duckdb.connect()
    assert [each for each in escapes(file)[:7] if not reads(unlocked, each)] == []


@pytest.mark.parametrize("name", ["none.parquet", "visits.csv", "none.duckdb", "*.parquet"])
def test_what_is_no_table_is_refused(opens: Opens, file: Path, name: str) -> None:
    with pytest.raises(
        InvalidValue, match=r"A source must be|not a Parquet file|not a DuckDB database"
    ):
        opens(file.parent / name)
    with pytest.raises(InvalidValue, match="DuckDB cannot read a dict object as a table"):
        opens({"patient": ["a"]})


def test_a_duckdb_database_is_only_read(opens: Opens, tmp_path: Path) -> None:
    place = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(place)) as owner:
        frame = pl.DataFrame(COLUMNS)
        owner.register("given", frame)
        owner.execute("CREATE SCHEMA ward; CREATE TABLE ward.visits AS FROM given")
    session = opens(place, table="ward.visits")
    assert abs(session.sql(TEXT).ask(epsilon=2)["n"].values[0] - 600) < 60
    written = session._curator.engines["here"]._connection
    assert not reads(written, "DROP TABLE held.ward.visits")
    assert opens(place, table="ward.visits").sql(TEXT).ask(epsilon=2)["n"].values[0] > 500
    with pytest.raises(InvalidValue, match="Name a table"):
        opens(place, table=None)
    with pytest.raises(
        InvalidValue, match=r"There is no table 'ward\.nobody' in this database"
    ):
        opens(place, table="ward.nobody")


def test_a_postgresql_database_is_asked_by_a_quiet_role(
    opens: Opens, cluster: PostgresCluster
) -> None:
    address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE TABLE visits (patient text, age bigint, photo bytea)")
        with owner.cursor().copy("COPY visits (patient, age) FROM STDIN") as rows:
            for patient, age in zip(COLUMNS["patient"], COLUMNS["age"], strict=True):
                rows.write_row((patient, age))
        with pytest.raises(InvalidValue, match="a plain role; this one is a superuser"):
            opens(address)
        frame = opens(pd.DataFrame(COLUMNS))
        for statement in reader(role, frame.catalog):
            owner.execute(statement.encode())
    session = opens(address.replace("postgres@", f"{role}@"), budget=None)
    assert session.catalog.dataset("visits").schema.names == ("patient", "age")
    assert abs(session.sql(TEXT).ask(epsilon=2)["n"].values[0] - 600) < 60


def test_without_the_driver_the_command_that_installs_it_is_told(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tacit.extras.EXTRAS, "postgres", "a_library_that_nobody_installs")
    with pytest.raises(MissingExtra, match=r'pip install "tacit\[postgres\]"'):
        opens("postgresql://nobody@127.0.0.1:1/none")


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[[str], Curator]]:
    """A curator over visits and a public table, whose epoch is given."""
    engine = DuckDB(public.database([], []))
    home = LedgerFolder.at(tmp_path / "home")

    def make(epoch: str, kind: Kind = Kind.TEXT) -> Curator:
        declared = public.catalog(Limits(1, 1))
        (places,) = declared.public
        changed = [
            tacit.Column(column.name, kind) if column.name == "named" else column
            for column in places.schema.columns
        ]
        moved = tacit.core.catalog.PublicTable(
            "places",
            tacit.Schema(tuple(changed)),
            places.location,
            tacit.core.catalog.Epoch(epoch),
            lookup=("named",),
        )
        catalog = tacit.Catalog(declared.populations, declared.datasets, (moved,))
        return Curator(catalog, {"here": engine}, home, "ann")

    yield make
    home.store.close()


JOINED = "SELECT COUNT(*) AS n FROM visits JOIN places ON visits.ward = places.named"


def keyed(curator: Curator, text: str) -> bytes:
    plan = parse(text, curator.catalog)
    quote = price(plan, curator.catalog, tacit.Loss.zcdp(1))
    return request_for(quote, curator.catalog, "ann").release_key


def test_a_new_state_of_a_public_table_is_a_new_question(
    beside: Callable[[str], Curator],
) -> None:
    assert keyed(beside("1"), JOINED) != keyed(beside("2"), JOINED)
    alone = "SELECT COUNT(*) AS n FROM visits"
    assert keyed(beside("1"), alone) == keyed(beside("2"), alone)


def test_tables_that_are_not_as_declared_open_no_session(
    beside: Callable[..., Curator],
) -> None:
    with pytest.raises(
        InvalidValue, match="named is declared as integer, but its type in the table is VARCHAR"
    ):
        beside("1", Kind.INTEGER)


def test_a_table_needs_an_engine_that_is_there(beside: Callable[[str], Curator]) -> None:
    curator = beside("1")
    with pytest.raises(
        UnknownName,
        match="'visits' is stored in 'here', which is not an engine of this session",
    ):
        Curator(curator.catalog, {}, curator.home, "ann")
