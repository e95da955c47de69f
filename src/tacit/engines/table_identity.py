"""Which physical table a name stands for, so that one table has one population and one budget.

Two names can stand for the same rows: a symbolic link, a hard link, ``..`` in a path, another
address of the same server, a view, a partition of a partitioned table. So an engine gives each
table a set of *identities*, short texts that are equal where the table is. Two tables overlap
where their sets meet.

=============  =======================================================================
a file         its resolved path, and its device and inode while it is there
DuckDB         the database file and the table in it; a view has its own and those of all
               tables and files that its text names
PostgreSQL     the cluster's own identifier, the database and the table, by number and by name;
               a view has those of all tables that it reads, a partitioned table those of its
               partitions
Spark          the catalogue's name of the table and, where it tells, the folder of its files
=============  =======================================================================

What cannot be seen through is told in `docs/privacy/ledger.md`: copies that somebody makes by
hand, foreign tables, views of Spark, and functions in a view of DuckDB whose files its text
does not name. Identities are hashed: whoever audits a ledger needs no paths and addresses. No
row is read for any of this.
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
    """One identity: its kind, and a hash of what tells it apart.

    Example:
        >>> identity("path", "/data/visits.parquet")
        'path 101299fb72165ffd80a2ce4b'
    """
    text = "\n".join(map(str, parts))
    return f"{kind} {sha256(text.encode()).hexdigest()[:24]}"


def file_identities(path: str | Path, inside: str = "") -> tuple[str, ...]:
    """The identities of a file, or of what is called ``inside`` in it.

    A pattern stands for all files that it matches now, and for itself.
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
            continue  # a file that is not there, or a pattern
        identities.append(identity("inode", known.st_dev, known.st_ino, inside))
    return tuple(identities)


def merge_identities(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All identities of several tables, each once, in order."""
    return tuple(sorted({each for part in parts for each in part}))


# ------------------------------------------------------------------ duckdb identity
# Which file and table a name of DuckDB stands for; no row is read.

LITERAL = re.compile(r"'((?:[^']|'')*)'")
"""A text in a statement, as DuckDB writes it."""

WORD = re.compile(r'"(?:[^"]|"")*"|\w+')
"""A name in a statement, quoted or not."""

DEEPEST = 8
"""Views of views that are followed."""


class DuckDBConnection(Protocol):
    """The part of DuckDB's connection that is used here."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""
        ...


def duckdb_identities(
    cursor: DuckDBConnection, table: tuple[str, ...], depth: int = DEEPEST
) -> tuple[str, ...]:
    """The identities of ``table``, as the catalogue of ``cursor`` finds it.

    A table in memory, such as a copied data frame, has no place of its own, and none.
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
    """The identities of what a view reads: tables by their names, files by the texts in it.

    A table whose name is a word of the view's text, or of a macro that it calls, is taken for
    one that it reads, which may be one too many. A text is words too, since `query_table` takes
    a name as text.
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
    """The text of a query, followed by that of every macro that it may call."""
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
    """The names in a query, and the words of the texts in it."""
    found = WORD.findall(query) + WORD.findall(" ".join(LITERAL.findall(query)))
    return {word.strip('"').replace('""', '"').casefold() for word in found}


# ------------------------------------------------------------------ postgres identity
# Which table of which cluster a name of PostgreSQL stands for; no row is read.
#
# A server has many addresses, and one number of its own that `pg_control_system` tells
# everybody. A view is followed to the tables that its rule depends on, and a partitioned
# table or a parent of others to those that inherit from it, so that whatever shares rows
# shares an identity. A child does not get its parent's identity: two partitions of one table
# have no row in common.

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
    """The identities of ``table`` and of all that its rows come from."""
    cluster, number, database = cursor.execute(_CLUSTER).fetchone()
    name = ".".join(quoted_name(part) for part in table[-2:])
    found = []
    for oid, schema, relation in cursor.execute(_RELATIONS, (name,)).fetchall():
        found.append(identity("postgres", cluster, number, oid))
        found.append(identity("postgres", cluster, database, schema, relation))
    return tuple(sorted(found))
