"""Identities of physical tables, so that one table has one population and one budget.

Two names can refer to the same rows: a symbolic link, a hard link, ``..`` in a path, another
address of the same server, a view, a partition of a partitioned table. So an engine gives each
table a set of *identities*: short texts that are equal if the physical tables are the same. Two
tables overlap if their sets have a common element.

=============  =======================================================================
a file         its resolved path, and its device and inode while it exists
DuckDB         the database file and the table in it; a view has its own and those of all
               tables and files that its text names
PostgreSQL     the cluster's own identifier, the database and the table, by number and by name;
               a view has those of all tables that it reads, a partitioned table those of its
               partitions
Spark          the catalogue's name of the table and, if it is reported, the folder of its files
=============  =======================================================================

The limits of this are listed in `docs/privacy/ledger.md`: copies that somebody makes by hand,
foreign tables, views of Spark, and functions in a view of DuckDB that read files which its text
does not name. Identities are hashed, because an auditor of a ledger does not need paths and
addresses. No row is read.
"""

import re
from collections.abc import Iterable
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from tacit.engines.postgres_role import RoleCursor, quoted_name

WILD = "*?["


def identity(kind: str, *parts: object) -> str:
    """Return one identity: its kind, and a hash of the parts that identify the table.

    Example:
        >>> identity("path", "/data/visits.parquet")
        'path 101299fb72165ffd80a2ce4b'
    """
    text = "\n".join(map(str, parts))
    return f"{kind} {sha256(text.encode()).hexdigest()[:24]}"


def file_identities(path: str | Path, inside: str = "") -> tuple[str, ...]:
    """Return the identities of a file, or of the table ``inside`` in it.

    A glob pattern has the identities of all files that it matches now, and its own.
    """
    given = Path(path)
    found = [given]
    if any(mark in str(path) for mark in WILD) and not given.exists():
        found += [Path(each) for each in sorted(glob(str(path), recursive=True))]  # noqa: PTH207
    identities = []
    for file in found:
        identities.append(identity("path", file.resolve(), inside))
        try:
            known = file.stat()
        except OSError:
            continue  # the file does not exist, or this is a pattern
        identities.append(identity("inode", known.st_dev, known.st_ino, inside))
    return tuple(identities)


def merge_identities(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return all identities of several tables, sorted and without duplicates."""
    return tuple(sorted({each for part in parts for each in part}))


# ------------------------------------------------------------------ duckdb identity
# The identities of a table of DuckDB: the database file and the table in it. No row is read.

LITERAL = re.compile(r"'((?:[^']|'')*)'")
"""A string literal in a statement, as DuckDB prints it."""

WORD = re.compile(r'"(?:[^"]|"")*"|\w+')
"""A name in a statement, quoted or not."""

DEEPEST = 8
"""The number of nested views that are followed."""


class DuckDBConnection(Protocol):
    """The part of DuckDB's connection that this module uses."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""
        ...


def duckdb_identities(
    cursor: DuckDBConnection, table: tuple[str, ...], depth: int = DEEPEST
) -> tuple[str, ...]:
    """Return the identities of ``table``, as the catalogue of ``cursor`` resolves its name.

    A table in memory, such as a copied data frame, has no file and so no identity.
    """
    (here, usual) = cursor.execute("SELECT current_database(), current_schema()").fetchone()
    *before, name = table
    schema = before[-1] if before else usual
    database = before[-2] if len(before) > 1 else here
    row = cursor.execute(
        "SELECT path FROM duckdb_databases() WHERE database_name = ?", [database]
    ).fetchone()
    file = row[0] if row else None
    inside = f"{schema}.{name}".casefold()
    own = file_identities(file, inside) if file else ()
    view = cursor.execute(
        "SELECT sql FROM duckdb_views() WHERE database_name = ? AND lower(schema_name) = ?"
        " AND lower(view_name) = ? AND NOT internal",
        [database, schema.casefold(), name.casefold()],
    ).fetchone()
    if view is None or not depth:
        return own
    return merge_identities((own, *_read_by(cursor, view[0], table, depth - 1)))


def _read_by(
    cursor: DuckDBConnection, text: str, view: tuple[str, ...], depth: int
) -> list[tuple[str, ...]]:
    """Return the identities of the tables and files that a view reads, by the view's text.

    Files are found by string literals. A table counts as read if its name is a word of the
    view's text or of a macro that the view calls. This may find a table that is not read. The
    words of string literals count too, because `query_table` takes a name as a string.
    """
    _, _, query = text.partition(" AS ")
    query = _with_macros(cursor, query)
    found = [
        file_identities(literal.replace("''", "'"))
        for literal in LITERAL.findall(query)
        if "." in literal or "/" in literal
    ]
    named = cursor.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL"
        " SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    words = _words(query)
    read = words - {view[-1].casefold()}
    tables = [parts for parts in named if parts[-1].casefold() in read]
    return found + [duckdb_identities(cursor, parts, depth) for parts in tables]


def _with_macros(cursor: DuckDBConnection, query: str) -> str:
    """Return the text of a query, followed by the texts of all macros that it may call."""
    macros = cursor.execute(
        "SELECT lower(function_name), macro_definition FROM duckdb_functions()"
        " WHERE macro_definition IS NOT NULL AND NOT internal"
    ).fetchall()
    called: set[str] = set()
    while new := (_words(query) & {name for name, _ in macros}) - called:
        query = "\n".join((query, *(text for name, text in macros if name in new)))
        called |= new
    return query


def _words(query: str) -> set[str]:
    """Return the names in a query, and the words of its string literals."""
    found = WORD.findall(query) + WORD.findall(" ".join(LITERAL.findall(query)))
    return {word.strip('"').replace('""', '"').casefold() for word in found}


# ------------------------------------------------------------------ postgres identity
# The identities of a table of PostgreSQL: the cluster, the database and the table. No row is
# read.
#
# A server can have many addresses, but it has one system identifier, which every role can read
# by `pg_control_system`. A view is followed to the tables that its rule depends on. A
# partitioned table, or a parent in an inheritance tree, is followed to its children. So two
# relations that share rows share an identity. A child does not get its parent's identity: two
# partitions of one table have no row in common.

_CLUSTER = """
SELECT (SELECT system_identifier FROM pg_control_system()), d.oid, d.datname
FROM pg_database d WHERE d.datname = current_database()
"""

_RELATIONS = """
WITH RECURSIVE reached(relation) AS (
    SELECT %s::regclass::oid
  UNION
    SELECT found.relation FROM reached CROSS JOIN LATERAL (
        SELECT inhrelid AS relation FROM pg_inherits WHERE inhparent = reached.relation
      UNION ALL
        SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d
            ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_class'::regclass
        WHERE r.ev_class = reached.relation AND d.refobjid <> reached.relation
    ) AS found
)
SELECT c.oid, n.nspname, c.relname FROM reached
JOIN pg_class c ON c.oid = reached.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""


def postgres_identities(cursor: RoleCursor, table: tuple[str, ...]) -> tuple[str, ...]:
    """Return the identities of ``table`` and of all relations that its rows come from."""
    cluster, number, database = cursor.execute(_CLUSTER).fetchone()
    name = ".".join(quoted_name(part) for part in table[-2:])
    found = []
    for oid, schema, relation in cursor.execute(_RELATIONS, (name,)).fetchall():
        found.append(identity("postgres", cluster, number, oid))
        found.append(identity("postgres", cluster, database, schema, relation))
    return tuple(sorted(found))
