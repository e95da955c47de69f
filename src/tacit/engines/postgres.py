"""The engine over PostgreSQL, whose tables are read in place by a role that may only read."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from tacit.core import Catalog, Column, Dataset, Kind, PublicTable, Secret, StoredAs
from tacit.engines.engine import SecretTable
from tacit.engines.postgres_role import QUIET, check_role, check_table, quoted_name
from tacit.engines.prepare import Run
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.relation import columns, everything
from tacit.engines.sql_engine import (
    TABLE_GONE,
    TABLES,
    RehearsalCache,
    ask,
    ask_rows,
    cannot_run,
    check_copies,
    check_lookups,
    in_place,
    statements,
    table_names,
)
from tacit.engines.storage_rules import (
    INSTANT,
    Types,
    check_types,
    columns_without_kind,
    kinds,
    plain_in_postgres,
)
from tacit.engines.table_identity import postgres_identities
from tacit.engines.unit_rows import PART, UnitRows
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.plan import BoundedPlan

SETTINGS = {
    "default_transaction_read_only": "on",
    "search_path": "public",
    "client_encoding": "UTF8",
    "DateStyle": "ISO",
    "TimeZone": "UTC",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "lock_timeout": "10s",
    "jit": "off",
    "synchronize_seqscans": "off",
    # a server-side cursor is read to its end, so it is planned like any other statement
    "cursor_tuple_fraction": "1",
}
"""The settings of every session, whatever the defaults of the role and the database are.

A scan starts with the first row even while another scan runs, because copies are read in order.
"""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("bool"),
    Kind.INTEGER: re.compile("int[248]"),
    Kind.DECIMAL: re.compile(r"numeric\((?P<digits>\d+), ?(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("float[48]"),
    Kind.TEXT: re.compile(r"text|varchar(\(\d+\))?"),
    Kind.DATE: re.compile("date"),
    Kind.TIMESTAMP: re.compile(r"timestamp(\(\d\))?"),
    StoredAs.UUID: re.compile(r"uuid|text|varchar(\(\d+\))?"),
    StoredAs.CHAR: re.compile(r"(bpchar|varchar)(\(\d+\))?|text"),
    StoredAs.ENUM: re.compile("enum"),
    StoredAs.MONEY: re.compile("money"),
    StoredAs.NUMERIC: re.compile(r"numeric(\(\d+, ?-?\d+\))?"),
    INSTANT: re.compile(r"timestamptz(\(\d\))?"),
}
"""The supported types, by the names that the driver gives them; see `_type_names`."""

TYPE_OF = b"SELECT typtype = 'e', format_type(oid, NULL) FROM pg_type WHERE oid = %s"

TABLE_ERRORS = psycopg.ProgrammingError
"""The error for a table that does not exist, has other columns, or may not be read."""

NOT_HERE = ("42", "3F")
"""Prefixes of PostgreSQL's codes for `TABLE_ERRORS`: names, types and rights; schemas."""

NO_ANSWER = ("08", "53", "55", "57", "58")
"""Prefixes of codes by which a server reports a problem of its own, not of the statement."""

UNREACHABLE = "PostgreSQL cannot be reached. Check its address, and that it runs."


