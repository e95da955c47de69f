"""Parquet files and data frames, read with DuckDB.

Such a file or frame may contain values that no table of DuckDB contains: bytes that are not
UTF-8 in a text column, times that cannot be counted in microseconds, decimals of 76 digits. If
a question failed because of such a value, the failure would reveal something about the rows
that it reads. So no question meets such a value:

- a data frame is copied, and each such value becomes NULL;
- a Parquet file is read in place by local sessions; bytes that are not UTF-8 are read as
  question marks by DuckDB 2 and newer;
- columns of decimals with more than 38 digits are left out, because DuckDB would read them as
  floats; a file is refused if one of them is declared;
- a declared column that DuckDB cannot decode is found by one scan when the file is opened, and
  the file is refused, because single values cannot be skipped. Other columns are never read.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tacit.engines.duckdb import ATTACHED, TYPES, DuckDB, attach, quoted_name, quoted_text
from tacit.engines.prepare import Run
from tacit.engines.print.copy_statement import facts_in
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.storage_rules import columns_without_kind, kinds
from tacit.errors import InvalidValue

Unused = tuple[tuple[str, str], ...]
"""Names and types of the columns that no question can use."""

WIDENED = {
    "VARCHAR": re.compile("ENUM.*", re.DOTALL),
    "TIMESTAMP": re.compile("TIMESTAMP_(S|MS|NS)"),
    "TIMESTAMP WITH TIME ZONE": re.compile("TIMESTAMPTZ_NS"),
}
"""Patterns of types of files and data frames, by the type to which they are converted."""

LENIENT = "utf8_validation"
MOST_DIGITS = 38
WIDE_DECIMAL = "DECIMAL of more than 38 digits"
NARROWER = (
    "Write it again with at most 20 digits before the point and 18 after it, for example with "
    "pyarrow as decimal128(38, 18)."
)
"""The advice for a column of decimals that DuckDB does not read exactly."""

FAILS = re.compile("INT96|MILLIS")
FAILS_OR_TEXT = re.compile("INT96|MILLIS|UTF8|StringType|JSON|ENUM")
"""Patterns of Parquet types that DuckDB may fail to decode: 96 bits, milliseconds, text."""


def open_parquet(
    path: str,
    name: str,
    copies: Mapping[str, str] | None = None,
    columns: Collection[str] | None = None,
) -> DuckDB:
    """Return the engine over the Parquet file at ``path``, which is the table ``name``.

    ``columns`` are the columns that questions will read; None means all.

    Guarantee: statements can read this file and the files of its ``copies``, and no other file.
    They cannot write any file.
    """
    connection = duckdb.connect()
    try:
        unused = show_parquet(connection, path, name, columns)
        for database, file in (copies or {}).items():
            attach(connection, file, database)
    except InvalidValue:
        connection.close()
        raise
    return DuckDB(connection, unused=unused)


def show_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    name: str,
    columns: Collection[str] | None = None,
) -> Unused:
    """Create ``name`` as a view of a Parquet file, and allow statements to read this file only.

    The result is the names and types of the columns that no question can use.

    Guarantee: each value of ``columns`` can be read; None means all columns.
    """
    refusal = f"{path} is not a Parquet file that can be read. Correct the path or the file."
    if not Path(path).is_file():
        raise InvalidValue(refusal)
    file = quoted_text(str(Path(path).absolute()))
    try:
        source = f"read_parquet([{file}], hive_partitioning=false{_lenient(connection)})"
        stored = _stored_columns(connection, file)
        lossy = {column for column, _, digits in stored if digits > MOST_DIGITS}
        for column in sorted(lossy.intersection(columns or ())):
            raise InvalidValue(
                f"{path} stores the column {column!r} as a decimal of more than {MOST_DIGITS} "
                f"digits, which DuckDB reads as rounded floats. {NARROWER}"
            )
        unused = _create_widened(connection, "VIEW", name, source, without=lossy)
        connection.execute(f"SET allowed_paths = [{file}]")
    except duckdb.Error as error:
        raise InvalidValue(refusal) from error
    wanted = [each for each in stored if columns is None or each[0] in columns]
    _check_decoding(connection, path, name, wanted)
    return unused


def show_valid_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    name: str,
    columns: Collection[str] | None = None,
) -> None:
    """Create ``name`` as a view of a Parquet file to copy; invalid UTF-8 is NULL in it.

    DuckDB can either replace invalid bytes by question marks or leave them out. A text with
    invalid bytes has different lengths in the two modes, which is how it is found. A file
    without invalid bytes is read once. Only ``columns`` are read; None means all columns.
    """
    show_parquet(connection, path, name, columns)
    shown = connection.execute(f"SELECT * FROM {quoted_name(name)} LIMIT 0").description  # noqa: S608
    texts = [
        quoted_name(column)
        for column, kind, *_ in shown
        if str(kind) == "VARCHAR" and (columns is None or column in columns)
    ]
    if not texts or not _lenient(connection):
        return
    file = quoted_text(str(Path(path).absolute()))
    read = f"read_parquet([{file}], hive_partitioning=false"
    hashes = ", ".join(f"bit_xor(hash({text}))" for text in texts)
    try:
        connection.execute(f"SELECT {hashes} FROM {read})").fetchall()  # noqa: S608
    except duckdb.Error:
        # strlen alone would count the bytes as they are in the file
        lengths = ", ".join(f"octet_length(encode({text})) AS {text}" for text in texts)
        connection.execute(
            f"CREATE TEMP TABLE tacit_lengths AS SELECT {lengths} FROM {read}, "  # noqa: S608
            f"{LENIENT} = 'ignore')"
        )
        valid = ", ".join(
            f"CASE WHEN octet_length(encode(a.{text})) = b.{text} THEN a.{text} END AS {text}"
            for text in texts
        )
        connection.execute(f"ALTER VIEW {quoted_name(name)} RENAME TO tacit_marks")
        connection.execute(
            f"CREATE VIEW {quoted_name(name)} AS SELECT a.* REPLACE ({valid}) "  # noqa: S608
            "FROM tacit_marks AS a POSITIONAL JOIN tacit_lengths AS b"
        )


def _lenient(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the option that accepts invalid UTF-8, if this version of DuckDB has it."""
    known = connection.execute(
        "SELECT 1 FROM duckdb_functions() WHERE function_name = 'read_parquet'"
        " AND list_contains(parameters, ?)",
        [LENIENT],
    ).fetchone()
    return f", {LENIENT} = 'replace'" if known else ""


