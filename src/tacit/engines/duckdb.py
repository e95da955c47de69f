"""The engine over DuckDB, whose query plans depend on the statement and never on the data.

DuckDB stores statistics of every column: the least and the largest value, whether it contains
NULL, the number of distinct values. Its planner reads them. One row with a key out of range
turned a perfect hash table into an ordinary one, which cost 15% of the time of a question over
ten million rows. For a constant that no row contains, DuckDB did not read the table at all. The
time of an answer can be observed, so it revealed one person's row.

So every optimiser of the planner is disabled unless it is listed here. This includes optimisers
that a new version of DuckDB adds. The list was chosen from DuckDB's documentation and not by
reading its code. The evidence is `tests/engines/test_plans.py`, which compares the plans of
neighbouring tables.

Two things still depend on the data. They affect the time and not the plan: a scan skips row
groups by the least and largest value in each, and it is divided into a number of tasks that
depends on the number of rows.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from tacit.core import Catalog, Column, Kind, Secret
from tacit.engines.engine import SecretTable
from tacit.engines.print.relation import columns, everything
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.print.statement import UNIT_MARK, row_statement
from tacit.engines.sql_engine import (
    TABLE_GONE,
    TABLES,
    RehearsalCache,
    ask,
    cannot_run,
    check_copies,
    check_lookups,
    in_place,
    resolve,
    statements,
    table_names,
)
from tacit.engines.storage_rules import (
    Types,
    check_types,
    columns_without_kind,
    kinds,
    plain_in_duckdb,
)
from tacit.engines.table_identity import duckdb_identities
from tacit.engines.unit_rows import PART, UnitRows
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.plan import BoundedPlan

STATEMENT_ALONE = frozenset(
    {
        *("expression_rewriter", "filter_pullup", "filter_pushdown", "regex_range"),
        *("in_clause", "deliminator", "unnest_rewriter", "unused_columns"),
        *("common_subexpressions", "common_aggregate", "column_lifetime", "duplicate_groups"),
        *("limit_pushdown", "top_n", "reorder_filter", "materialized_cte", "cte_inlining"),
        *("cte_filter_pusher", "extension"),
    }
)
"""Optimisers that rewrite a statement by its own form alone, in versions 1.5 to 2.0.

Among the disabled ones, statistics_propagation changes plans because of one row in the test.
The others are disabled as a precaution, and no test shows that they must be: when each was
enabled alone, compressed_materialization, join_order, build_side_probe_side, row_group_pruner
and empty_result_pullup changed no plan, and those after them in DuckDB's list were not tried.
top_n_window_elimination would replace the window that bounds rows by heaps of lists, which
takes twice the time and three times the memory.
"""

NO_PERFECT_HASH = "SET perfect_ht_threshold = 0"
"""Makes DuckDB use an ordinary hash table for groups, whatever range the keys have."""

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and returns the rows of its result, if it has any."""


def fix_plans(run: Run) -> None:
    """Configure DuckDB so that its plans depend on statements alone."""
    known = [name for (name,) in run("SELECT name FROM duckdb_optimizers()")]
    off = ",".join(name for name in known if name not in STATEMENT_ALONE)
    run(f"SET disabled_optimizers = '{off}'")
    run(NO_PERFECT_HASH)


# ------------------------------------------------------------------ duckdb
# The engine: DuckDB runs in this process and reads tables and Parquet files.

LOCKS = (
    "SET enable_external_access = false",
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET lock_configuration = true",
)
"""Settings by which no statement can use a file, the network, an extension or a setting."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("BOOLEAN"),
    Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
    Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("FLOAT|DOUBLE"),
    Kind.TEXT: re.compile("VARCHAR"),
    Kind.DATE: re.compile("DATE"),
    Kind.TIMESTAMP: re.compile("TIMESTAMP"),
    **DUCKDB.stored_types,
}
"""The supported types.

UHUGEINT is missing, because no type holds its values and negative numbers.
"""


UNRESOLVED = (duckdb.CatalogException, duckdb.BinderException)
"""DuckDB's errors for a missing table or column; they are raised before any row is read."""

ATTACHED = "held"
"""The name under which the database file of a session is attached."""


REHEARSED = "tacit_rehearsed"
"""The name of the prepared statement of a cursor, which the next rehearsal replaces."""

ROWS = "tacit_rows"
"""The temporary table of a cursor that contains the rows of a fit, in their order."""

