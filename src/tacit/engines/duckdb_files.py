"""What DuckDB reads beside databases: a Parquet file, and a copy of a data frame.

Their writers may store what no DuckDB table holds: bytes that are no UTF-8 in a column of text,
times that no microseconds count, decimals of 76 digits. Whether a question meets such a value,
and fails, would tell of the rows that it looks at. So no question meets one:

- a frame is copied, and each such value becomes NULL;
- of a Parquet file, which local sessions read in place, bytes that are no UTF-8 are read as
  question marks, by DuckDB 2 and newer;
- its decimals of more than 38 digits are left out, since they would be read as floats;
- a declared column that DuckDB cannot decode is found by one scan when the file is opened, and
  refused: there is no way to read around one value. Other columns are never read.
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
from tacit.engines.storage_rules import kinds
from tacit.errors import InvalidValue

WIDENED = {"VARCHAR": re.compile("ENUM.*"), "TIMESTAMP": re.compile("TIMESTAMP_(S|MS|NS)")}
"""Types that files and data frames have, and what they are read as: each value has one."""

LENIENT = "utf8_validation"
MOST_DIGITS = 38
FAILS = re.compile("INT96|MILLIS")
FAILS_OR_TEXT = re.compile("INT96|MILLIS|UTF8|StringType|JSON|ENUM")
"""How Parquet stores what DuckDB may fail to decode: by 96 bits, in milliseconds, as text."""


def open_parquet(
    path: str,
    name: str,
    copies: Mapping[str, str] | None = None,
    columns: Collection[str] | None = None,
) -> DuckDB:
    """The engine over the Parquet file at ``path``, as the table ``name``.

    Questions will read these ``columns`` alone; without any named, all.

    Guarantee: of all files, statements can read this one and those of its ``copies``
    alone, and write none.
    """
    connection = duckdb.connect()
    try:
        show_parquet(connection, path, name, columns)
        for database, file in (copies or {}).items():
            attach(connection, file, database)
    except InvalidValue:
        connection.close()
        raise
    return DuckDB(connection)


def show_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    name: str,
    columns: Collection[str] | None = None,
) -> None:
    """Make ``name`` a view of a Parquet file, the one that may be read once all is locked.

    Guarantee: each value of ``columns`` can be read; without any named, of all.
    """
    refusal = f"{path} is no Parquet file that can be read."
    if not Path(path).is_file():
        raise InvalidValue(refusal)
    file = quoted_text(str(Path(path).absolute()))
    try:
        source = f"read_parquet([{file}], hive_partitioning=false{_lenient(connection)})"
        stored = _stored_columns(connection, file)
        lossy = {column for column, _, digits in stored if digits > MOST_DIGITS}
        _create_widened(connection, "VIEW", name, source, without=lossy)
        connection.execute(f"SET allowed_paths = [{file}]")
    except duckdb.Error as error:
        raise InvalidValue(refusal) from error
    wanted = [each for each in stored if columns is None or each[0] in columns]
    _check_decoding(connection, path, name, wanted)


def show_valid_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    name: str,
    columns: Collection[str] | None = None,
) -> None:
    """Make ``name`` a view of a Parquet file to copy, whose text is valid UTF-8 or NULL.

    DuckDB reads bytes that are no UTF-8 as question marks, or leaves them out, so that a text
    which has some is of another length in each way. A file without them is read once. Of
    other columns than these, where some are named, nothing is read.
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
        # strlen alone would be answered by the bytes of the file
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
    """The option by which bytes that are no text do not fail, where this DuckDB has it."""
    known = connection.execute(
        "SELECT 1 FROM duckdb_functions() WHERE function_name = 'read_parquet'"
        " AND list_contains(parameters, ?)",
        [LENIENT],
    ).fetchone()
    return f", {LENIENT} = 'replace'" if known else ""


def _stored_columns(
    connection: duckdb.DuckDBPyConnection, file: str
) -> list[tuple[str, str, int]]:
    """The columns of a Parquet file: how each is stored, and the digits of a decimal."""
    stored = "concat_ws(' ', type, converted_type, logical_type), coalesce(precision, 0)"
    look = f"SELECT name, {stored} FROM parquet_schema({file})"  # noqa: S608 - quoted
    return connection.execute(look).fetchall()


