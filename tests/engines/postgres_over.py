"""PostgreSQL over tables that it is given, on a private server that ends with the process."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg
from postgres_cluster import PostgresCluster
from table_text import written

from tacit.core.catalog import Catalog
from tacit.core.domain import Kind
from tacit.engines.engine import Engine
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_role import reader
from tacit.engines.reference import Tables

ROLE = "tacit"
TYPES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.DECIMAL: "numeric(18, 2)",
    Kind.FLOAT: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


@cache
def _server() -> tuple[Postgres, psycopg.Connection[Any]]:
    """The engine, by a role that only reads, and the connection of whoever owns the tables."""
    place = Path(mkdtemp(prefix="tacit-postgres-"))
    cluster = PostgresCluster(place)
    address = cluster.database("people")
    # nothing prepared: tables of one name have other types each time
    owner = psycopg.connect(address, autocommit=True, prepare_threshold=None)

    @atexit.register
    def _end() -> None:
        owner.close()
        cluster.stop("immediate")
        shutil.rmtree(place, ignore_errors=True)

    for statement in reader(ROLE, Catalog((), ())):
        owner.execute(statement.encode())
    owner.execute(f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {ROLE}".encode())
    return Postgres(address.replace("postgres@", f"{ROLE}@")), owner


def postgres_over(catalog: Catalog, tables: Tables) -> Engine:
    """PostgreSQL, with tables that nobody has to sync."""
    engine, owner = _server()
    with owner.cursor() as cursor:
        for each in catalog.tables:
            table, columns = written(each, TYPES)
            cursor.execute(f"DROP TABLE IF EXISTS {table}".encode())
            cursor.execute(f"CREATE UNLOGGED TABLE {table} ({', '.join(columns)})".encode())
            marks = ", ".join(["%s"] * len(columns))
            rows = [
                [row[name] for name in each.schema.names] for row in tables[each.location.table]
            ]
            if rows:
                insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names
                cursor.executemany(insert.encode(), rows)
    return engine
