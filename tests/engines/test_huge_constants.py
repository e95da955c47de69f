"""Constants of every size are refused, or mean the same on every engine, for any rows.

An engine can read a constant only when a row reaches it. A constant that it cannot read, behind
a CASE, would then fail for some rows and not for others, and the failure would tell a row.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from uuid import uuid4

import psycopg
import pytest
from clinic import TABLE, TYPES, catalog, database
from conftest import Bar
from postgres_cluster import PostgresCluster

from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.postgres import Postgres
from tacit.engines.reference import Reference, Row
from tacit.errors import TacitError
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

CONSTANTS = (
    *("2147483648", "4611686018427387903", "4611686018427387904", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "1e30"),
    *("1e38", "1e39", "1e308", "1e309", "1e400", "1e-9", "1e-18", "1e-30", "1e-320", "1e-400"),
    *(
        "0.1234567890123456789012345678901",
        "123456789012345678.123456789012345678",
        "0",
        "-0.0",
    ),
)
FORMS = (
    "SELECT COUNT(*) FROM visits WHERE {x} > {c}",
    "SELECT COUNT(*) FROM visits WHERE CASE WHEN smoker THEN {x} < {c} END",
    "SELECT COUNT(*) FROM visits WHERE CASE WHEN smoker THEN {x} ELSE {c} END < 3",
    "SELECT COUNT(*) FROM visits WHERE CASE WHEN smoker THEN {x} * 0 + {c} ELSE 1 END > 0",
    "SELECT SUM(CASE WHEN smoker THEN {c} ELSE {x} END) FROM visits",
    "SELECT SUM(CASE WHEN {x} IN ({c}, 1) THEN 1 END) FROM visits",
    "SELECT SUM({x} * {c}) FROM visits",
    "SELECT SUM({x} / {c}) FROM visits",
    "SELECT SUM(({x} + {c}) * 0) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE {x} * 0 < {c} * ({x} - {x})",
    "SELECT SUM(FLOOR({x} / {c})) FROM visits",
    "SELECT SUM(COALESCE({x}, {c})), SUM(NULLIF({x}, {c})) FROM visits",
    "SELECT SUM(GREATEST({x}, {c})), SUM(LEAST({x}, {c})) FROM visits",
    "SELECT SUM(ROUND({x} * {c}, 2)) FROM visits",
    "SELECT SUM(SQRT({x} + {c})), SUM(LN({x} * {c})) FROM visits",
    "SELECT SUM(EXP({x} * {c})), SUM(POWER({x}, {c})) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE until + {c} > DATE '2020-01-01'",
    "SELECT SUM(CASE WHEN until - DATE '2020-01-01' = {c} THEN 1 END) FROM visits",
    "SELECT AVG(n) FROM (SELECT person, SUM({x}) * {c} AS n FROM visits GROUP BY person)",
    "SELECT COUNT(DISTINCT CASE WHEN smoker THEN {x} ELSE {c} END) FROM visits",
)
COLUMNS = ("age", "zero", "cost", "pay")
ROWS: list[Row] = [
    {
        "person": f"p{place}",
        "age": age,
        "zero": age,
        "cost": cost,
        "pay": pay,
        "smoker": place % 2 == 0,
        "until": day,
        "ward": "north",
    }
    for place, (age, cost, pay, day) in enumerate(
        [
            (0, Decimal("0.01"), 0.0, date(2020, 1, 1)),
            (120, Decimal("99.99"), float("inf"), date.max),
            (2**63 - 1, Decimal("9999999999999999.99"), 1e308, date.min),
            (-(2**63), Decimal("-9999999999999999.99"), float("nan"), date(2021, 1, 1)),
            (None, None, None, None),
            (7, Decimal(1), 5e-324, date(2020, 2, 29)),
        ]
    )
]
SALT = b"salt"


def declared() -> Catalog:
    """The clinic, with a column that can only be 0."""
    made = catalog(Limits(2, 3))
    [visits] = made.datasets
    columns = (*visits.schema.columns, Column("zero", Kind.INTEGER, bounds=Bounds.of(0, 0)))
    return replace(made, datasets=(replace(visits, schema=Schema(columns)),))


CATALOG = declared()
STATEMENTS = [
    form.format(x=column, c=constant)
    for form in FORMS
    for constant in CONSTANTS
    for column in (COLUMNS if "{x}" in form else COLUMNS[:1])
]


def on_duckdb(rows: list[Row]) -> Engine:
    connection = database([])
    connection.execute("ALTER TABLE visits ADD COLUMN zero BIGINT")
    names = [*TYPES, "zero"]
    marks = ", ".join("?" for _ in names)
    for row in rows:
        connection.execute(
            f"INSERT INTO visits VALUES ({marks})",  # noqa: S608 - our own names
            [row.get(name) for name in names],
        )
    return DuckDB(connection)


@pytest.fixture(scope="module")
def on_postgres(cluster: PostgresCluster) -> list[Engine]:
    """PostgreSQL with the rows, and with none."""
    kinds = TYPES | {"zero": "BIGINT"}
    engines: list[Engine] = []
    for rows in (ROWS, []):
        address = cluster.database(f"tacit_{uuid4().hex}")
        columns = ", ".join(
            f'"{name}" {kind.replace("DOUBLE", "DOUBLE PRECISION")}'
            for name, kind in kinds.items()
        )
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute(f"CREATE TABLE visits ({columns})".encode())
            marks = ", ".join("%s" for _ in kinds)
            for row in rows:
                owner.execute(
                    f"INSERT INTO visits VALUES ({marks})".encode(),  # noqa: S608
                    [row.get(name) for name in kinds],
                )
        engines.append(Postgres(address))
    return engines


def understood() -> Iterator[tuple[str, BoundedPlan]]:
    for text in STATEMENTS:
        try:
            plan = bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan
        except TacitError:
            continue
        yield text, plan


def tallies(engine: Engine, plan: BoundedPlan) -> list[list[int]]:
    return [unseal(each).tolist() for each in engine.run(plan, CATALOG, SALT).tallies]


def unlike(plan: BoundedPlan, engines: list[Engine], *, exactly: bool) -> str:
    """What an engine does otherwise than the reference, with the rows and without."""
    for engine, rows in zip(engines, (ROWS, []), strict=True):
        wanted = tallies(Reference({TABLE: rows}), plan)
        try:
            found = tallies(engine, plan)
        except Exception as error:  # noqa: BLE001 - whatever it is, it tells of rows
            return f"fails with {len(rows)} rows: {error!r}"
        if found != wanted and exactly:
            return f"{found} with {len(rows)} rows, and {wanted} is right"
    return ""


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_constants_of_every_size_mean_the_same(
    name: str, request: pytest.FixtureRequest, bar: Bar
) -> None:
    engines = [on_duckdb(ROWS), on_duckdb([])]
    if name == "postgres":
        engines = request.getfixturevalue("on_postgres")
    asked, faults = 0, []
    for text, plan in understood():
        asked += 1
        # engines may differ by a step in a function that is computed with floats
        curves = any(word in text for word in ("SQRT", "LN(", "EXP", "POWER"))
        fault = unlike(plan, engines, exactly=not curves)
        if fault:
            faults.append(f"{text}: {fault}")
        if len(faults) == 3:
            break
    bar(f"huge constants on {name}: asked", asked, ">= 350", asked >= 350)
    bar(f"huge constants on {name}: unlike the reference", len(faults), "0", not faults)
    assert not faults, faults
