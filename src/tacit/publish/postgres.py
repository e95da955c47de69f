"""A publication as a table in a schema of PostgreSQL, which any tool reads."""

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
"""Bytes of a name that PostgreSQL keeps; two that it cuts might be one."""

TYPES = {str: "text", int: "bigint"}
"""Of what names a group; all else is a number."""


class PublishedTable:
    """The table of a publication: a row for each period and group, with its intervals.

    What is promised is the comment of the table.

    Guarantee: a period is there whole or not at all, and once; once there it stays what it is,
    whoever else writes at the same moment.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, publication: Publication
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._publication = publication
        self._period = publication.periods.span.value.lower()
        self._table = SQL(".").join([_named(schema), _named(publication.name)])

    def there(self) -> frozenset[date]:
        """Return the first days of all periods that have rows here."""
        query = SQL("SELECT DISTINCT {} FROM {}").format(_named(self._period), self._table)
        with _told(self._schema):
            if self._comment is None:
                return frozenset()
            return frozenset(day for (day,) in self._run(query).fetchall())

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Whether the rows of a step hold the values of ``table``, under its receipt."""
        columns = history([table], self._publication.periods, number).columns
        cells = fields(columns)
        names = [column.name for column in columns]
        day = self._publication.periods.ends(number)[0]
        query = SQL("SELECT {} FROM {} WHERE {} = {}").format(
            SQL(", ").join(map(_named, names)),
            self._table,
            _named(self._period),
            Literal(day),
        )
        with _told(self._schema):
            self._check_mark(table)
            found = self._run(query).fetchall()
        wanted = zip(*(cells[name] for name in names), strict=True)
        return sorted(map(_plain, found)) == sorted(map(_plain, wanted))

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the rows of a step, in one transaction."""
        with _told(self._schema):
            self._write(number, table)

    def _write(self, number: int, table: StreamRelease) -> None:
        columns = history([table], self._publication.periods, number).columns
        rows = fields(columns)
        with self._connection.transaction():
            _alone(self._connection, self._table.as_string(self._connection))
            self._make(columns, list(rows), table)
            if self._holds(number):
                return
            marks = SQL(", ").join([SQL("%s")] * len(rows))
            insert = SQL("INSERT INTO {} VALUES ({})").format(self._table, marks)
            with self._connection.cursor() as cursor:
                cursor.executemany(insert, list(zip(*rows.values(), strict=True)))

    def _holds(self, number: int) -> bool:
        """Whether the rows of a step are there."""
        day = self._publication.periods.ends(number)[0]
        there = SQL("SELECT FROM {} WHERE {} = {} LIMIT 1")
        query = there.format(self._table, _named(self._period), Literal(day))
        return self._comment is not None and bool(self._run(query).rowcount)

    def _check_mark(self, table: StreamRelease) -> bool:
        """Whether the table is there; one of another charge is refused."""
        found = self._comment
        if found is not None and not found.endswith(_mark(table)):
            raise InvalidValue(
                f"There is a table {self._publication.name!r} in that schema which is not this "
                "publication; name another schema, or drop it."
            )
        return found is not None

    def _make(
        self, columns: tuple[ReleasedColumn, ...], names: list[str], table: StreamRelease
    ) -> None:
        """Make the table, unless it is there and is that of this charge."""
        if self._check_mark(table):
            return
        types = {columns[0].name: "date"} | {
            column.name: TYPES[type(column.values[0])]
            for column in columns[1:]
            if type(column.values[0]) in TYPES and column.confidence is None
        }
        cells = [
            SQL("{} {}").format(_named(name), SQL(types.get(name, "double precision")))
            for name in names
        ]
        key = SQL("PRIMARY KEY ({})").format(SQL(", ").join(map(_named, types)))
        made = SQL("CREATE TABLE {} ({})").format(self._table, SQL(", ").join([*cells, key]))
        self._run(made)
        said = Literal("\n\n".join([*table.notes, _mark(table)]))
        self._run(SQL("COMMENT ON TABLE {} IS {}").format(self._table, said))

    @property
    def _comment(self) -> str | None:
        """What the table says; None where there is none."""
        # not by to_regclass, which may remember that a table was not there a moment ago
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
    """The tables of a schema, by their publications; it is made where it is not there."""
    with (
        _told(schema),
        psycopg.connect(address, connect_timeout=10, autocommit=True) as connection,
    ):
        with connection.transaction():
            _alone(connection, schema)
            asked = "SELECT FROM pg_namespace WHERE nspname = %s"
            if not connection.execute(asked, (schema,)).rowcount:
                connection.execute(SQL("CREATE SCHEMA {}").format(_named(schema)))
        yield partial(PublishedTable, connection, schema)


@contextmanager
def _told(schema: str) -> Iterator[None]:
    """Say what PostgreSQL refused, in our words."""
    try:
        yield
    except psycopg.Error as error:
        kind = type(error).__name__
    else:
        return
    # without its words, in which an address with a password may stand
    raise InvalidValue(
        f"PostgreSQL did not take the publication, by a {kind}; look at the address in the "
        f"variable, and that its role may create tables in the schema {schema!r}."
    )


def _alone(connection: psycopg.Connection[Any], name: str) -> None:
    """Wait for others that make or write what is called so, to the end of the transaction."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))


def _plain(row: tuple[object, ...]) -> tuple[str, ...]:
    """Return the cells of a row as text, in which whole and other numbers are written alike."""
    return tuple(
        str(float(cell)) if isinstance(cell, int | float) else str(cell) for cell in row
    )


def _mark(table: StreamRelease) -> str:
    """Return the end of the table's comment: the charge whose publication it is."""
    return f"Receipt: {table.receipt.hex()}"


def _named(name: str) -> Identifier:
    if len(name.encode()) > LONGEST_NAME:
        raise InvalidValue(
            f"PostgreSQL cuts names beyond {LONGEST_NAME} bytes, and {name!r} is longer; call "
            "it by a shorter one."
        )
    return Identifier(name)
