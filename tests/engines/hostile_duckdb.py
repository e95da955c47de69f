"""Hostile stores in a database of DuckDB, made by its own statements."""

# ruff: noqa: S608 - our own names

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
from hostile_side import Side, hundredths, labs_of, shown
from hostile_store import TEXT_COLUMNS, TEXTS, VISITS, WHERE, Cells, Store

from tacit.core.domain import Kind
from tacit.engines.duckdb import DuckDB
from tacit.engines.prepare import Run
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.errors import InvalidValue

ONE_THREAD: dict[str, Any] = {"threads": 1}
ON_DUCKDB = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DECIMAL(18, 2)",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def given(rows: Sequence[Cells]) -> pa.Table:
    """Rows as DuckDB takes them from Arrow: days and times as text, decimals as they are."""
    made = {column.name: [row.get(column.name) for row in rows] for column in VISITS}
    for name in (*TEXT_COLUMNS, "score"):
        made[name] = pa.array([shown(value) for value in made[name]], pa.string())
    for name in ("day", "seen"):
        made[name] = pa.array(made[name], pa.string())
    made["cost"] = hundredths(made["cost"])
    kinds = {"visit": pa.int64(), "pay": pa.int64(), "mass": pa.float64(), "smoker": pa.bool_()}
    return pa.table({n: pa.array(v, kinds[n]) if n in kinds else v for n, v in made.items()})


def small_tables(link: duckdb.DuckDBPyConnection, rows: Sequence[Cells], variant: str) -> None:
    """The labs and the places, in a database of DuckDB."""
    link.execute(f"CREATE TABLE labs (of VARCHAR {variant}, value BIGINT)")
    link.execute(f"CREATE TABLE places (ward VARCHAR {variant}, region VARCHAR)")
    labs, places = labs_of(rows), [tuple(map(shown, each.values())) for each in WHERE]
    if labs:
        link.executemany(
            "INSERT INTO labs VALUES (?, ?)", [(shown(lab["of"]), lab["value"]) for lab in labs]
        )
    link.executemany("INSERT INTO places VALUES (?, ?)", places)


@contextmanager
def duckdb_side(store: Store, place: int) -> Iterator[Side]:
    """A database in memory."""
    rows = (store.before, store.after)[place]
    with (
        duckdb.connect(config=ONE_THREAD) as link,
        TemporaryDirectory(prefix="tacit-store-") as folder,
    ):
        link.register("given", given(rows))
        types = {
            c.name: f"{ON_DUCKDB[c.kind]} {store.variants.get(c.name, '')}" for c in VISITS
        }
        if store.kept == "enum":
            labels = ", ".join(f"'{shown(text)}'" for text in TEXTS)
            types["home"] = f"ENUM ({labels})"
        cells = {
            name: f'CAST("{name}" AS {kind.split(" COLLATE")[0]})'
            for name, kind in types.items()
        }
        cells["cost"] = '"cost"'  # as it is, whatever it holds
        if store.kept in {"view", "generated", "csv", "glob"}:
            types["raw"], cells["raw"] = "VARCHAR", '"score"'
            del types["score"], cells["score"]
        else:
            cells["score"] = 'TRY_CAST("score" AS BIGINT)'
        table = "visits" if store.kept in {"table", "enum", "generated"} else "kept"
        declared = [f'"{name}" {kind}' for name, kind in types.items()]
        if store.kept == "generated":
            declared.append(
                "score BIGINT GENERATED ALWAYS AS (TRY_CAST(raw AS BIGINT)) VIRTUAL"
            )
        link.execute(f"CREATE TABLE {table} ({', '.join(declared)})")
        names = ", ".join(f'"{name}"' for name in types)
        link.execute(
            f"INSERT INTO {table} ({names}) SELECT {', '.join(cells.values())} FROM given"
        )
        if store.kept == "csv":
            link.execute(f"COPY kept TO '{folder}/kept.csv'")
            columns = ", ".join(f"'{n}': '{k.split(' COLLATE')[0]}'" for n, k in types.items())
            kept = f"read_csv('{folder}/kept.csv', columns = {{{columns}}})"
        elif store.kept == "glob":
            kept = written_files(link, folder)
        else:
            kept = "kept"
        if store.kept in {"view", "csv"}:
            link.execute(
                f"CREATE VIEW visits AS SELECT *, CAST(raw AS BIGINT) AS score FROM {kept}"
            )
        if store.kept == "glob":
            link.execute(f"CREATE VIEW visits AS SELECT * FROM {kept}")
        link.unregister("given")
        small_tables(link, rows, store.variants["code"])
        yield Side(Unlocked(link), owner_of(link), DUCKDB, "main")


def written_files(link: duckdb.DuckDBPyConnection, folder: str) -> str:
    """Two files in one glob: the first has scores that are numbers, the second any text."""
    number = "TRY_CAST(raw AS BIGINT)"
    for name, score, which in (("0", number, "IS NOT NULL"), ("1", "raw", "IS NULL")):
        rows = f"SELECT * EXCLUDE (raw), {score} AS score FROM kept WHERE {number} {which}"
        link.execute(f"COPY ({rows}) TO '{folder}/{name}.parquet'")
    return f"read_parquet('{folder}/*.parquet')"


def owner_of(link: duckdb.DuckDBPyConnection) -> Run:
    """Runs statements of the owner, whose failures are the owner's."""

    def run(text: str) -> Sequence[Sequence[Any]]:
        try:
            return link.execute(text).fetchall()
        except duckdb.Error as error:
            raise InvalidValue("The owner's statement failed.") from error

    return run


class Unlocked(DuckDB):
    """DuckDB, locked when it is first asked: until then its owner writes copies there."""

    def __init__(self, link: duckdb.DuckDBPyConnection) -> None:
        self._ready = False
        self._given = link
        self._idle = deque()

    def run(self, *asked: Any) -> Any:
        self._lock()
        return super().run(*asked)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._given.cursor()

    def _lock(self) -> None:
        if not self._ready:
            super().__init__(self._given)
            self._ready = True
