"""Engines over hostile stores: tables made by each engine's own writers, and how they are read.

`laid` writes both lists of rows of a store, each where the other is not, and gives the engines
over them: in place, and by a validated copy that `tacit prepare` makes for their owner. What
an owner is refused (a table that is not served in place, a file that is not opened, a copy that
is not made) is no question, and tells nobody anything.
"""

# ruff: noqa: S608 - our own names

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import postgres_over
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import spark_session
from hostile_store import LABS, PLACES, TEXT_COLUMNS, TEXTS, VISITS, WHERE, Cells, Store

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.engines.duckdb import DuckDB
from tacit.engines.duckdb_source import show_parquet
from tacit.engines.engine import CheckedEngine, SecretTable
from tacit.engines.postgres import Postgres
from tacit.engines.prepare import Preparation, Run
from tacit.engines.spark import Spark
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedPlan

SALT = b"salt"
ONE_THREAD: dict[str, Any] = {"threads": 1}
HUNDREDTHS = 16
MANY_ROWS = 3_000


@dataclass(frozen=True, slots=True)
class Side:
    """One list of rows on its engine; ``owner`` may write there."""

    engine: CheckedEngine
    owner: Run
    dialect: str
    where: str


@dataclass(frozen=True, slots=True)
class Laid:
    """Both sides of a store, and the ways in which they may be asked: each side's catalogue."""

    sides: tuple[CheckedEngine, ...]
    catalogs: Mapping[str, Sequence[Catalog]]

    def asked(self, how: str, place: int) -> "Asked":
        """One side as it is asked in one way."""
        return Asked(self.sides[place], self.catalogs[how][place])


@dataclass(frozen=True, slots=True)
class Asked:
    """An engine that reads by a catalogue of its own: copies lie elsewhere on each side."""

    engine: CheckedEngine
    catalog: Catalog

    def run(self, plan: BoundedPlan, _: Catalog, salt: bytes) -> SecretTable:
        """What the engine finds."""
        return self.engine.run(plan, self.catalog, salt)


@contextmanager
def laid(store: Store, *, anyway: bool = False) -> Iterator[Laid]:
    """Both sides of a store; with ``anyway``, a lie, in place where that is not allowed."""
    with ExitStack() as closing:
        made: dict[str, Sequence[Catalog]] = {}
        try:
            sides = [
                closing.enter_context(SIDES[store.engine](store, place)) for place in (0, 1)
            ]
        except InvalidValue:  # a file that is not opened
            yield Laid((), made)
            return
        with suppress(InvalidValue):
            for side in sides:
                side.engine.check(store.catalog)
            told = [reason for side in sides for reason in side.engine.plain(store.catalog)]
            if anyway or not told:
                made["in place"] = [store.catalog] * 2
            elif store.engine == "parquet" or all(" collation" in reason for reason in told):
                made["by a local session"] = [store.catalog] * 2
        with suppress(InvalidValue):
            if not anyway:
                made["copy"] = [copied(store.catalog, side) for side in sides]
        yield Laid(tuple(side.engine for side in sides), made)


def copied(catalog: Catalog, side: Side) -> Catalog:
    """The catalogue with a copy of each table, which is made."""

    def made(table: Any) -> Any:
        making = Preparation(table, (side.where,), side.dialect, parts=1)
        for _ in making.steps(SALT, side.owner):
            pass
        return making.prepared

    return replace(
        catalog,
        datasets=tuple(map(made, catalog.datasets)),
        public=tuple(map(made, catalog.public)),
    )


def texts(values: Sequence[bytes | None]) -> pa.Array:
    """Bytes as a column of text that nobody looked at."""
    raw = pa.array(values, type=pa.binary())
    return pa.StringArray.from_buffers(
        len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0]
    )


def hundredths(values: Sequence[int | None]) -> pa.Array:
    """Whole numbers of hundredths as decimals of 18 digits that nobody looked at."""
    there = pa.array([value is not None for value in values])
    raw = b"".join((value or 0).to_bytes(HUNDREDTHS, "little", signed=True) for value in values)
    bits = pa.compute.if_else(there, 1, pa.scalar(None, pa.int8())).buffers()[0]
    return pa.Array.from_buffers(pa.decimal128(18, 2), len(values), [bits, pa.py_buffer(raw)])


