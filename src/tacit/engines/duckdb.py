"""DuckDB's plans made of the statement alone, and never of what stands in the tables.

DuckDB keeps statistics of every column: its least and greatest value, whether it holds NULL,
how many values it has. Its planner reads them. One row with a key out of range turned a
perfect hash table into an ordinary one, which cost 15% of the time of a question over ten
million rows; a value that nobody has made DuckDB not read the table at all. Time is seen, so
one person's row was seen by it.

So every step of the planner is off that is not named here, also each step which a new version
of DuckDB adds. What stays was chosen by what DuckDB says of it, and not by reading its code;
the evidence is `tests/engines/test_plans.py`, which compares the plans of neighbouring tables.

Two things still depend on the data, and are time and not plans: which groups of rows a scan
skips, by the least and greatest value that each holds; and how many tasks a scan is cut into,
which follows from the number of rows.
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
from tacit.engines.storage_rules import Types, check_types, kinds, plain_in_duckdb
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
"""Steps of the planner that rewrite a statement by its own form, in versions 1.5 to 2.0.

Of those that are off, statistics_propagation changes plans by one row in the test. Others are
off as a precaution, and no test shows that they must be: turned on by themselves,
compressed_materialization, join_order, build_side_probe_side, row_group_pruner and
empty_result_pullup changed none, and those after them in DuckDB's list were not tried.
top_n_window_elimination would turn the bound into heaps of lists: twice the time, three times
the memory.
"""

NO_PERFECT_HASH = "SET perfect_ht_threshold = 0"
"""Groups are found by an ordinary hash table, whatever range their keys have."""

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement of ours, and gives its rows, if it has any."""


def fix_plans(run: Run) -> None:
    """Let DuckDB plan by statements alone, from now on."""
    known = [name for (name,) in run("SELECT name FROM duckdb_optimizers()")]
    off = ",".join(name for name in known if name not in STATEMENT_ALONE)
    run(f"SET disabled_optimizers = '{off}'")
    run(NO_PERFECT_HASH)


# ------------------------------------------------------------------ duckdb
# DuckDB: Parquet files and tables on one machine, in this process.

LOCKS = (
    "SET enable_external_access = false",
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET lock_configuration = true",
)
"""No file, no network, no extension and no setting can be reached from a statement."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("BOOLEAN"),
    Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
    Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("FLOAT|DOUBLE"),
    Kind.TEXT: re.compile("VARCHAR"),
    Kind.DATE: re.compile("DATE"),
    Kind.TIMESTAMP: re.compile("TIMESTAMP"),
}
"""Not UHUGEINT, whose values do not fit beside a negative number; no labels, no time zones."""


UNRESOLVED = (duckdb.CatalogException, duckdb.BinderException)
"""What is raised, before any row, where a table or column of a statement is not there."""

ATTACHED = "held"
"""What the database is called that a session reads."""


ROWS = "tacit_rows"
"""The temporary table of a cursor that holds the rows of a fit, in their order."""

READ_ROWS = (
    f"SELECT * EXCLUDE (place) FROM (SELECT rowid AS place, CAST({UNIT_MARK} IS DISTINCT FROM "  # noqa: S608
    f"LAG({UNIT_MARK}) OVER (ORDER BY rowid) AS BIGINT) AS starts, * EXCLUDE ({UNIT_MARK}) "
    f"FROM temp.{ROWS} WHERE rowid >= $first - 1 AND rowid < $last) "
    "WHERE place >= $first ORDER BY place"
)
"""Reads one part: whether a row begins another unit than the row before it, and its integers.

