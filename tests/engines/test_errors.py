"""No row can be told by an error: special values of every type mean what they say."""

# ruff: noqa: S608 - our own names

from functools import cache

import numpy as np
import pytest
import specials
from conftest import Bar
from specials import NUMBERS, OTHERS, PLACES, TABLE, rows

from tacit.core.catalog import Limits
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.type_check import Kind
from tacit.sql.parser import parse

CATALOG = specials.catalog(Limits(1, 2))
SALT = b"salt"
ROWS = rows()
TOTALS = ("COUNT({0})", "SUM({0})", "AVG({0})", "VARIANCE({0})", "VAR_POP({0})", "STDDEV({0})")
TREES = ("MEDIAN({0})", "QUANTILE({0}, 0.9)", "MIN({0})", "MAX({0})")
COMPUTED = (
    "SUM({0} + 1)",
    "SUM(3 - {0} * 2)",
    "SUM(CASE WHEN {0} > 3 THEN {0} ELSE -1 END)",
    "COUNT({0} * 2)",
    "SUM(CASE WHEN {0} + 1 IN (1, 2, 101) THEN 1 END)",
)
CONDITIONS = (
    "{0} > 3",
    "{0} <= -5",
    "{0} = 0",
    "{0} <> 100",
    "{0} IN (0, 1, 100)",
    "NOT {0} IN (0, -1)",
    "{0} BETWEEN -5 AND 100",
    "{0} IS NULL",
    "NOT ({0} < 4611686018427387903 OR {0} > 50)",
    "{0} + 1 < 0.5 * {0}",
    "CASE WHEN {0} IS NULL THEN 0 ELSE {0} END > 50",
)
KINDS: dict[Kind, tuple[str, ...]] = {
    Kind.INTEGER: ("{0} > 17.5",),
    Kind.DECIMAL: ("{0} > 0.000000000000000001", "{0} = 99.99", "{0} < -4611686018427387902.5"),
    Kind.FLOAT: ("{0} > 0.1", "{0} = 0.1", "{0} <> 0.5"),
    Kind.TEXT: ("{0} = ''", "{0} <> 'north'", "{0} IN ('NULL', 'it''s')", "{0} IS NULL"),
    Kind.BOOLEAN: ("{0}", "NOT {0}", "{0} = TRUE", "{0} IS NULL", "{0} OR NOT {0}"),
    Kind.DATE: ("{0} > DATE '2020-02-29'", "{0} = DATE '0001-01-01'", "{0} IS NULL"),
    Kind.TIMESTAMP: ("{0} >= DATE '2020-02-29'", "{0} = DATE '2020-02-29'", "{0} IS NULL"),
}
DATES = ("MONTH({0}) IN (2, 12)", "DAYOFWEEK({0}) = 0", "NOT DAY({0}) < 29", "QUARTER({0}) > 1")
NAMED: dict[str, tuple[str, ...]] = {
    "day": DATES,
    "until": (
        *DATES,
        "EXTRACT(YEAR FROM {0}) = 1970",
        "{0} - DATE '2000-01-01' > 0",
        "({0} - DATE '2000-01-01') IS NULL",
    ),
    "tag": tuple(
        f"{{0}} {word} '{pattern}'"
        for word in ("LIKE", "NOT LIKE")
        for pattern in ("", "%", "_", "n%h", "%''%", "_%_", "\\", "nothing", "%%a_b%")
    ),
}
"""Conditions that only some columns of a kind know."""
PARTS = ("QUARTER", "MONTH", "DAY", "DAYOFWEEK")
SPANS = ("year", "quarter", "month", "week", "day")
COLUMNS = [(name, kind) for kind, names in NUMBERS.items() for name in names]
COLUMNS += list(OTHERS.items())


