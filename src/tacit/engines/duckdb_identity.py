"""Which file and table a name of DuckDB stands for; no row is read."""

import re
from typing import Any, Protocol

from tacit.engines.identity import file_identities, merged

LITERAL = re.compile(r"'((?:[^']|'')*)'")
"""A text in a statement, as DuckDB writes it."""

WORD = re.compile(r'"(?:[^"]|"")*"|\w+')
"""A name in a statement, quoted or not."""

DEEPEST = 8
"""Views of views that are followed."""


class Names(Protocol):
    """The part of DuckDB's connection that is used here."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""
        ...


def table_identities(
    cursor: Names, table: tuple[str, ...], depth: int = DEEPEST
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
    return merged((own, *_read_by(cursor, view[0], table, depth - 1)))


def _read_by(
    cursor: Names, text: str, view: tuple[str, ...], depth: int
) -> list[tuple[str, ...]]:
    """The identities of what a view reads: tables by their names, files by the texts in it.

    A table whose name is a word of the view's text is taken for one that it reads, which may be
    one too many.
    """
    _, _, query = text.partition(" AS ")
    found = [
        file_identities(literal.replace("''", "'"))
        for literal in LITERAL.findall(text)
        if "." in literal or "/" in literal
    ]
    named = cursor.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL"
        " SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    words = {
        word.strip('"').replace('""', '"').casefold()
        for word in WORD.findall(LITERAL.sub(" ", query))
    }
    read = words - {view[-1].casefold()}
    tables = [parts for parts in named if parts[-1].casefold() in read]
    return found + [table_identities(cursor, parts, depth) for parts in tables]
