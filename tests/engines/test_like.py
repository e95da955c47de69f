"""LIKE is decided before the engine is asked, as the engine itself would decide it."""

from time import process_time

import clinic
import duckdb
import pytest
from clinic import TABLE, WARDS, catalog
from conftest import Bar
from hypothesis import given
from hypothesis import strategies as st
from pace import questions

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Keys, Kind, Schema
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.print.statement import question
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.patterns import LONGEST_PATTERN, MOST_MATCHES, MOST_WILDCARDS, matching
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 3))
ODD = "ab%_\\\né\u0301😀'"
CONNECTION = duckdb.connect()
SLOWEST = 500
"""Plain questions that could be read in the time of one question."""


@given(st.text(ODD, max_size=8), st.lists(st.text(ODD, max_size=8), max_size=8))
def test_a_pattern_matches_what_it_matches_in_duckdb(pattern: str, texts: list[str]) -> None:
    found = CONNECTION.execute(
        "SELECT t FROM UNNEST(?::TEXT[]) AS u(t) WHERE t LIKE ?", [texts, pattern]
    )
    assert sorted(matching(pattern, texts)) == sorted(text for (text,) in found.fetchall())


def test_a_backslash_is_a_character() -> None:
    """Not an escape, as PostgreSQL would have it."""
    assert matching("a\\%", ["a%", "a\\b", "a"]) == ("a\\b",)


def counted(engine: Engine, condition: str) -> int:
    plan = bound(parse(f"SELECT COUNT(*) FROM visits WHERE {condition}", CLINIC), CLINIC).plan  # noqa: S608
    return int(unseal(engine.run(plan, CLINIC, b"salt").tallies[0])[0])


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("ward LIKE 'n%'", 1),
        ("ward NOT LIKE 'n%'", 4),
        ("NOT (ward LIKE 'n%')", 4),
        ("ward LIKE '%'", 4),
        ("ward LIKE ''", 1),
        ("ward LIKE '__''_'", 1),
        ("ward LIKE 'nothing'", 0),
        ("ward NOT LIKE 'nothing'", 5),
        ("ward LIKE 'n%' OR TRUE", 6),
    ],
)
def test_null_is_neither_like_nor_unlike(condition: str, rows: int) -> None:
    """Four declared wards, one that is not declared and so like nothing, and NULL."""
    wards = [*WARDS, "nowhere", None]
    there: list[Row] = [
        dict.fromkeys(clinic.TYPES) | {"person": f"p{place}", "ward": ward}
        for place, ward in enumerate(wards)
    ]
    engines: list[Engine] = [DuckDB(clinic.database(there)), Reference({TABLE: there})]
    assert [counted(engine, condition) for engine in engines] == [rows, rows]


def test_no_pattern_reaches_the_engine() -> None:
    text = "SELECT COUNT(*) FROM visits WHERE ward LIKE 'n_r%' OR ward NOT LIKE 'zz_%'"
    printed = question(bound(parse(text, CLINIC), CLINIC).plan, CLINIC, b"", DUCKDB)
    assert "LIKE" not in printed
    assert "n_r%" not in printed
    assert "zz_" not in printed
    assert "'north'" in printed


@pytest.mark.parametrize("column", ["doctor", "person", "age", "day", "smoker"])
def test_a_column_without_declared_keys_is_told_what_to_write(column: str) -> None:
    plan = parse(f"SELECT COUNT(*) FROM visits WHERE {column} LIKE 'a'", CLINIC)  # noqa: S608
    with pytest.raises(
        InvalidValue, match=f"'visits.{column}' has none; list the values with IN"
    ):
        bound(plan, CLINIC)


def many(keys: int) -> Catalog:
    schema = Schema(
        (
            Column("person", Kind.TEXT),
            Column("code", Kind.TEXT, keys=Keys(tuple(f"aaaaaa{n:06}" for n in range(keys)))),
        )
    )
    unit, place = UnitColumn("person"), Location("here", TABLE)
    codes = Dataset("codes", "patients", schema, unit, Limits(1, 1), place, Epoch("1"))
    return Catalog(CLINIC.populations, (codes,))


def test_many_patterns_beside_many_keys_are_refused_at_once(bar: Bar) -> None:
    catalog = many(MOST_MATCHES // 10)
    slow = f"%a_{'a' * (LONGEST_PATTERN - 5)}_%"
    assert len(slow) == LONGEST_PATTERN
    asked = " OR ".join([f"code LIKE '{slow}'"] * 10)
    plan = parse(f"SELECT COUNT(*) FROM codes WHERE {asked}", catalog)  # noqa: S608
    start = process_time()
    bound(plan, catalog)
    took = questions(process_time() - start)
    name = "plain questions in the time of the most patterns beside the most keys"
    bar(name, took, f"< {SLOWEST}", took < SLOWEST)
    plan = parse(f"SELECT COUNT(*) FROM codes WHERE {asked} OR code LIKE 'a'", catalog)  # noqa: S608
    with pytest.raises(InvalidValue, match=f"and {MOST_MATCHES} are the most"):
        bound(plan, catalog)


@pytest.mark.parametrize("wildcards", ["%" * MOST_WILDCARDS, "_" * MOST_WILDCARDS, "%_%_"])
def test_a_pattern_has_few_wildcards(wildcards: str) -> None:
    asked = "SELECT COUNT(*) FROM visits WHERE ward LIKE '{}'"
    bound(parse(asked.format(wildcards), CLINIC), CLINIC)
    for more in "%_":
        plan = parse(asked.format(wildcards + "a" + more), CLINIC)
        with pytest.raises(InvalidValue, match="at most 4 wildcards"):
            bound(plan, CLINIC)


def test_a_pattern_is_short() -> None:
    asked = "SELECT SUM(CASE WHEN ward LIKE '{}' THEN 1 ELSE 0 END) FROM visits"
    bound(parse(asked.format("é" * (LONGEST_PATTERN // 2)), CLINIC), CLINIC)
    plan = parse(asked.format("é" * (LONGEST_PATTERN // 2) + "a"), CLINIC)
    with pytest.raises(InvalidValue, match=r"at most 1000 bytes long|1000 is the most"):
        bound(plan, CLINIC)