def labs_of(rows: Sequence[Cells]) -> list[Cells]:
    """The labs that belong to visits."""
    return [
        {"of": row["code"], "value": place - 1} for row in rows for place in range(row["labs"])
    ]


def shown(value: bytes | None) -> str | None:
    """A text as a database takes it."""
    return None if value is None else value.decode()


def number_of(score: bytes) -> int | None:
    """A score as a number; one that is none has a value of its own."""
    return int(score) if score.isdigit() else None


# DuckDB ----------------------------------------------------------------------------------

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
        if store.kept in {"view", "generated", "csv"}:
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
        else:
            kept = "kept"
        if store.kept in {"view", "csv"}:
            link.execute(
                f"CREATE VIEW visits AS SELECT *, CAST(raw AS BIGINT) AS score FROM {kept}"
            )
        link.unregister("given")
        small_tables(link, rows, store.variants["code"])
        yield Side(Unlocked(link), owner_of(link), "duckdb", "main")


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


# Parquet ---------------------------------------------------------------------------------

EPOCH_DAYS = {"2020-02-29": 18321, "0001-01-01": -719162, "9999-12-31": 2932896}
MOMENTS = {"2020-02-29 00:00:00": 1582934400, "2020-02-28 23:59:59.999999": 1582934399}
PER_SECOND = {"us": 10**6, "ms": 10**3, "ns": 10**9}


def parquet_table(store: Store, rows: Sequence[Cells]) -> pa.Table:
    """Rows as a writer of Parquet takes them, without a look at what they hold."""
    units = ("us", "ms") if store.engine == "spark" else ("us", "us", "us", "ns", "ms")
    unit = units[store.number % len(units)]
    columns: dict[str, Any] = {}
    for column in VISITS:
        values = [row[column.name] for row in rows]
        match column.kind:
            case Kind.TEXT:
                columns[column.name] = texts(values)
            case Kind.DECIMAL:
                columns[column.name] = hundredths(values)
            case Kind.DATE:
                days = [EPOCH_DAYS.get(v, v) for v in values]
                columns[column.name] = pa.array(days, pa.int32()).cast(pa.date32())
            case Kind.TIMESTAMP:
                per = PER_SECOND[unit]
                moments = [MOMENTS[v] * per if v in MOMENTS else v for v in values]
                columns[column.name] = pa.array(moments, pa.int64()).cast(pa.timestamp(unit))
            case Kind.FLOAT:
                columns[column.name] = pa.array(values, pa.float64())
            case Kind.BOOLEAN:
                columns[column.name] = pa.array(values, pa.bool_())
            case _:
                whole = map(number_of, values) if column.name == "score" else values
                columns[column.name] = pa.array(list(whole), pa.int64())
    return pa.table(columns)


def write_parquet(store: Store, rows: Sequence[Cells], path: Path) -> None:
    """A file, whose columns are encoded in ways of their own."""
    encoded = [name for name, variant in store.variants.items() if variant == "dictionary"]
    small = store.kept == "small pages"
    pq.write_table(
        parquet_table(store, rows),
        path,
        use_dictionary=encoded or False,
        row_group_size=4 if small else None,
        data_page_size=16 if small else None,
        dictionary_pagesize_limit=16 if small else None,
    )


@contextmanager
def parquet_side(store: Store, place: int) -> Iterator[Side]:
    """A file, and small tables in memory."""
    rows = (store.before, store.after)[place]
    with (
        duckdb.connect(config=ONE_THREAD) as link,
        TemporaryDirectory(prefix="tacit-store-") as folder,
    ):
        path = Path(folder) / "visits.parquet"
        write_parquet(store, rows, path)
        show_parquet(link, str(path), "visits")
        small_tables(link, rows, "")
        yield Side(Unlocked(link), owner_of(link), "duckdb", "main")


# PostgreSQL ------------------------------------------------------------------------------

