"""Which types of an engine may stand behind a kind: those for which nothing printed fails."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.core import Catalog, Column, Dataset, Kind, PublicTable
from tacit.errors import InvalidValue

Types = Mapping[Kind, re.Pattern[str]]
"""The names of the types behind each kind; a decimal's tells its ``digits`` and ``after``.

A kind that is not there is one that the engine lacks: it is refused, and never approximated.
"""

MOST_BEFORE, MOST_AFTER = 20, 18
"""Digits of a decimal around its point: 38 hold any two of them side by side."""


def check_types(dataset: Dataset | PublicTable, types: Mapping[str, str], known: Types) -> None:
    """Refuse a dataset whose kinds are not those of the table, by the types of its columns.

    Any other type would let an engine fail on one row and not on another.
    """
    for column in dataset.schema.columns:
        if column.kind not in known:
            raise InvalidValue(
                f"{dataset.name}.{column.name} is declared as {column.kind.value}, for which "
                "this engine has no type; leave the column out of the dataset."
            )
        physical = types[column.name]
        if not _holds(column.kind, physical, known):
            raise InvalidValue(
                f"{dataset.name}.{column.name} is declared as {column.kind.value}, and is "
                f"{physical} in the table."
            )


def kinds(types: Mapping[str, str], known: Types) -> tuple[Column, ...]:
    """The columns whose types stand behind a kind, with nothing declared; others are left out.

    Example:
        >>> kinds({"age": "BIGINT", "photo": "BLOB"}, {Kind.INTEGER: re.compile("BIGINT")})
        (Column(name='age', kind=<Kind.INTEGER: 'integer'>, bounds=None, keys=None, step=None),)
    """
    found = []
    for name, physical in types.items():
        kind = next((kind for kind in known if _holds(kind, physical, known)), None)
        if kind is Kind.DECIMAL:
            match = known[kind].fullmatch(physical)
            after = int(match["after"]) if match else 0
            found.append(Column(name, kind, step=Fraction(1, 10**after)))
        elif kind is not None:
            found.append(Column(name, kind))
    return tuple(found)


def _holds(kind: Kind, physical: str, known: Types) -> bool:
    match = known[kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return after <= MOST_AFTER and digits - after <= MOST_BEFORE


# ------------------------------------------------------------------ plain storage
# Reasons why a table may not be served in place: what its storage could do beside hold
# values.
#
# A served table is a validated copy. An owner may declare that a base table of DuckDB or
# PostgreSQL is read in place, where reading a row means reading the values that stand in it
# and nothing else. Whatever computes when it is read (a view, a generated column, a policy, a
# foreign server) can fail, or take long, by one person's row, and that would tell of this
# person. Here the engine's own catalogue is asked for what can be known of a table's storage
# without reading its rows.
#
# The functions take a way to run one statement, so that each engine's driver stays in its
# file.

AskCatalog = Callable[[str, tuple[object, ...]], Sequence[Sequence[Any]]]
"""Runs one statement about the engine's catalogue, given values for its marks."""

QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
"""A name or a text inside a statement."""

OWN_FORMAT = "duckdb"
HEAP = "heap"

DUCKDB_TABLE = """\
SELECT t.sql, d.type
FROM duckdb_tables() t JOIN duckdb_databases() d ON d.database_name = t.database_name
WHERE t.table_name = ? AND t.schema_name = ?
 AND t.database_name = coalesce(?, current_database())
"""
DUCKDB_COLUMNS = """\
SELECT column_name, data_type FROM duckdb_columns()
WHERE table_name = ? AND schema_name = ? AND database_name = coalesce(?, current_database())
"""

POSTGRES_TABLES = """\
WITH RECURSIVE below AS (
 SELECT %s::regclass::oid AS id
 UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = id)
SELECT relkind::text, relrowsecurity, coalesce(amname::text, '')
FROM below JOIN pg_class ON pg_class.oid = id LEFT JOIN pg_am ON pg_am.oid = relam"""
"""The table, its partitions and the tables that inherit from it: a question reads them all."""