DuckDB compares the names, and hands on none: as an array of NumPy a HUGEINT is a float.
"""


class DuckDB:
    """An engine over an open DuckDB database, which it locks.

    Guarantee: only statements that `tacit.engines.print` made are run, each on a cursor that no
    other uses meanwhile; what goes wrong has one text, since DuckDB's own may hold a value of a
    row.
    """

    dialect = DUCKDB

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, database: str | None = None
    ) -> None:
        self._connection = connection
        self._database = database
        self._idle: deque[duckdb.DuckDBPyConnection] = deque()
        self._rehearsed = RehearsalCache()
        fix_plans(lambda text: connection.execute(text).fetchall())
        for lock in LOCKS:
            connection.execute(lock)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        for dataset in in_place(catalog):
            try:
                types = self._look(columns(dataset.name, catalog, DUCKDB))
            except duckdb.Error as error:
                raise InvalidValue(
                    f"{dataset.name!r} has no table here with the columns declared."
                ) from error
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)
        check_copies(catalog, DUCKDB, self._look, TYPES, duckdb.Error, self._read)
        check_lookups(catalog, DUCKDB, self._fetch)

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Why tables may not be served in place, by the database's own catalogue."""
        with self._cursor() as cursor:
            return plain_in_duckdb(
                catalog, lambda text, given: cursor.execute(text, given).fetchall()
            )

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The names of all tables, part by part."""
        with self._cursor() as cursor:
            return table_names(cursor.execute(TABLES).fetchall())

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns of a table that can be asked about, by their types; no row is read."""
        try:
            with self._cursor() as cursor:
                cursor.execute(everything(table, DUCKDB))
                types = {name: str(kind) for name, kind, *_ in cursor.description}
        except duckdb.Error as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error
        return kinds(types, TYPES)

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Which file and table in it this is."""
        try:
            with self._cursor() as cursor:
                return duckdb_identities(cursor, table)
        except duckdb.Error as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error

    def close(self) -> None:
        """Let go of the database, and of what was copied into memory."""
        while self._idle:
            self._idle.pop().close()
        self._connection.close()

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        with self._reading(plan, catalog):
            return ask(plan, catalog, salt, DUCKDB, self._fetch)

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan that DuckDB cannot plan; its plans are made of statements alone."""
        texts = statements(plan, catalog, salt, DUCKDB, rows=rows)
        try:
            self._rehearsed.each(texts, self._explain)
        except duckdb.Error as error:
            if isinstance(error, UNRESOLVED) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise cannot_run(plan) from error

    def _explain(self, text: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(f"EXPLAIN {text}")

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """The secret rows that ``plan`` keeps.

        They are sorted into a table of the cursor's own, which DuckDB writes to its temporary
        files where its memory ends, and read from there part by part: its fetching of arrays
        would hold all of them at once.
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
        """Tell an outage from a failure, where DuckDB does not resolve a statement.

        Such a statement has read no row. Where one of its tables is gone, what is paid for
        waits for it. A file that is open here nobody else can write; but whoever lends their
        own connection may drop what is read.
        """
        try:
            yield
        except (duckdb.Error, InternalError) as error:
            cause = error.__cause__ if isinstance(error, InternalError) else error
            if isinstance(cause, UNRESOLVED) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise

    def _resolves(self, plan: BoundedPlan, catalog: Catalog) -> bool:
        """Whether the names of the tables of ``plan`` still stand for something."""
        try:
            return resolve(catalog, plan.source.datasets, DUCKDB, self._look, UNRESOLVED)
        except duckdb.Error:
            return True

    def _fetch(self, text: str) -> list[Any]:
        try:
            cursor = self._idle.pop()  # a new one takes as long as a small question
        except IndexError:
            cursor = self._cursor()
        try:
            found = cursor.execute(text).fetchall()
        except duckdb.Error as error:
            cursor.close()
            raise InternalError("The engine failed.") from error
        self._idle.append(cursor)
        return found

    def _read(self, text: str) -> list[Any]:
        """What is written beside a copy; DuckDB's own errors are let through."""
        with self._cursor() as cursor:
            return cursor.execute(text).fetchall()

    def _look(self, text: str) -> list[str]:
        """The types of what ``text`` finds."""
        with self._cursor() as cursor:
            cursor.execute(text)
            return [str(kind) for _, kind, *_ in cursor.description]

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor, which begins in the database of the connection, and not where that is."""
        cursor = self._connection.cursor()
        if self._database is not None:
            cursor.execute(f"USE {quoted_name(self._database)}")
        return cursor


def open_duckdb(path: str, copies: Mapping[str, str] | None = None) -> DuckDB:
    """The engine over the database file at ``path``, which it only reads.

    It is attached, since DuckDB opens a file but once in a process where settings differ; and
    so are the files of ``copies``, by the names that they have in questions.
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
    """Attach a database file under a name; one that ``writes`` is made if it is not there."""
    how = "" if writes else " (READ_ONLY)"
    try:
        connection.execute(f"ATTACH {quoted_text(path)} AS {quoted_name(name)}{how}")
    except duckdb.Error as error:
        can = "written; close whatever else has it open" if writes else "read"
        raise InvalidValue(f"{path} is no DuckDB database that can be {can}.") from error


def make_duckdb(path: str, statements: Iterable[str]) -> None:
    """Make a database file by ``statements``, which are ours."""
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def quoted_name(name: str) -> str:
    """A name as DuckDB reads it, whatever stands in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quoted_text(text: str) -> str:
    """A text as DuckDB reads it, whatever stands in it."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
