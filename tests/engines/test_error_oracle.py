"""A row on which naive SQL fails gives the same bytes as its absence, node by node."""

from dataclasses import dataclass

import duckdb
import pytest
import specials
from conftest import Bar

from tacit.audit.record import RecordingGateway
from tacit.audit.replay import ReplayingGateway
from tacit.core.dataset import Limits
from tacit.core.loss import Loss
from tacit.engines.duckdb import DuckDB
from tacit.engines.meaning import Cell, Row
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Gateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.price import price
from tacit.query.run import run
from tacit.sql.parse import parse

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
}


@dataclass(frozen=True, slots=True)
class Trap:
    """A node, our question with it, what naive SQL would run, and the row that it fails on."""

    node: str
    ours: str
    naive: str
    column: str
    cell: Cell


TRAPS = (
    Trap("Add", "SUM(big + 1)", "MAX(big + 1)", "big", 2**63 - 1),
    Trap("Subtract", "SUM(big - 1)", "SUM(big - 1)", "big", -(2**63)),
    Trap("Multiply", "SUM(big * 2)", "SUM(big * 2)", "big", 2**62),
    Trap("Multiply by -1", "SUM(-big)", "SUM(-big)", "big", -(2**63)),
    Trap("Multiply decimals", "SUM(fine * 2)", "SUM(fine * 2.00)", "fine", "9" * 20),
    Trap("Sum", "SUM(huge)", "CAST(SUM(huge) AS BIGINT)", "huge", 2**127 - 2**64),
    Trap("Sum of floats", "SUM(double)", "CAST(SUM(double) AS BIGINT)", "double", 1e300),
    Trap("Sum and NaN", "SUM(single)", "CAST(SUM(single) AS BIGINT)", "single", float("nan")),
    Trap("Mean", "AVG(huge)", "CAST(AVG(huge) AS BIGINT)", "huge", 2**127 - 2**64),
    Trap("Variance", "VARIANCE(double)", "CAST(VARIANCE(double) AS BIGINT)", "double", 1.7e308),
    Trap(
        "Deviation", "STDDEV(double)", "CAST(STDDEV(double) AS BIGINT)", "double", float("inf")
    ),
    Trap("Quantile", "MEDIAN(double)", "MEDIAN(CAST(double AS INT))", "double", float("nan")),
    Trap("Least", "MIN(double)", "CAST(MIN(double) AS INT)", "double", float("-inf")),
    Trap("Greatest", "MAX(double)", "CAST(MAX(double) AS INT)", "double", float("inf")),
    Trap("CountValues", "COUNT(label)", "COUNT(CAST(label AS INT))", "label", "SECRET-hiv+"),
    Trap("CountRows", "COUNT(*)", "SUM(CAST(label AS INT))", "label", "SECRET-hiv+"),
    Trap("CountUnits", "COUNT(DISTINCT person)", "SUM(label::INT)", "label", "SECRET-hiv+"),
    Trap(
        "Compare",
        "COUNT(*) FROM specials WHERE label = '12'",
        "COUNT(*) FROM specials WHERE label = 12",
        "label",
        "x",
    ),
    Trap(
        "OneOf",
        "COUNT(*) FROM specials WHERE label IN ('12')",
        "COUNT(*) FROM specials WHERE label IN (12)",
        "label",
        "x",
    ),
    Trap(
        "Compare decimals",
        "COUNT(*) FROM specials WHERE fine > 0.000000000000000001",
        "COUNT(*) FROM specials WHERE fine > 0.00000000000000000000000000000000001",
        "fine",
        "9" * 20,
    ),
    Trap(
        "Not, And, Or",
        "COUNT(*) FROM specials WHERE NOT (ubig < 9 AND big > 3 OR flag)",
        "COUNT(*) FROM specials WHERE NOT (CAST(ubig - 7 AS UTINYINT) * 2 < 9)",
        "ubig",
        0,
    ),
    Trap(
        "IsNull",
        "COUNT(*) FROM specials WHERE double IS NULL",
        "COUNT(*) FROM specials WHERE CAST(double AS INT) IS NULL",
        "double",
        float("inf"),
    ),
    Trap(
        "Case",
        "SUM(CASE WHEN big > 3 THEN big ELSE 0 END)",
        "SUM(CASE WHEN big > 3 THEN big * 4 ELSE 0 END)",
        "big",
        2**62,
    ),
    Trap(
        "Bin",
        "COUNT(*) FROM specials GROUP BY FLOOR(double / 10) * 10",
        "COUNT(*) FROM specials GROUP BY CAST(FLOOR(double / 10) AS INT) * 10",
        "double",
        1e300,
    ),
    Trap(
        "PerUnit of sums",
        "AVG(t) FROM (SELECT person, SUM(huge) AS t FROM specials GROUP BY person)",
        "AVG(t) FROM (SELECT person, SUM(huge)::BIGINT AS t FROM specials GROUP BY person)",
        "huge",
        2**127 - 2**64,
    ),
    Trap(
        "PerUnit of means",
        "AVG(t) FROM (SELECT person, AVG(double) AS t FROM specials GROUP BY person)",
        "AVG(t) FROM (SELECT person, AVG(double)::INT AS t FROM specials GROUP BY person)",
        "double",
        float("inf"),
    ),
    Trap(
        "PerUnit of counts",
        "SUM(n) FROM (SELECT person, label, COUNT(double) AS n FROM specials"
        " GROUP BY person, label HAVING MIN(fine) > -3)",
        "SUM(n) FROM (SELECT person, label::INT AS n FROM specials)",
        "label",
        "SECRET-hiv+",
    ),
    Trap(
        "Divide", "SUM(big) / COUNT(*)", "SUM(1 // CAST(label AS INT))", "label", "SECRET-hiv+"
    ),
)


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
        connection.execute("ALTER TABLE specials RENAME COLUMN person TO gone")
        with pytest.raises(InternalError, match=r"^The engine failed\.$"):
            engine.run(quote.bound.plan, CATALOG, b"salt")