POSTGRES_COLUMNS = """\
SELECT attname::text, attgenerated <> '', typtype::text, coalesce(collprovider::text, ''),
 coalesce(collisdeterministic, true)
FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
LEFT JOIN pg_collation ON pg_collation.oid = attcollation
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""

KINDS = {
    "v": "is a view",
    "m": "is a materialised view",
    "f": "is a foreign table, or has one among its partitions",
}
"""What PostgreSQL calls r (a table) and p (one of partitions) is no reason."""

TYPES = {"d": "a domain", "e": "an enum, whose labels are data", "c": "a composite type"}

SPARK = (
    "is read by Spark, which skips parts of files by their statistics, so that a value which "
    "cannot be read tells of others"
)


def refusal(name: str, reason: str) -> str:
    """The sentence that says why a table is not served in place, and what to do.

    Example:
        >>> refusal("visits", "is a view")
        "'visits' is a view, and is not served in place; make a copy: tacit prepare visits"
    """
    return f"{name!r} {reason}, and is not served in place; make a copy: tacit prepare {name}"


def plain_in_duckdb(catalog: Catalog, ask: AskCatalog) -> tuple[str, ...]:
    """Why tables of a DuckDB database may not be served in place, a sentence each."""
    return tuple(
        refusal(table.name, reason)
        for table in catalog.tables
        for reason in _of_duckdb(table, ask)
    )


def _of_duckdb(table: Dataset | PublicTable, ask: AskCatalog) -> Iterator[str]:
    *above, name = table.location.table
    database, schema = [None, "main"][: 2 - len(above)] + above
    place = (name, schema, database)
    found = ask(DUCKDB_TABLE, place)
    if not found:
        yield "is no base table (a view, or a file)"
        return
    [(made, kind)] = found
    if kind != OWN_FORMAT:
        yield f"lies in a database of {kind}"
    declared = set(table.schema.names)
    words = QUOTED.sub("", made).upper()
    if re.search(r"\bGENERATED\b", words):
        yield "has a generated column"
    if re.search(r"\bCOLLATE\b", words):
        yield "has a column with a collation"
    for column, kind in ask(DUCKDB_COLUMNS, place):
        if column in declared and kind.startswith("ENUM"):
            yield f"has a column of {TYPES['e']}, {column!r}"


def plain_in_postgres(catalog: Catalog, ask: AskCatalog) -> tuple[str, ...]:
    """Why tables of a PostgreSQL database may not be served in place, a sentence each."""
    return tuple(
        refusal(table.name, reason)
        for table in catalog.tables
        for reason in _of_postgres(table, ask)
    )


def _of_postgres(table: Dataset | PublicTable, ask: AskCatalog) -> Iterator[str]:
    place = ".".join(_quoted_name(part) for part in table.location.table[-2:])
    reasons: dict[str, None] = {}
    for kind, secured, method in ask(POSTGRES_TABLES, (place,)):
        if kind in KINDS:
            reasons[KINDS[kind]] = None
        if secured:
            reasons["has row-level security"] = None
        if method not in {"", HEAP}:
            reasons[f"is stored by the access method {method}"] = None
    declared = set(table.schema.names)
    for name, generated, kind, provider, deterministic in ask(POSTGRES_COLUMNS, (place,)):
        if generated:
            # a question reads no other column, but what fails to be made fails for the row
            reasons[f"has a generated column, {name!r}"] = None
        if name in declared and kind in TYPES:
            reasons[f"has a column of {TYPES[kind]}, {name!r}"] = None
        if name in declared and (provider == "i" or not deterministic):
            reasons[f"has a column with a collation of ICU, {name!r}"] = None
    yield from reasons


def plain_in_spark(catalog: Catalog) -> tuple[str, ...]:
    """Why tables of Spark may not be served in place: none may."""
    return tuple(refusal(table.name, SPARK) for table in catalog.tables)


def _quoted_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