LOOSE = (
    "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
ROLES = ("tacit_0", "tacit_1")


@cache
def servers() -> tuple[tuple[str, psycopg.Connection[Any]], ...]:
    """Two databases of one private server, each with a role that reads."""
    _, first = postgres_over._server()
    made = []
    for place in (0, 1):
        name = f"side_{place}"
        first.execute(f"CREATE DATABASE {name}".encode())
        info = first.info
        address = f"postgresql://postgres@{info.host}:{info.port}/{name}"
        owner = psycopg.connect(address, autocommit=True, prepare_threshold=None)
        owner.execute(LOOSE.encode())
        owner.execute(
            b"CREATE SCHEMA files; CREATE EXTENSION file_fdw SCHEMA files;"
            b"CREATE SERVER files FOREIGN DATA WRAPPER file_fdw"
        )
        role = postgres_over.ROLE
        owner.execute(f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}".encode())
        made.append((address.replace("postgres@", f"{role}@"), owner))
    return tuple(made)


def postgres_types(store: Store) -> dict[str, str]:
    """How the columns of the visits are declared."""
    types = {
        column.name: f"{postgres_over.TYPES[column.kind]} {store.variants.get(column.name, '')}"
        for column in VISITS
    }
    match store.kept:
        case "enum":
            types["home"] = "place"
        case "domain":
            types["home"] = "short"
        case "generated":
            types["score"] = "bigint GENERATED ALWAYS AS (pay) STORED"
    return types


@contextmanager
def postgres_side(store: Store, place: int) -> Iterator[Side]:
    """A database of a private server."""
    address, owner = servers()[place]
    rows = (store.before, store.after)[place]
    owner.execute(b"DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    owner.execute(b"GRANT USAGE ON SCHEMA public TO PUBLIC")
    owner.execute(LOOSE.replace("loose", "IF NOT EXISTS public.loose").encode())
    with TemporaryDirectory(prefix="tacit-store-") as folder:
        write_postgres(store, rows, owner, Path(folder))
        if store.kept == "few temporary files":
            address += "?options=-c%20temp_file_limit%3D64kB%20-c%20work_mem%3D64kB"

        def run(text: str) -> Sequence[Sequence[Any]]:
            try:
                cursor = owner.execute(text.encode())
            except psycopg.Error as error:
                raise InvalidValue("The owner's statement failed.") from error
            return cursor.fetchall() if cursor.description else ()

        yield Side(Postgres(address), run, "postgres", "public")


def write_postgres(
    store: Store, rows: Sequence[Cells], owner: psycopg.Connection[Any], folder: Path
) -> None:
    """The tables of one side."""
    types = postgres_types(store)
    casts = {column.name: postgres_over.TYPES[column.kind] for column in VISITS}
    if store.kept == "enum":
        labels = ", ".join(f"'{shown(text)}'" for text in TEXTS)
        owner.execute(f"CREATE TYPE place AS ENUM ({labels})".encode())
        casts["home"] = "place"
    if store.kept == "domain":
        owner.execute(b"CREATE DOMAIN short AS text CHECK (length(value) < 99)")
    raw = store.kept in {"view", "row security"}
    if raw:
        types |= {"score": "text"}
        casts |= {"score": "text"}
    table = "kept" if store.kept == "view" else "visits"
    parted = store.kept in {"partitions", "foreign partition"}
    declared = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    how = " PARTITION BY LIST (smoker)" if parted else ""
    owner.execute(f"CREATE TABLE {table} ({declared}){how}".encode())
    if parted:
        owner.execute(b"CREATE TABLE visits_0 PARTITION OF visits DEFAULT")
    stored = [name for name in types if "GENERATED" not in types[name]]
    marks = ", ".join(f"%s::{casts[name]}" for name in stored)
    foreign = [row for row in rows if row["smoker"] and store.kept == "foreign partition"]
    if store.kept == "foreign partition":
        write_foreign(foreign, stored, owner, folder)
    written = [
        [written_cell(name, row, raw=raw) for name in stored]
        for row in rows
        if row not in foreign
    ]
    names = ", ".join(f'"{name}"' for name in stored)
    insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    owner.cursor().executemany(insert.encode(), written)
    if store.kept == "few temporary files":
        write_many(rows, names, owner)
    if store.kept == "view":
        cells = [f'"{name}"' if name != "score" else "score::bigint AS score" for name in types]
        owner.execute(f"CREATE VIEW visits AS SELECT {', '.join(cells)} FROM kept".encode())
    if store.kept == "row security":
        owner.execute(
            b"CREATE POLICY few ON visits USING (score::bigint IS NOT NULL);"
            b"ALTER TABLE visits ENABLE ROW LEVEL SECURITY;"
            b"ALTER TABLE visits RENAME COLUMN score TO raw;"
            b"ALTER TABLE visits ADD COLUMN score bigint DEFAULT 7"
        )
    write_small(store, rows, owner)


def write_foreign(
    rows: Sequence[Cells], stored: list[str], owner: psycopg.Connection[Any], folder: Path
) -> None:
    """A partition that is a file, whose lines hold any text."""
    file = folder / "part.csv"
    folder.chmod(0o755)
    owner.execute(
        "CREATE FOREIGN TABLE visits_1 PARTITION OF visits FOR VALUES IN (true)"
        f" SERVER files OPTIONS (filename '{file}', format 'csv')".encode()
    )
    lines = [[written_cell(name, row, raw=True) for name in stored] for row in rows]
    file.write_text("".join(csv_line(cells) for cells in lines))


def write_many(rows: Sequence[Cells], names: str, owner: psycopg.Connection[Any]) -> None:
    """Rows of somebody whose score is no number, so many that they do not fit into memory."""
    odd = [row["visit"] for row in rows if row["score"] == b"n/a"]
    columns = names.replace('"visit"', "100 + number")
    owner.execute(
        f"INSERT INTO visits ({names}) SELECT {columns} FROM visits,"
        f" generate_series(1, {MANY_ROWS}) AS more(number)"
        f" WHERE visit = {(odd or [-1])[0]}".encode()
    )


def write_small(store: Store, rows: Sequence[Cells], owner: psycopg.Connection[Any]) -> None:
    """The labs and the places."""
    variant = store.variants["code"]
    owner.execute(
        f"CREATE TABLE labs (of text {variant}, value bigint);"
        f"CREATE TABLE places (ward text {variant}, region text)".encode()
    )
    labs = [(shown(lab["of"]), lab["value"]) for lab in labs_of(rows)]
    owner.cursor().executemany(b"INSERT INTO labs VALUES (%s, %s)", labs)
    places = [tuple(map(shown, each.values())) for each in WHERE]
    owner.cursor().executemany(b"INSERT INTO places VALUES (%s, %s)", places)


def written_cell(name: str, row: Cells, *, raw: bool) -> Any:
    """A cell as a text that PostgreSQL reads; a score is any text where it is kept ``raw``."""
    value = row[name]
    if isinstance(value, bytes):
        return shown(value) if name != "score" or raw or value.isdigit() else None
    if name == "cost" and value is not None:
        return f"{value}e-2" if abs(value) < 10**18 else None
    return value if value is None or isinstance(value, bool) else str(value)


def csv_line(cells: Sequence[Any]) -> str:
    """A line of a file that PostgreSQL reads."""
    quoted = (
        "" if cell is None else '"{}"'.format(str(cell).replace('"', '""')) for cell in cells
    )
    return ",".join(quoted) + "\n"


# Spark -----------------------------------------------------------------------------------

ON_SPARK = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DECIMAL(18, 2)",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "STRING",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
}


@contextmanager
def spark_side(store: Store, place: int) -> Iterator[Side]:
    """Files that a session of its own shows; copies lie in a database of the side's own."""
    rows = (store.before, store.after)[place]
    engine = Spark(spark_session.local())
    session: Any = engine._session
    with TemporaryDirectory(prefix="tacit-store-") as name:
        folder = Path(name)
        write_parquet(store, rows, folder / "visits.parquet")
        labs, small = labs_of(rows), {"labs": LABS, "places": PLACES}
        tables = {
            "labs": {
                "of": texts([lab["of"] for lab in labs]),
                "value": pa.array([lab["value"] for lab in labs], pa.int64()),
            },
            "places": {each.name: texts([row[each.name] for row in WHERE]) for each in PLACES},
        }
        for table, columns in tables.items():
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
        for table, declared in {"visits": VISITS, **small}.items():
            types = ", ".join(f"`{each.name}` {ON_SPARK[each.kind]}" for each in declared)
            shown_by = session.read.schema(types).parquet(str(folder / f"{table}.parquet"))
            shown_by.createOrReplaceTempView(table)
        session.sql(f"CREATE DATABASE IF NOT EXISTS side_{place}")

        def run(text: str) -> Sequence[Sequence[Any]]:
            try:
                found: Sequence[Sequence[Any]] = session.sql(text).collect()
            except Exception as error:
                raise InvalidValue("The owner's statement failed.") from error
            return found

        yield Side(engine, run, "spark", f"side_{place}")


SIDES: dict[str, Callable[[Store, int], Any]] = {
    "duckdb": duckdb_side,
    "parquet": parquet_side,
    "postgresql": postgres_side,
    "spark": spark_side,
}