def questions(name: str, kind: Kind) -> list[str]:
    """Every aggregate, and every condition, on one column."""
    numeric = kind in NUMBERS
    asked = [*TOTALS, *COMPUTED] if numeric else ["COUNT({0})"]
    lists = [", ".join(asked), *(TREES if numeric else ())]
    where = [*(CONDITIONS if numeric else ()), *KINDS[kind], *NAMED.get(name, ())]
    texts = [f"SELECT place, {part} FROM specials GROUP BY place" for part in lists]
    texts += [f"SELECT COUNT(*) FROM specials WHERE {part}" for part in where]
    texts += [
        f"SELECT CASE WHEN {part} THEN 1 ELSE 0 END AS k, COUNT(*) FROM specials GROUP BY k"
        for part in where
    ]
    if numeric:
        texts.append(f"SELECT FLOOR({name} / 7) * 7 AS k, COUNT(*) FROM specials GROUP BY k")
    if kind is Kind.DATE:
        parts = [f"{part}({name})" for part in (*PARTS, *["YEAR"] * (name == "until"))]
        texts += [f"SELECT place, SUM({part}) FROM specials GROUP BY place" for part in parts]
        keys = [*parts, *(f"DATE_TRUNC('{span}', {name})" for span in SPANS)]
        texts += [f"SELECT {key} AS k, COUNT(*) FROM specials GROUP BY k" for key in keys]
    if kind in {Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE}:
        texts.append(f"SELECT {name}, COUNT(*) FROM specials GROUP BY {name}")
    same = [other for other, theirs in COLUMNS if theirs is kind and other != name]
    texts += [f"SELECT COUNT(*) FROM specials WHERE {name} <> {other}" for other in same]
    return [text.format(name) for text in texts]


@cache
def bounded(text: str) -> BoundedPlan:
    return bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan


def asked(text: str, engine: DuckDB | Reference) -> SecretTable:
    return engine.run(bounded(text), CATALOG, SALT)


def same(one: SecretTable, other: SecretTable) -> bool:
    groups = [None if each.groups is None else unseal(each.groups) for each in (one, other)]
    pairs = zip(one.tallies, other.tallies, strict=True)
    return groups[0] == groups[1] and all(
        np.array_equal(unseal(left), unseal(right)) for left, right in pairs
    )


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return DuckDB(specials.database(ROWS))


@pytest.mark.parametrize(("name", "kind"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_special_values_mean_the_same_on_duckdb(name: str, kind: Kind, engine: DuckDB) -> None:
    reference = Reference({TABLE: ROWS})
    for text in questions(name, kind):
        assert same(asked(text, engine), asked(text, reference)), text


def test_how_much_that_is(bar: Bar) -> None:
    aggregates = sum(len(TOTALS) + len(TREES) for names in NUMBERS.values() for _ in names)
    aggregates += len(OTHERS)
    cases = PLACES * aggregates
    bar(
        "special values",
        f"{PLACES} x {len(COLUMNS)} types: {cases} cells",
        ">= 60 of each",
        True,
    )
    assert len(ROWS) == PLACES


@pytest.mark.parametrize(("name", "kind"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_a_special_row_moves_its_own_group_alone(name: str, kind: Kind) -> None:
    text = questions(name, kind)[0]
    connection = specials.database(ROWS)
    engine = DuckDB(connection)
    whole = asked(text, engine)
    for bit in range(PLACES.bit_length()):
        # half of the people leave, each time others: those who stay find what they found
        kept = np.array([not place >> bit & 1 for place in range(PLACES)])
        connection.execute("UPDATE specials SET person = 'p' || place")
        connection.execute("UPDATE specials SET person = NULL WHERE (place >> ?) & 1", [bit])
        for one, other in zip(whole.tallies, asked(text, engine).tallies, strict=True):
            assert np.array_equal(unseal(one) * kept, unseal(other))


ENDLESS = ("infinity", "-infinity")


@pytest.mark.parametrize("name", ["day", "moment"])
def test_a_day_without_end_is_a_day(name: str) -> None:
    connection = specials.database(ROWS)
    for place, value in enumerate(ENDLESS):
        connection.execute(f"UPDATE specials SET {name} = ? WHERE place = ?", [value, place])
    engine = DuckDB(connection)
    late = f"{name} > DATE '2020-01-01'"
    text = f"SELECT place, COUNT({name}) FROM specials WHERE {late} GROUP BY place"
    assert unseal(asked(text, engine).tallies[0])[:2].tolist() == [1, 0]
    if name == "day":
        groups = asked("SELECT day, COUNT(*) FROM specials GROUP BY day", engine).groups
        assert groups is not None
        assert {("infinity",), ("-infinity",)} <= set(unseal(groups))