def _stored_columns(
    connection: duckdb.DuckDBPyConnection, file: str
) -> list[tuple[str, str, int]]:
    """Return the columns of a Parquet file: name, stored type, and digits of a decimal."""
    stored = "concat_ws(' ', type, converted_type, logical_type), coalesce(precision, 0)"
    look = f"SELECT name, {stored} FROM parquet_schema({file})"  # noqa: S608 - quoted
    return connection.execute(look).fetchall()


def _check_decoding(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    view: str,
    stored: Sequence[tuple[str, str, int]],
) -> None:
    """Refuse a file if DuckDB fails to decode a column.

    Only columns of types for which that can happen are scanned; few files have such columns.
    """
    shown = connection.execute(f"SELECT * FROM {quoted_name(view)} LIMIT 0").description  # noqa: S608
    fails = FAILS if _lenient(connection) else FAILS_OR_TEXT
    doubtful = {name for name, kind, _ in stored if fails.search(kind)}
    for name in [column for column, *_ in shown if column in doubtful]:
        # a hash needs each value: DuckDB cannot answer it from statistics
        look = f"SELECT bit_xor(hash({quoted_name(name)})) FROM {quoted_name(view)}"  # noqa: S608
        try:
            connection.execute(look).fetchall()
        except duckdb.Error as error:
            raise InvalidValue(
                f"{path} contains values in the column {name!r} that DuckDB cannot read: text "
                "that is not UTF-8, or times out of range. Write the file again without these "
                "values, or without the column."
            ) from error


def open_frame(frame: object, name: str) -> DuckDB:
    """Return the engine over a copy of a pandas, Polars or Arrow table, with this name.

    Types of columns follow from the types in the frame, and never from its values.
    """
    connection = duckdb.connect()
    try:
        # columns of objects are text; their values are not inspected
        connection.execute("SET pandas_analyze_sample = 0")
        connection.register("given", frame)
        unused = _create_widened(connection, "TABLE", name, "given")
        connection.unregister("given")
    except duckdb.Error as error:
        connection.close()
        for field in getattr(frame, "schema", ()):
            if str(getattr(field, "type", "")).startswith("decimal256"):
                raise InvalidValue(
                    f"DuckDB cannot read the column {field.name!r}, which is a decimal256. "
                    f"{NARROWER}"
                ) from error
        raise InvalidValue(
            f"DuckDB cannot read a {type(frame).__name__} object as a table. Pass a pandas, "
            "Polars or Arrow table, or the path of a Parquet file."
        ) from error
    return DuckDB(connection, unused=unused)