def _check_decoding(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    view: str,
    stored: Sequence[tuple[str, str, int]],
) -> None:
    """Refuse a file with a column that DuckDB may fail to decode, and does.

    Only columns of such types are scanned: few files have any.
    """
    shown = connection.execute(f"SELECT * FROM {quoted_name(view)} LIMIT 0").description  # noqa: S608
    fails = FAILS if _lenient(connection) else FAILS_OR_TEXT
    doubtful = {name for name, kind, _ in stored if fails.search(kind)}
    for name in [column for column, *_ in shown if column in doubtful]:
        # the hash of each value: no statistics answer that
        look = f"SELECT bit_xor(hash({quoted_name(name)})) FROM {quoted_name(view)}"  # noqa: S608
        try:
            connection.execute(look).fetchall()
        except duckdb.Error as error:
            raise InvalidValue(
                f"{path} holds values in the column {name!r} that DuckDB cannot read: text "
                "that is not UTF-8, or times out of range. Write the file anew without them, "
                "or without the column."
            ) from error


def open_frame(frame: object, name: str) -> DuckDB:
    """The engine over a copy of a pandas, Polars or Arrow table, called ``name``.

    Types follow from those of the columns, never from what stands in them.
    """
    connection = duckdb.connect()
    try:
        connection.execute(
            "SET pandas_analyze_sample = 0"
        )  # objects are text, and not looked at
        connection.register("given", frame)
        _create_widened(connection, "TABLE", name, "given")
        connection.unregister("given")
    except duckdb.Error as error:
        connection.close()
        raise InvalidValue(
            f"A {type(frame).__name__} is no table that DuckDB takes; give a pandas, Polars or "
            "Arrow table, or the path of a Parquet file."
        ) from error
    return DuckDB(connection)


def _create_widened(
    connection: duckdb.DuckDBPyConnection,
    what: str,
    name: str,
    source: str,
    without: Collection[str] = (),
) -> None:
    """Make ``name`` of the columns of ``source`` whose types have a kind, or nearly."""
    found = connection.execute(f"SELECT * FROM {source} LIMIT 0").description  # noqa: S608
    types = {column: str(kind) for column, kind, *_ in found if column not in without}
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


def _column_expression(name: str, kind: str, wide: str, what: str) -> str:
    """A column as it is read: a value that has no other in the wider type is NULL.

    A table is made by copying, where text that is no UTF-8 becomes NULL too.
    """
    cast = f"TRY_CAST({quoted_name(name)} AS {wide})" if kind != wide else quoted_name(name)
    return f"TRY(decode(encode({cast})))" if (what, wide) == ("TABLE", "VARCHAR") else cast


# ------------------------------------------------------------------ duckdb owner
# DuckDB as the owner of the tables: to make and drop copies, and to look at own rows.

OWN = 0o600
"""The mode of a file that its owner alone may read and write."""


@contextmanager
def duckdb_owner(
    path: str,
    where: tuple[str, ...],
    *,
    file: str | None,
    parquet: str | None,
    columns: Collection[str] | None = None,
) -> Iterator[Run]:
    """Runs statements over the database file at ``path``, or a Parquet file, as that table.

    The copy lies in the schema ``where``, which may be one of another database, in ``file``. Of
    a Parquet file only ``columns`` are copied; without any named, all.

    Guarantee: all of a copy is made, or nothing; nobody but the user who makes it may read
    ``file``, nor what DuckDB writes beside it.
    """
    connection = duckdb.connect()
    before = os.umask(0o077)

    def run(text: str) -> list[tuple[object, ...]]:
        try:
            return connection.execute(text).fetchall()
        except duckdb.Error as error:  # its words may hold a value
            raise InvalidValue(
                f"DuckDB failed over {path}, by a {type(error).__name__}; look at the names of "
                "the table and its columns, and at the room on the disk."
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
    """What is written beside the copy in ``file``; nothing where that cannot be read."""
    connection = duckdb.connect()
    try:
        attach(connection, file, ATTACHED)
        found = connection.execute(facts_in((ATTACHED, *record), DUCKDB)).fetchall()
    except (duckdb.Error, InvalidValue):
        return ()
    finally:
        connection.close()
    return tuple(str(fact) for (fact,) in found)


def one_row_each(  # noqa: PLR0913 - a table, whose rows, and what of them
    path: str,
    table: tuple[str, ...],
    unit: str,
    columns: Sequence[str],
    *,
    parquet: str | None,
    most: int,
) -> list[tuple[str, ...]]:
    """One row of each of ``most`` units, as text, their own name first: for their owner."""
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
            f"DuckDB failed over {path}, by a {type(error).__name__}; look at the names of the "
            "table and its columns."
        ) from error
    finally:
        connection.close()
