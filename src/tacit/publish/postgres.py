"""Publications as tables in a schema of PostgreSQL, which any tool can read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import partial
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from tacit.core import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.publish.publication import Publication
from tacit.render import fields
from tacit.stream import StreamRelease, history

LONGEST_NAME = 63
"""Maximum length of a name in bytes. PostgreSQL cuts longer names, which may collide."""

TYPES = {str: "text", int: "bigint"}
"""SQL types of the key columns; all other columns are double precision."""


class PublishedTable:
    """The table of a publication: a row for each period and group, with its intervals.

    The comment of the table is the text of the guarantee.

    Guarantee: a period is written completely or not at all, only once, and it is never changed
    afterwards, also if several processes write at the same moment.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, publication: Publication
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._publication = publication
        self._period = publication.periods.span.value.lower()
        self._table = SQL(".").join([_identifier(schema), _identifier(publication.name)])

    def stored_periods(self) -> frozenset[date]:
        """Return the first day of each period that has rows in the published table."""
        query = SQL("SELECT DISTINCT {} FROM {}").format(_identifier(self._period), self._table)
        with _translate_errors(self._schema):
            if self._comment is None:
                return frozenset()
            return frozenset(day for (day,) in self._run(query).fetchall())

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Return whether the rows of a period have the values and the receipt of ``table``."""
        columns = history([table], self._publication.periods, number).columns
        cells = fields(columns)
        names = [column.name for column in columns]
        day = self._publication.periods.ends(number)[0]
        query = SQL("SELECT {} FROM {} WHERE {} = {}").format(
            SQL(", ").join(map(_identifier, names)),
            self._table,
            _identifier(self._period),
            Literal(day),
        )
        with _translate_errors(self._schema):
            self._check_mark(table)
            found = self._run(query).fetchall()
        wanted = zip(*(cells[name] for name in names), strict=True)
        return sorted(map(_plain, found)) == sorted(map(_plain, wanted))

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the rows of one period, in one transaction."""
        with _translate_errors(self._schema):
            self._write(number, table)

    def _write(self, number: int, table: StreamRelease) -> None:
        columns = history([table], self._publication.periods, number).columns
        rows = fields(columns)
        with self._connection.transaction():
            _lock(self._connection, self._table.as_string(self._connection))
            self._make(columns, list(rows), table)
            if self._holds(number):
                return
            marks = SQL(", ").join([SQL("%s")] * len(rows))
            insert = SQL("INSERT INTO {} VALUES ({})").format(self._table, marks)
            with self._connection.cursor() as cursor:
                cursor.executemany(insert, list(zip(*rows.values(), strict=True)))

    def _holds(self, number: int) -> bool:
        """Return whether the rows of a period are in the table."""
        day = self._publication.periods.ends(number)[0]
        statement = SQL("SELECT FROM {} WHERE {} = {} LIMIT 1")
        query = statement.format(self._table, _identifier(self._period), Literal(day))
        return self._comment is not None and bool(self._run(query).rowcount)

    def _check_mark(self, table: StreamRelease) -> bool:
        """Return whether the table exists, and raise if it belongs to another charge."""
        found = self._comment
        if found is not None and not found.endswith(_mark(table)):
            raise InvalidValue(
                f"The table {self._publication.name!r} in that schema does not belong to this "
                "publication. Name another schema, or drop the table."
            )
        return found is not None

    def _make(
        self, columns: tuple[ReleasedColumn, ...], names: list[str], table: StreamRelease
    ) -> None:
        """Create the table, unless it exists and belongs to this charge."""
        if self._check_mark(table):
            return
        types = {columns[0].name: "date"} | {
            column.name: TYPES[type(column.values[0])]
            for column in columns[1:]
            if type(column.values[0]) in TYPES and column.confidence is None
        }
        cells = [
            SQL("{} {}").format(_identifier(name), SQL(types.get(name, "double precision")))
            for name in names
        ]
        key = SQL("PRIMARY KEY ({})").format(SQL(", ").join(map(_identifier, types)))
        made = SQL("CREATE TABLE {} ({})").format(self._table, SQL(", ").join([*cells, key]))
        self._run(made)
        said = Literal("\n\n".join([*table.notes, _mark(table)]))
        self._run(SQL("COMMENT ON TABLE {} IS {}").format(self._table, said))

    @property
    def _comment(self) -> str | None:
        """The comment of the table, or None if there is no table."""
        # to_regclass is not used: it may have cached that the table did not exist
        asked = SQL(
            "SELECT coalesce(obj_description(found.oid, 'pg_class'), '') FROM pg_class found "
            "JOIN pg_namespace place ON place.oid = found.relnamespace "
            "WHERE place.nspname = {} AND found.relname = {}"
        )
        place, name = Literal(self._schema), Literal(self._publication.name)
        row = self._run(asked.format(place, name)).fetchone()
        return None if row is None else str(row[0])

    def _run(self, query: Composed) -> psycopg.Cursor[Any]:
        return self._connection.execute(query)


@contextmanager
def schema_of(address: str, schema: str) -> Iterator[Callable[[Publication], PublishedTable]]:
    """Yield a function from a publication to its table; create the schema if needed."""
    with (
        _translate_errors(schema),
        psycopg.connect(address, connect_timeout=10, autocommit=True) as connection,
    ):
        with connection.transaction():
            _lock(connection, schema)
            asked = "SELECT FROM pg_namespace WHERE nspname = %s"
            if not connection.execute(asked, (schema,)).rowcount:
                connection.execute(SQL("CREATE SCHEMA {}").format(_identifier(schema)))
        yield partial(PublishedTable, connection, schema)


@contextmanager
def _translate_errors(schema: str) -> Iterator[None]:
    """Raise our own error in place of an error of PostgreSQL."""
    try:
        yield
    except psycopg.Error as error:
        kind = type(error).__name__
    else:
        return
    # the text of the error is left out, because it may contain an address with a password
    raise InvalidValue(
        f"PostgreSQL did not store the publication ({kind}). Check the address in the "
        f"variable, and that its role may create tables in the schema {schema!r}."
    )


def _lock(connection: psycopg.Connection[Any], name: str) -> None:
    """Lock ``name`` for this transaction, so that others wait until it ends."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))


def _plain(row: tuple[object, ...]) -> tuple[str, ...]:
    """Return the cells of a row as text, with integers and floats written in the same form."""
    return tuple(
        str(float(cell)) if isinstance(cell, int | float) else str(cell) for cell in row
    )


def _mark(table: StreamRelease) -> str:
    """Return the end of the table's comment, which names the charge of the publication."""
    return f"Receipt: {table.receipt.hex()}"


def _identifier(name: str) -> Identifier:
    if len(name.encode()) > LONGEST_NAME:
        raise InvalidValue(
            f"PostgreSQL cuts names after {LONGEST_NAME} bytes, and {name!r} is longer. Use a "
            "shorter name."
        )
    return Identifier(name)