class Postgres:
    """An engine over a PostgreSQL database; each question has a session of its own.

    Guarantee: only statements that `tacit.engines.print` built are run, each in a read-only
    transaction. All errors have one text, because PostgreSQL's own text may contain a value of
    a row.
    """

    dialect = POSTGRES

    def __init__(self, address: str, *, timeout_seconds: int = 600) -> None:
        self._address = address
        self._rehearsed = RehearsalCache()
        settings = SETTINGS | {"statement_timeout": f"{timeout_seconds}s"}
        self._options = " ".join(f"-c {name}={value}" for name, value in settings.items())

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue with a missing table or other column types; no row is read.

        A role that may do more than read is refused too, and a server that would log
        questions.
        """
        try:
            with self._cursor() as cursor:
                check_role(cursor, catalog)

                for part in _look(cursor, catalog):
                    check_table(cursor, part)
                check_lookups(
                    catalog, POSTGRES, lambda text: cursor.execute(text.encode()).fetchall()
                )
        except TABLE_ERRORS as error:
            raise InvalidValue(
                "A dataset has no table with the declared columns in this database, or Tacit's "
                "role may not read it. Check the names of tables and columns, and run GRANT "
                "SELECT."
            ) from error
        except psycopg.Error as error:
            raise InvalidValue(
                "The engine's PostgreSQL does not answer. Check its address, and that it runs."
            ) from error

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the reasons why tables may not be served in place, as sentences."""
        try:
            with self._cursor() as cursor:
                return plain_in_postgres(
                    catalog, lambda text, given: cursor.execute(text.encode(), given).fetchall()
                )
        except psycopg.Error as error:
            raise InvalidValue(
                "PostgreSQL does not report how its tables are stored. Check its address, and "
                "that it runs; run GRANT SELECT."
            ) from error

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of all tables that the role may read, as tuples of their parts."""
        try:
            with self._cursor() as cursor:
                return table_names(cursor.execute(TABLES.encode()).fetchall())
        except psycopg.Error as error:
            raise InvalidValue(
                "The engine's PostgreSQL does not answer. Check its address, and that it runs."
            ) from error

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns that questions can use, by their types; no row is read."""
        return kinds(self._types(table), TYPES)

    def unused_columns(self, table: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return the names and types of the columns that no question can use."""
        return columns_without_kind(self._types(table), TYPES)

    def _types(self, table: tuple[str, ...]) -> dict[str, str]:
        try:
            with self._cursor() as cursor:
                cursor.execute(everything(table, POSTGRES).encode())
                names = [each.name for each in cursor.description or ()]
                return dict(zip(names, _type_names(cursor), strict=True))
        except psycopg.Error as error:
            raise InvalidValue(
                f"PostgreSQL shows no table {'.'.join(table)!r}. Check the server's address, "
                "that it runs, and the table's name; run GRANT SELECT."
            ) from error

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return the identities of a table, which do not depend on the server's address."""
        try:
            with self._cursor() as cursor:
                return postgres_identities(cursor, table)
        except psycopg.Error as error:
            raise InvalidValue(
                f"PostgreSQL shows no table {'.'.join(table)!r}. Check the server's address, "
                "that it runs, and the table's name."
            ) from error

    def close(self) -> None:
        """Do nothing: no connection stays open between questions."""

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer to ``plan``."""
        in_order = self._fetch_in_order
        with self._reading(plan, catalog):
            return ask(plan, catalog, salt, POSTGRES, self._fetch, run_in_order=in_order)

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements PostgreSQL does not accept.

        Each statement is prepared, which parses it and resolves its names and types. It is not
        planned, so neither a row nor a statistic is read, and the time reveals nothing.
        """
        texts = statements(plan, catalog, salt, POSTGRES, rows=rows)
        refused: InternalError | None = None
        try:
            with self._reading(plan, catalog):
                self._rehearsed.each(texts, self._prepare)
        except InternalError as error:
            refused = error
        if refused is not None:
            cause = refused.__cause__
            code = cause.sqlstate if isinstance(cause, psycopg.Error) else None
            if code is None or code.startswith(NO_ANSWER):
                raise EngineUnreachable(UNREACHABLE) from refused
            raise cannot_run(plan) from refused

    def _prepare(self, text: str) -> None:
        with self._asking() as cursor:
            cursor.execute(f"PREPARE tacit_rehearsed AS {text}".encode())

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows that ``plan`` keeps."""
        with self._reading(plan, catalog):
            return ask_rows(plan, catalog, salt, POSTGRES, self._fetch_in_parts)

    @contextmanager
    def _reading(self, plan: BoundedPlan, catalog: Catalog) -> Iterator[None]:
        """Distinguish an outage from a failure if a statement fails by names, types or rights.

        Such a statement has read no row. Its tables are checked as in `check`. If one does not
        exist any more, such as a copy that an owner dropped, or may not be read any more, that
        is an outage, and the paid question waits for the table.
        """
        try:
            yield
        except InternalError as error:
            cause = error.__cause__
            code = cause.sqlstate if isinstance(cause, psycopg.Error) else None
            if (code or "").startswith(NOT_HERE) and not self._readable(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise

    def _readable(self, plan: BoundedPlan, catalog: Catalog) -> bool:
        """Return whether the tables of ``plan`` exist with the declared columns."""
        try:
            with self._cursor() as cursor:
                _look(cursor, catalog, plan.source.datasets)
        except (psycopg.Error, InvalidValue):
            return False
        return True

    def _fetch_in_parts(self, text: str) -> Iterator[list[Any]]:
        """Run a statement, and fetch its rows part by part with a server-side cursor."""
        with self._asking("tacit_rows") as cursor:
            cursor.execute(text.encode())
            while found := cursor.fetchmany(PART):
                yield found

    def _fetch_in_order(self, text: str) -> list[Any]:
        return self._fetch(text, "SET max_parallel_workers_per_gather = 0")

    def _fetch(self, text: str, *before: str) -> list[Any]:
        with self._asking() as cursor:
            for setting in before:
                cursor.execute(setting.encode())
            return cursor.execute(text.encode()).fetchall()

    @contextmanager
    def _asking(self, name: str = "") -> Iterator[psycopg.Cursor[Any]]:
        """Open a cursor for a paid question, and raise an outage or a failure for errors."""
        try:
            connected = self._connect()
        except psycopg.Error as error:
            # no statement was sent, so no row can be the cause
            raise EngineUnreachable(UNREACHABLE) from error
        try:
            with connected as connection, connection.cursor(name) as cursor:
                yield cursor
        except psycopg.errors.LockNotAvailable as error:
            # somebody alters a table; the statement waited for the lock before its first row
            raise EngineUnreachable(
                "A table is locked by its owner. Try again later."
            ) from error
        except psycopg.errors.AdminShutdown as error:
            # an operator stops the server; a server that crashes does not send this error
            raise EngineUnreachable(
                "PostgreSQL is being stopped. Start it, and try again."
            ) from error
        except psycopg.Error as error:
            raise InternalError("The engine failed.") from error

    @contextmanager
    def _cursor(self) -> Iterator[psycopg.Cursor[Any]]:
        with self._connect() as connection, connection.cursor() as cursor:
            yield cursor

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._address, options=self._options, connect_timeout=10)


def _look(
    cursor: psycopg.Cursor[Any], catalog: Catalog, names: Collection[str] | None = None
) -> tuple[Dataset | PublicTable, ...]:
    """Refuse tables that do not exist or have other types; return the tables of copies.

    ``names`` are the tables to check; None means all. No row is read.
    """

    def look(text: str) -> list[str]:
        cursor.execute(text.encode())
        return _type_names(cursor)

    def read(text: str) -> list[Any]:
        return cursor.execute(text.encode()).fetchall()

    for dataset in in_place(catalog):
        if names is None or dataset.name in names:
            types = look(columns(dataset.name, catalog, POSTGRES))
            found = dict(zip(dataset.schema.names, types, strict=True))
            check_types(dataset, found, TYPES)
    if names is not None:
        others = [table for table in catalog.tables if table.name not in names]
        catalog = catalog.with_tables(*(replace(table, copy=None) for table in others))
    return check_copies(catalog, POSTGRES, look, TYPES, TABLE_ERRORS, read)


def _type_names(cursor: psycopg.Cursor[Any]) -> list[str]:
    """Return the types of the columns of the last statement; an enum is called "enum".

    The driver knows the types of PostgreSQL. Other types are looked up in the catalogue.
    """
    described = list(cursor.description or ())
    known = cursor.connection.adapters.types
    names = []
    for column in described:
        name = str(column.type_display)
        if known.get(column.type_code) is None:
            found = cursor.execute(TYPE_OF, (column.type_code,)).fetchone()
            name = "unknown" if found is None else "enum" if found[0] else str(found[1])
        names.append(name)
    return names


# ------------------------------------------------------------------ postgres owner
# PostgreSQL with the owner's rights: to make and drop copies, and for nothing else.

OWNER_SETTINGS = {
    **{name: value for name, value in SETTINGS.items() if "read_only" not in name},
    # the check of a copy's order needs a scan in the stored order
    "max_parallel_workers_per_gather": "0",
}


@contextmanager
def postgres_owner(address: str, schema: str) -> Iterator[Run]:
    """Yield a function that runs statements at ``address``, all in one transaction.

    Guarantee: a copy is made completely or not at all. No statement is written to the server's
    log, because the statements contain the salt.
    """
    options = " ".join(f"-c {name}={value}" for name, value in OWNER_SETTINGS.items())

    def run(text: str) -> list[tuple[Any, ...]]:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []

    try:
        with psycopg.connect(address, options=options, connect_timeout=10) as connection:
            _silence_log(connection)
            found = connection.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)
            )
            if found.fetchone() is None:
                connection.execute(f"CREATE SCHEMA {quoted_name(schema)}".encode())
            yield run
    except psycopg.Error as error:  # its text may contain a value
        raise InvalidValue(
            f"PostgreSQL failed with {type(error).__name__}. Check the owner's address, and "
            "that its role may read the table and create tables in the schema of the copy."
        ) from error


def _silence_log(connection: psycopg.Connection[Any]) -> None:
    """Turn off the settings that log statements; refuse if the role may not do that."""
    for setting, quiet in QUIET.items():
        asked = connection.execute("SELECT current_setting(%s, true)", (setting,))
        [found] = asked.fetchone() or [None]
        if found is None or found == quiet:
            continue
        try:
            with connection.transaction():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, quiet))
        except psycopg.errors.InsufficientPrivilege:
            raise InvalidValue(
                f"The server would log how the copy is made: {setting} is {found}. Run as a "
                f"superuser, for the owner's role: ALTER ROLE ... SET {setting} = '{quiet}'."
            ) from None
