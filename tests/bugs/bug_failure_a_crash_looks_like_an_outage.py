"""Decision 47: a connection that is lost inside a statement is taken for an outage."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tacit.engines.postgres import Postgres
from tacit.errors import EngineUnreachable

PLACE = "tacit.engines.postgres:Postgres._asking"
CAUGHT_BY = (
    "tests/failures/test_failures.py::"
    "test_a_row_that_crashes_the_server_does_not_look_like_an_outage"
)
SHOWN = "a backend killed inside a statement"

Asking = Callable[..., Any]


def bug(_: Asking) -> Asking:
    @contextmanager
    def asking(self: Postgres, name: str = "") -> Iterator[psycopg.Cursor[Any]]:
        try:
            with self._connect() as connection, connection.cursor(name) as cursor:
                yield cursor
        except psycopg.OperationalError as error:
            raise EngineUnreachable("PostgreSQL cannot be reached.") from error

    return asking
