"""Hostile stores on PostgreSQL, made by its own statements."""

# ruff: noqa: S608 - our own names

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import postgres_over
import psycopg
from hostile_side import Side, labs_of, shown
from hostile_store import TEXTS, VISITS, WHERE, Cells, Store

from tacit.engines.postgres import Postgres
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.errors import InvalidValue

MANY_ROWS = 3_000
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
        said = "= '64kB'" if store.kept == "few temporary files" else "TO DEFAULT"
        reader = f"ALTER ROLE {postgres_over.ROLE} IN DATABASE {owner.info.dbname}"
        for setting in ("temp_file_limit", "work_mem"):
            owner.execute(f"{reader} SET {setting} {said}".encode())

        def run(text: str) -> Sequence[Sequence[Any]]:
            try:
                cursor = owner.execute(text.encode())
            except psycopg.Error as error:
                raise InvalidValue("The owner's statement failed.") from error
            return cursor.fetchall() if cursor.description else ()

        yield Side(Postgres(address), run, POSTGRES, "public")


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