READ_ROWS = (
    f"SELECT * EXCLUDE (place) FROM (SELECT rowid AS place, CAST({UNIT_MARK} IS DISTINCT FROM "  # noqa: S608
    f"LAG({UNIT_MARK}) OVER (ORDER BY rowid) AS BIGINT) AS starts, * EXCLUDE ({UNIT_MARK}) "
    f"FROM temp.{ROWS} WHERE rowid >= $first - 1 AND rowid < $last) "
    "WHERE place >= $first ORDER BY place"
)
"""Reads one part: whether each row begins a new unit, and the integers of the row.

DuckDB compares the units' names and returns none of them, because NumPy would convert a HUGEINT
to a float.
"""


class DuckDB:
    """An engine over an open DuckDB database, whose settings it locks.

    Guarantee: only statements that `tacit.engines.print` built are run, each on a cursor that
    nothing else uses at the same time. All errors have one text, because DuckDB's own text may
    contain a value of a row.
    """

    dialect = DUCKDB

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        database: str | None = None,
        unused: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._connection = connection
        self._unused = unused
        self._database = database
        self._idle: deque[duckdb.DuckDBPyConnection] = deque()
        self._rehearsed = RehearsalCache()
        fix_plans(lambda text: connection.execute(text).fetchall())
        for lock in LOCKS:
            connection.execute(lock)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue with a missing table or other column types; no row is read."""
        for dataset in in_place(catalog):
            try:
                types = self._look(columns(dataset.name, catalog, DUCKDB))
            except duckdb.Error as error:
                raise InvalidValue(
                    f"{dataset.name!r} has no table with the declared columns in this "
                    "database. Correct the names of the table and its columns, or the address "
                    "of the engine."
                ) from error
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)
        check_copies(catalog, DUCKDB, self._look, TYPES, duckdb.Error, self._read)
        check_lookups(catalog, DUCKDB, self._fetch)

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the reasons why tables may not be served in place, as sentences."""
        with self._cursor() as cursor:
            return plain_in_duckdb(
                catalog, lambda text, given: cursor.execute(text, given).fetchall()
            )

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of all tables; a name is a tuple of its parts."""
        with self._cursor() as cursor:
            return table_names(cursor.execute(TABLES).fetchall())

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns that questions can use, by their types; no row is read."""
        return kinds(self._types(table), TYPES)

    def unused_columns(self, table: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return the names and types of the columns that no question can use."""
        # those of a file or a data frame are not in its table
        return columns_without_kind(self._types(table), TYPES) + self._unused

    def _types(self, table: tuple[str, ...]) -> dict[str, str]:
        try:
            with self._cursor() as cursor:
                cursor.execute(everything(table, DUCKDB))
                return {name: str(kind) for name, kind, *_ in cursor.description}
        except duckdb.Error as error:
            raise InvalidValue(
                f"There is no table {'.'.join(table)!r} in this database. Correct its name."
            ) from error

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return the identities of a table: its database file and its name in that file."""
        try:
            with self._cursor() as cursor:
                return duckdb_identities(cursor, table)
        except duckdb.Error as error:
            raise InvalidValue(
                f"There is no table {'.'.join(table)!r} in this database. Correct its name."
            ) from error

    def close(self) -> None:
        """Close the database, and free what was copied into memory."""
        while self._idle:
            self._idle.pop().close()
        self._connection.close()

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer to ``plan``."""
        with self._reading(plan, catalog):
            return ask(plan, catalog, salt, DUCKDB, self._fetch)

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements DuckDB cannot plan, independently of the data."""
        texts = statements(plan, catalog, salt, DUCKDB, rows=rows)
        try:
            self._rehearsed.each(texts, self._prepare)
        except duckdb.Error as error:
            if isinstance(error, UNRESOLVED) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise cannot_run(plan) from error

    def _prepare(self, text: str) -> None:
        """Let DuckDB plan a statement; unlike EXPLAIN, this does not draw the plan."""
        self._on_idle_cursor(f"PREPARE {REHEARSED} AS {text}")

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows that ``plan`` keeps.

        The rows are sorted into a temporary table, which DuckDB writes to its temporary files
        if the memory is full, and are read from there part by part. To fetch them directly as
        arrays would need memory for all of them at once.
        """
        text = row_statement(plan, catalog, salt, DUCKDB)
        rows, place, units = UnitRows(len(plan.tallies)), 0, 0
        try:
            with self._reading(plan, catalog), self._cursor() as cursor:
                cursor.execute(f"CREATE TEMP TABLE {ROWS} AS {text}")
                while True:
                    part = {"first": place, "last": place + PART}
                    starts, *columns = cursor.execute(READ_ROWS, part).fetchnumpy().values()
                    if not len(starts):
                        return Secret(rows)
                    numbers = units + starts.cumsum()
                    rows.add(numbers, columns)
                    place, units = place + PART, int(numbers[-1])
        except duckdb.Error as error:
            raise InternalError("The engine failed.") from error

    @contextmanager
    def _reading(self, plan: BoundedPlan, catalog: Catalog) -> Iterator[None]:
        """Distinguish an outage from a failure if DuckDB cannot resolve a statement's names.

        Such a statement has read no row. If one of its tables does not exist any more, that is
        an outage, and the paid question waits for the table. Nobody else can write a file that
        is open here; but a caller who passes a connection can drop a table that is read.
        """
        try:
            yield
        except (duckdb.Error, InternalError) as error:
            cause = error.__cause__ if isinstance(error, InternalError) else error
            if isinstance(cause, UNRESOLVED) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise

    def _resolves(self, plan: BoundedPlan, catalog: Catalog) -> bool:
        """Return whether the tables of ``plan`` still exist."""
        try:
            return resolve(catalog, plan.source.datasets, DUCKDB, self._look, UNRESOLVED)
        except duckdb.Error:
            return True

    def _fetch(self, text: str) -> list[Any]:
        try:
            return self._on_idle_cursor(text)
        except duckdb.Error as error:
            raise InternalError("The engine failed.") from error

    def _on_idle_cursor(self, text: str) -> list[Any]:
        """Run a statement on a cursor that is kept, unless the statement fails."""
        try:
            cursor = self._idle.pop()  # to make a new one takes as long as a small question
        except IndexError:
            cursor = self._cursor()
        try:
            found = cursor.execute(text).fetchall()
        except duckdb.Error:
            cursor.close()
            raise
        self._idle.append(cursor)
        return found

    def _read(self, text: str) -> list[Any]:
        """Return the rows of a copy's record; DuckDB's own errors are not replaced."""
        with self._cursor() as cursor:
            return cursor.execute(text).fetchall()

    def _look(self, text: str) -> list[str]:
        """Return the types of the columns of a statement's result."""
        with self._cursor() as cursor:
            cursor.execute(text)
            return [str(kind) for _, kind, *_ in cursor.description]

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new cursor whose current database is the attached one, if there is one."""
        cursor = self._connection.cursor()
        if self._database is not None:
            cursor.execute(f"USE {quoted_name(self._database)}")
        return cursor


def open_duckdb(path: str, copies: Mapping[str, str] | None = None) -> DuckDB:
    """Return the engine over the database file at ``path``, which is opened for reading only.

    The file is attached to a database in memory, because DuckDB does not open a file twice in
    one process with different settings. The files of ``copies`` are attached under the names
    that they have in questions.
    """
    connection = duckdb.connect()
    try:
        for name, file in {ATTACHED: path, **(copies or {})}.items():
            attach(connection, file, name)
    except InvalidValue:
        connection.close()
        raise
    return DuckDB(connection, database=ATTACHED)


def attach(
    connection: duckdb.DuckDBPyConnection, path: str, name: str, *, writes: bool = False
) -> None:
    """Attach a database file under a name; if ``writes``, create a missing file."""
    how = "" if writes else " (READ_ONLY)"
    try:
        connection.execute(f"ATTACH {quoted_text(path)} AS {quoted_name(name)}{how}")
    except duckdb.Error as error:
        hint = "Close other programs that use it" if writes else "Correct the path"
        can = "written" if writes else "read"
        raise InvalidValue(
            f"{path} is not a DuckDB database that can be {can}. {hint}, or name another file."
        ) from error


def make_duckdb(path: str, statements: Iterable[str]) -> None:
    """Create a database file by running ``statements``, which must be trusted."""
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def quoted_name(name: str) -> str:
    """Return a name as a quoted identifier of DuckDB, whatever it contains."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quoted_text(text: str) -> str:
    """Return a text as a string literal of DuckDB, whatever it contains."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
