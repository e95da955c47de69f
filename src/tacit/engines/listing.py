"""Which tables a database has: names, and nothing of what is in them."""

from collections.abc import Iterable

from tacit.core.dataset import is_copy

TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_catalog = current_database()"
    " AND table_schema NOT IN ('information_schema', 'pg_catalog')"
)
"""Understood by DuckDB and PostgreSQL alike."""

USUAL = {"main", "public"}
"""Schemas that a name is looked for in where none is named."""


def named(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """The tables in order, each by its name, and by its schema where that is not the usual one.

    Copies that `tacit prepare` made are left out: they hold the rows of tables that are there.

    Example:
        >>> named([("public", "visits"), ("ward", "beds"), ("main", "tacit_visits_0")])
        (('visits',), ('ward', 'beds'))
    """
    return tuple(
        (table,) if schema in USUAL else (schema, table)
        for schema, table in sorted(rows)
        if not is_copy(table)
    )
