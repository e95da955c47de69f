"""F-P9: a public table must not turn one person's rows into seconds.

In version 0.1.0 a join to a public table of 250,000 rows a ward, with a condition of 99 terms,
told by one answer's time whether a person is there (AUC 1.00). Such a table is refused now
when it is declared, such a join when it is asked, and such a condition as well; and whatever
the table holds, a statement makes at most `fan_out` rows of one.
"""

from pathlib import Path

import duckdb
import pytest
from conftest import Bar

from tacit.core.catalog import (
    Catalog,
    Dataset,
    Epoch,
    Limits,
    Location,
    PublicTable,
    UnitColumn,
)
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.engines.duckdb import DuckDB
from tacit.engines.print import relation
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.session.project import apply_project, open_project
from tacit.sql.parser import parse

WIDE = 250_000
"""Rows of the public table for each ward."""

SETTINGS = """
[engines.w]
kind = "duckdb"
path = "d.duckdb"
[populations.patients]
unit = "patient"
owners = ["olga"]
budget = {epsilon = 10, delta = "1e-6"}
[datasets.visits]
population = "patients"
engine = "w"
epoch = "1"
unit = "patient"
max_groups = 1
max_rows = 5
[datasets.visits.columns]
patient = "integer"
age = {kind = "integer", bounds = [0, 120], provenance = "public"}
cost = {kind = "integer", bounds = [0, 20000], provenance = "public"}
ward = {kind = "text", keys = ["north", "south"], provenance = "public"}
[public.big]
engine = "w"
epoch = "1"
columns = {ward = "text", x = {kind = "integer", bounds = [0, 2000000], provenance = "public"}}
"""


def either(terms: list[str]) -> str:
    """A balanced tree of conditions, none of which is ever true."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({either(terms[:half])} OR {either(terms[half:])})"


def asked(terms: int) -> str:
    never = either([f"(age * big.x + cost * {k} = -{k})" for k in range(1, terms + 1)])
    return (
        "SELECT COUNT(*) AS n FROM visits JOIN big ON visits.ward = big.ward "  # noqa: S608
        f"WHERE patient = 777 AND NOT ({never})"
    )


def database(place: str, wide: int) -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(place)
    made.execute(
        "CREATE TABLE visits AS SELECT i % 20 + 760 AS patient, 20 + (i * 7) % 80 AS age, "
        "(i * 37) % 20000 AS cost, CASE WHEN i % 3 = 0 THEN 'north' ELSE 'south' END AS ward "
        "FROM range(100) r(i)"
    )
    made.execute(
        "CREATE TABLE big AS SELECT CASE WHEN i % 2 = 0 THEN 'north' "  # noqa: S608
        "ELSE 'south' END AS ward, "
        f"i AS x FROM range({2 * wide}) r(i)"
    )
    return made


def refusal(file: Path, text: str) -> str:
    """What an analyst, or an owner before them, is told."""
    try:
        apply_project(file, by="olga")
        with open_project(file, principal="ann") as session:
            session.sql(text).ask(epsilon="0.01")
    except InvalidValue as error:
        return str(error)
    return ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    database(str(tmp_path / "d.duckdb"), WIDE).close()
    made = tmp_path / "tacit.toml"
    made.write_text(SETTINGS)
    return made


def test_the_question_of_the_attack_is_refused(file: Path, bar: Bar) -> None:
    """As it was in 0.1.0; its condition without the join; and with the join declared."""
    told = [refusal(file, asked(99))]
    alone = either([f"age + {k} = -{k}" for k in range(99)])
    told.append(refusal(file, f"SELECT COUNT(*) AS n FROM visits WHERE {alone}"))  # noqa: S608
    file.write_text(SETTINGS + 'lookup = ["ward"]\nfan_out = 16\n')
    told.append(refusal(file, asked(10)))
    wanted = ["its declared lookup columns are: none", "64 is the most", "same value in 250000"]
    refused = sum(text in found for text, found in zip(wanted, told, strict=True))
    bar("edge fan_out: ways of the attack that are refused", refused, "3 of 3", refused == 3)


def catalog(fan_out: int) -> Catalog:
    columns = (
        Column("patient", Kind.INTEGER),
        Column("age", Kind.INTEGER, bounds=Bounds.of(0, 120)),
        Column("cost", Kind.INTEGER, bounds=Bounds.of(0, 20000)),
        Column("ward", Kind.TEXT),
    )
    big = Schema((columns[-1], Column("x", Kind.INTEGER, bounds=Bounds.of(0, 2 * 10**6))))
    place = Location("w", ("visits",))
    limits = Limits(1, 5)
    return Catalog(
        (Population("patients", PrivacyUnit("patient")),),
        (
            Dataset(
                *("visits", "patients", Schema(columns), UnitColumn("patient")),
                *(limits, place, Epoch("1")),
            ),
        ),
        (PublicTable("big", big, Location("w", ("big",)), Epoch("1"), ("ward",), fan_out),),
    )


def joined_rows(fan_out: int, wide: int) -> int:
    """Rows that the join of the printed statement makes of one person's five."""
    declared = catalog(fan_out)
    source = bound(parse(asked(10), declared), declared).plan.source
    rows = relation.join_tables(source, declared, DUCKDB).sql("duckdb")
    with database(":memory:", wide) as found:
        found.execute("DELETE FROM visits WHERE patient <> 777")
        [(count,)] = found.execute(f"SELECT COUNT(*) FROM ({rows})").fetchall()  # noqa: S608
    return int(count)


def test_a_statement_multiplies_by_the_declared_number_at_most(
    bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the table has grown since it was looked at."""
    made = joined_rows(fan_out=16, wide=1000)
    bar("edge fan_out: rows of a join for a person of 5 rows", made, "at most 80", made <= 80)
    assert joined_rows(fan_out=1, wide=1000) == 5
    assert joined_rows(fan_out=16, wide=3) == 15
    # the lie: the table as it is
    monkeypatch.setattr(
        relation,
        "_joined_table",
        lambda each, declared, _: relation._table(each.dataset, declared),
    )
    assert joined_rows(fan_out=16, wide=1000) == 5000


def test_the_table_is_looked_at_when_it_is_opened() -> None:
    with database(":memory:", 3) as found:
        engine = DuckDB(found)
        engine.check(catalog(fan_out=3))
        with pytest.raises(
            InvalidValue, match=r"in 3 rows.*declare \[public\.big\] fan_out = 3"
        ):
            engine.check(catalog(fan_out=2))


def test_a_fan_out_has_a_most() -> None:
    with pytest.raises(InvalidValue, match="from 1 to 16"):
        catalog(fan_out=17)


def test_conditions_lists_and_texts_have_a_most() -> None:
    declared = catalog(fan_out=16)
    count = "SELECT COUNT(*) AS n FROM visits WHERE"

    def told(condition: str) -> str:
        try:
            bound(parse(f"{count} {condition}", declared), declared)
        except InvalidValue as error:
            return str(error)
        return ""

    assert not told(either([f"age = {k}" for k in range(64)]))
    assert "64 is the most" in told(either([f"age = {k}" for k in range(65)]))
    assert "64 is the most" in told(f"age{' + 1' * 64} > 3")
    numbers = ", ".join(map(str, range(1001)))
    assert not told(f"age IN ({numbers.removesuffix(', 1000')})")
    assert "1000 is the most" in told(f"age IN ({numbers})")
    assert not told(f"ward = '{'x' * 1000}'")
    assert "1000 is the most" in told(f"ward = '{'x' * 1001}'")
    assert "1000 is the most" in told(f"ward IN ('{'ü' * 501}')")
