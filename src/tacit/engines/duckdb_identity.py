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
    return found + [table_identities(cursor, parts, depth) for parts in tables]


def _with_macros(cursor: Names, query: str) -> str:
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
