"""A row on which naive SQL fails gives the same bytes as its absence, node by node."""

from datetime import date

import duckdb
import pytest
import specials
from conftest import Bar
from traps import TRAPS, Trap

from tacit.audit.replay import RecordingGateway, ReplayingGateway
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.engines.duckdb import DuckDB
from tacit.engines.reference import Row
from tacit.errors import EngineUnreachable, InternalError
from tacit.mechanisms.gateway import Gateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

CATALOG = specials.catalog(Limits(1, 1))
ORDINARY: Row = dict.fromkeys(specials.TYPES) | {
    "tiny": 1,
    "big": 1,
    "huge": 1,
    "ubig": 7,
    "cents": 1,
    "fine": 1,
    "whole": 1,
    "single": 0.5,
    "double": 0.5,
    "label": "12",
    "flag": True,
    "until": date(2020, 1, 1),
    "tag": "north",
}


def statement(part: str) -> str:
    return f"SELECT {part}" if "FROM" in part else f"SELECT {part} FROM specials"  # noqa: S608


def people(trap: Trap | None) -> list[Row]:
    ordinary = [{**ORDINARY, "person": f"p{number}", "place": 0} for number in range(20)]
    if trap is None:
        return ordinary
    return [*ordinary, {**ORDINARY, "person": "ann", "place": 0, trap.column: trap.cell}]


def released(trap: Trap, found: list[Row], gateway: Gateway) -> bytes:
    """What an analyst sees of one side, in bytes."""
    quote = price(parse(statement(trap.ours), CATALOG), CATALOG, Loss.zcdp("0.1"))
    with specials.database(found) as connection:
        return repr(run(quote, DuckDB(connection), CATALOG, b"salt", gateway)).encode()


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.node for trap in TRAPS])
def test_a_row_that_naive_sql_fails_on_is_not_seen(trap: Trap) -> None:
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = released(trap, people(None), recording)
    replaying = ReplayingGateway(recording.calls)
    assert released(trap, people(trap), replaying) == first
    replaying.finish()


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.node for trap in TRAPS])
def test_naive_sql_tells_the_row_by_its_error(trap: Trap) -> None:
    with specials.database(people(None)) as connection:
        connection.execute(statement(trap.naive)).fetchall()
    with specials.database(people(trap)) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement(trap.naive)).fetchall()


def test_how_many_nodes_have_a_trap(bar: Bar) -> None:
    bar("nodes with a row that naive SQL fails on", len(TRAPS), ">= 20", len(TRAPS) >= 20)


def test_a_failure_of_the_engine_has_one_text() -> None:
    """Whatever DuckDB says, its words stay inside."""
    with specials.database(people(TRAPS[0])) as connection:
        engine = DuckDB(connection)
        quote = price(parse("SELECT COUNT(*) FROM specials", CATALOG), CATALOG, Loss.zcdp("1"))
        connection.execute("ALTER TABLE specials RENAME TO hidden")
        word = "CAST(CAST('SECRET ' || person AS INTEGER) AS VARCHAR)"
        fails = f"SELECT * REPLACE ({word} AS person) FROM hidden"  # noqa: S608 - our own
        connection.execute(f"CREATE VIEW specials AS {fails}")
        with pytest.raises(InternalError, match=r"^The engine failed\.$"):
            engine.run(quote.bound.plan, CATALOG, b"salt")
        connection.execute("DROP VIEW specials")
        with pytest.raises(EngineUnreachable, match=r"^A table of this question does not"):
            engine.run(quote.bound.plan, CATALOG, b"salt")
