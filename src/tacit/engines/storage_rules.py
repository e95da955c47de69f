"""Rules about stored tables: the physical types of each kind, and which tables are plain.

A kind may have those types of an engine for which no printed statement can fail.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.core import UTC_ZONE, Catalog, Column, Dataset, Kind, PublicTable, StoredAs
from tacit.errors import InvalidValue

INSTANT = "instant"
"""The form of a column of timestamps with a time zone, which is read in its declared zone."""

Form = Kind | StoredAs | str
"""The form in which a column is stored: a type of its kind, a converted type, or `INSTANT`."""

Types = Mapping[Form, re.Pattern[str]]
"""Patterns of the names of the types of each form.

The pattern of a decimal has the groups ``digits`` and ``after``. A form that is missing is not
supported by the engine: it is refused and never approximated.
"""

CENT = Fraction(1, 100)
"""The step of a column of money or of a numeric without digits, unless another is declared."""

MOST_BEFORE, MOST_AFTER = 20, 18
"""Limits for the digits of a decimal before and after its point; 38 digits hold both."""


def form_of(column: Column) -> Form:
    """Return the form in which a column is declared to be stored.

    Example:
        >>> form_of(Column("id", Kind.TEXT, stored=StoredAs.UUID))
        <StoredAs.UUID: 'uuid'>
        >>> form_of(Column("seen", Kind.TIMESTAMP, zone="UTC"))
        'instant'
    """
    return INSTANT if column.zone is not None else column.stored or column.kind


def check_types(dataset: Dataset | PublicTable, types: Mapping[str, str], known: Types) -> None:
    """Refuse a dataset whose declared forms do not match the types of the table's columns.

    With any other type, an engine could fail on one row and not on another. The labels of an
    enum are data, so the message does not contain them.
    """
    for column in dataset.schema.columns:
        form = form_of(column)
        declared = f"{dataset.name}.{column.name} is declared as {_describe(form)}"
        if form not in known:
            raise InvalidValue(
                f"{declared}, for which this engine has no type. Leave the column out of the "
                "dataset."
            )
        physical = types[column.name]
        if not _holds(form, physical, known):
            raise InvalidValue(
                f"{declared}, but its type in the table is {type_name(physical)}. "
                f"{_advice(column, physical, known, dataset.name)}"
            )


def _describe(form: Form) -> str:
    match form:
        case Kind():
            return form.value
        case StoredAs():
            return f"{form.kind.value} stored as {form.value}"
    return "timestamp in a zone"


def _advice(column: Column, physical: str, known: Types, name: str) -> str:
    """Return a declaration that fits the type of a column, or how to convert the column."""
    for form in known:
        if not isinstance(form, Kind) and _holds(form, physical, known):
            if form == INSTANT and column.kind is Kind.TIMESTAMP:
                return 'Declare the zone in which it is read, such as zone = "UTC".'
            if isinstance(form, StoredAs) and form.kind is column.kind:
                return f'Declare stored = "{form.value}".'
    return (
        "Declare the kind of this type, or make a copy, which converts the column: run `tacit "
        f"prepare {name}`."
    )


def type_name(physical: str) -> str:
    """Return the name of a type, without the labels of an enum or the fields of a struct.

    Example:
        >>> type_name("ENUM('north', 'south')"), type_name("DECIMAL(18,2)")
        ('ENUM', 'DECIMAL(18,2)')
    """
    name, opened, rest = physical.partition("(")
    return physical if not opened or re.fullmatch(r"[0-9, ]+\).*", rest) else name


def kinds(types: Mapping[str, str], known: Types) -> tuple[Column, ...]:
    """Return the columns whose types belong to a form, without bounds or keys; skip others.

    Example:
        >>> known = {Kind.INTEGER: re.compile("BIGINT")}
        >>> [column.name for column in kinds({"age": "BIGINT", "photo": "BLOB"}, known)]
        ['age']
    """
    found = []
    for name, physical in types.items():
        form = next((form for form in known if _holds(form, physical, known)), None)
        match form:
            case None:
                continue
            case Kind.DECIMAL:
                match = known[form].fullmatch(physical)
                after = int(match["after"]) if match else 0
                found.append(Column(name, form, step=Fraction(1, 10**after)))
            case Kind():
                found.append(Column(name, form))
            case StoredAs():
                step = CENT if form.kind is Kind.DECIMAL else None
                found.append(Column(name, form.kind, step=step, stored=form))
            case _:
                found.append(Column(name, Kind.TIMESTAMP, zone=UTC_ZONE))
    return tuple(found)


def columns_without_kind(types: Mapping[str, str], known: Types) -> tuple[tuple[str, str], ...]:
    """Return the names and types of the columns that no question can use.

    Example:
        >>> known = {Kind.INTEGER: re.compile("BIGINT")}
        >>> columns_without_kind({"age": "BIGINT", "photo": "BLOB"}, known)
        (('photo', 'BLOB'),)
    """
    used = {column.name for column in kinds(types, known)}
    return tuple(
        (name, type_name(physical)) for name, physical in types.items() if name not in used
    )


def _holds(form: Form, physical: str, known: Types) -> bool:
    match = known[form].fullmatch(physical)
    if match is None or form is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return after <= MOST_AFTER and digits - after <= MOST_BEFORE


# ------------------------------------------------------------------ plain storage
# Reasons why a table may not be served in place: its storage does more than hold values.
#
# A served table is a validated copy. An owner may declare that a base table of DuckDB or
# PostgreSQL is read in place if reading a row means to read stored values and nothing else. An
# object that computes when it is read (a view, a generated column, a policy, a foreign server)
# can fail or take long because of one person's row, and that would reveal the person. The
# functions below ask the engine's own catalogue about a table's storage. They read no row.
#
# They take a function that runs one statement, so that each engine's driver stays in its own
# module.

AskCatalog = Callable[[str, tuple[object, ...]], Sequence[Sequence[Any]]]
"""Runs one statement about the engine's catalogue, with values for its parameters."""

QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
"""A quoted name or a string literal in a statement."""

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
"""Finds a table, its partitions and the tables that inherit from it: all are read."""

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
"""Reasons by relkind of PostgreSQL; r (a table) and p (a partitioned table) are accepted."""

TYPES = {"d": "a domain", "e": "an enum, whose labels are data", "c": "a composite type"}

SPARK = (
    "is read by Spark, which skips parts of files by their statistics, so that an error about "
    "one value depends on other values"
)


def refusal(name: str, reason: str) -> str:
    """Return a message: the table is not served in place, the reason, and what to do.

    Example:
        >>> print(refusal("visits", "is a view"))
        'visits' is a view, and is not served in place. Make a copy: run `tacit prepare visits`.
    """
    todo = f"Make a copy: run `tacit prepare {name}`."
    return f"{name!r} {reason}, and is not served in place. {todo}"


def plain_in_duckdb(catalog: Catalog, ask: AskCatalog) -> tuple[str, ...]:
    """Return the reasons why tables of DuckDB may not be served in place, as sentences."""
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
        yield "is not a base table (it is a view or a file)"
        return
    [(made, kind)] = found
    if kind != OWN_FORMAT:
        yield f"is in a database of the type {kind}"
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
    """Return the reasons why tables of PostgreSQL may not be served in place, as sentences."""
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
            # also if no question reads it: an error in computing it fails the whole row
            reasons[f"has a generated column, {name!r}"] = None
        if name in declared and kind in TYPES:
            reasons[f"has a column of {TYPES[kind]}, {name!r}"] = None
        if name in declared and (provider == "i" or not deterministic):
            reasons[f"has a column with an ICU collation, {name!r}"] = None
    yield from reasons


def plain_in_spark(catalog: Catalog) -> tuple[str, ...]:
    """Return a refusal for each table: no table of Spark is served in place."""
    return tuple(refusal(table.name, SPARK) for table in catalog.tables)


def _quoted_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