def _create_widened(
    connection: duckdb.DuckDBPyConnection,
    what: str,
    name: str,
    source: str,
    without: Collection[str] = (),
) -> Unused:
    """Create ``name`` with the columns of ``source`` that have a kind, perhaps converted.

    The result is the names and types of the other columns.
    """
    found = connection.execute(f"SELECT * FROM {source} LIMIT 0").description  # noqa: S608
    types = {column: str(kind) for column, kind, *_ in found if column not in without}
    lossy = tuple((column, WIDE_DECIMAL) for column in without)
    read = {
        column: next((wide for wide, near in WIDENED.items() if near.fullmatch(kind)), kind)
        for column, kind in types.items()
    }
    asked = ", ".join(
        f"{_column_expression(column.name, types[column.name], read[column.name], what)}"
        f" AS {quoted_name(column.name)}"
        for column in kinds(read, TYPES)
    )
    made = f"CREATE {what} {quoted_name(name)} AS SELECT {asked} FROM {source}"  # noqa: S608
    connection.execute(made)
    return columns_without_kind(read, TYPES) + lossy


def _column_expression(name: str, kind: str, wide: str, what: str) -> str:
    """Return the expression for a column; a value that cannot be converted is NULL.

    Where values are copied into a table, text that is not UTF-8 becomes NULL too.
    """
    cast = f"TRY_CAST({quoted_name(name)} AS {wide})" if kind != wide else quoted_name(name)
    return f"TRY(decode(encode({cast})))" if (what, wide) == ("TABLE", "VARCHAR") else cast


# ------------------------------------------------------------------ duckdb owner
# DuckDB with the owner's rights: to make and drop copies, and to read the owner's own rows.

OWN = 0o600
"""The mode of a file that only its owner may read and write."""


@contextmanager
def duckdb_owner(
    path: str,
    where: tuple[str, ...],
    *,
    file: str | None,
    parquet: str | None,
    columns: Collection[str] | None = None,
) -> Iterator[Run]:
    """Yield a function that runs statements on the database file at ``path``, as its owner.

    If ``parquet`` is a name, ``path`` is a Parquet file, which is the table of that name. The
    copy is stored in the schema ``where``, which may be in another database ``file``. Only
    ``columns`` of a Parquet file are copied; None means all.

    Guarantee: a copy is made completely or not at all. Only the user who makes it may read
    ``file`` and the other files that DuckDB writes for it.
    """
    connection = duckdb.connect()
    before = os.umask(0o077)

    def run(text: str) -> list[tuple[object, ...]]:
        try:
            return connection.execute(text).fetchall()
        except duckdb.Error as error:  # its text may contain a value
            raise InvalidValue(
                f"DuckDB failed on {path} with {type(error).__name__}. Check the names of the "
                "table and its columns, and the free space on the disk."
            ) from error

    try:
        if parquet is not None:
            show_valid_parquet(connection, path, parquet, columns)
        else:
            attach(connection, path, ATTACHED, writes=file is None)
            connection.execute(f"USE {quoted_name(ATTACHED)}")
        if file is not None:
            attach(connection, file, where[0], writes=True)
            Path(file).chmod(OWN)
        run("BEGIN TRANSACTION")
        run(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(map(quoted_name, where))}")
        yield run
        run("COMMIT")
    finally:
        connection.close()
        os.umask(before)


def read_copy_facts(file: str, record: tuple[str, ...]) -> tuple[str, ...]:
    """Return the facts in the record of a copy in ``file``; empty if it cannot be read."""
    connection = duckdb.connect()
    try:
        attach(connection, file, ATTACHED)
        found = connection.execute(facts_in((ATTACHED, *record), DUCKDB)).fetchall()
    except (duckdb.Error, InvalidValue):
        return ()
    finally:
        connection.close()
    return tuple(str(fact) for (fact,) in found)


def one_row_each(  # noqa: PLR0913 - a table, its unit, and its columns
    path: str,
    table: tuple[str, ...],
    unit: str,
    columns: Sequence[str],
    *,
    parquet: str | None,
    most: int,
) -> list[tuple[str, ...]]:
    """Return a row of each of ``most`` units as text, the unit first; for the owner only."""
    connection = duckdb.connect()
    shown = ", ".join(
        f"COALESCE(CAST(MIN({quoted_name(name)}) AS VARCHAR), '')" for name in columns
    )
    names = f"CAST({quoted_name(unit)} AS VARCHAR)"
    where = ".".join(map(quoted_name, table))
    text = (
        f"SELECT {names}, {shown} FROM {where} "  # noqa: S608 - names are quoted
        f"WHERE {quoted_name(unit)} IS NOT NULL GROUP BY 1 ORDER BY hash({names}) LIMIT {most}"
    )
    try:
        if parquet is not None:
            show_parquet(connection, path, parquet, {unit, *columns})
        else:
            attach(connection, path, ATTACHED)
            connection.execute(f"USE {quoted_name(ATTACHED)}")
        return connection.execute(text).fetchall()
    except duckdb.Error as error:
        raise InvalidValue(
            f"DuckDB failed on {path} with {type(error).__name__}. Check the names of the "
            "table and its columns."
        ) from error
    finally:
        connection.close()
