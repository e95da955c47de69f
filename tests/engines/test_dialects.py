"""Statements for engines that are not run yet stay as they were when somebody read them."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import engines_over
import postgres_over
import pytest
from engines_over import ENGINES
from sqlglot import exp, parse_one

from tacit.core.catalog import Catalog, Limits, Location
from tacit.engines.print import sql_dialects as dialects
from tacit.engines.print.postgres_dialect import PostgresDialect
from tacit.engines.print.relation import columns
from tacit.engines.print.sql_dialects import PRINTED, BigQueryDialect, DuckDBDialect
from tacit.engines.print.statement import question
from tacit.engines.sql_engine import statement
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse
from tacit.testing.engine_contract import EngineContract
from tacit.testing.engine_tables import catalog


@pytest.fixture(autouse=True)
def printed_anew() -> Iterator[None]:
    """Statements that a changed dialect printed are not kept for others."""
    yield
    statement.cache_clear()


GOLDEN = Path(__file__).parent / "golden"
DIALECTS = {each.name: each for each in PRINTED}
REWRITE = bool(os.environ.get("TACIT_GOLDEN"))
SALT = b"salt"
DECLARED = catalog(Limits(max_groups=2, max_rows=3))
ASKED = {
    "counts": "SELECT COUNT(*), COUNT(DISTINCT person), COUNT(pay) FROM visits",
    "integers": "SELECT ward, SUM(age * 3 - 1) FROM visits WHERE age > 9.5 GROUP BY ward",
    "floats": "SELECT SUM(pay) FROM visits WHERE pay > 0.1 OR pay IN (0, 0.3)",
    "decimals": "SELECT SUM(cost) FROM visits WHERE cost > -10.5 AND cost <> 99.99",
    "kept_rows": "SELECT ward, smoker, AVG(pay), STDDEV(age) FROM visits GROUP BY ward, smoker",
    "quantile_tree": "SELECT doctor, MEDIAN(age), MAX(age) FROM visits GROUP BY doctor",
    "days": "SELECT AVG(until - DATE '2020-02-29'), SUM(EXTRACT(DOW FROM day)) FROM visits"
    " WHERE seen < DATE '2020-02-29' OR YEAR(until) = 2020",
    "weeks": "SELECT DATE_TRUNC('week', day) AS k, COUNT(*) FROM visits GROUP BY k",
    "quarters": "SELECT DATE_TRUNC('quarter', until) AS k, COUNT(*) FROM visits GROUP BY k",
    "patterns": "SELECT COUNT(*) FROM visits WHERE ward LIKE 'a\\%' OR ward NOT LIKE '%''%'",
    "hostile_text": "SELECT COUNT(*) FROM visits WHERE doctor IN ('\\', '\\''', '😀', '`')",
    "bins": "SELECT FLOOR(pay / 25) * 25 AS k, COUNT(*) FROM visits GROUP BY k",
    "linked_tables": "SELECT ward, SUM(value) FROM labs JOIN visits ON visit = visits.id"
    " GROUP BY ward",
    "public_table": "SELECT region, COUNT(beds) FROM visits v LEFT JOIN places p"
    " ON v.ward = p.ward GROUP BY region",
    "each_person": "SELECT AVG(m) FROM (SELECT person, AVG(pay) AS m, SUM(cost) AS s"
    " FROM visits GROUP BY person) WHERE s > 3",
    "another_row": "SELECT COUNT(*) FROM visits v WHERE doctor NOT IN (SELECT w.doctor"
    " FROM visits w WHERE w.person = v.person AND w.age > 30)",
}
RELATION = re.compile(r', (?=["`]?tacit_\w+["`]? AS \(SELECT)')


def golden(name: str, dialect: str, declared: Catalog = DECLARED) -> str:
    """The statement, a relation a line, below the words that nobody should overlook."""
    plan = bound(canonical(parse(ASKED[name], declared)).plan, declared).plan
    text = RELATION.sub(",\n", question(plan, declared, SALT, DIALECTS[dialect]))
    return f"-- not yet run\n-- {ASKED[name]}\n{text}\n"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ASKED)
def test_a_statement_is_the_one_that_was_read(name: str, dialect: str) -> None:
    path = GOLDEN / dialect / f"{name}.sql"
    if REWRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(golden(name, dialect))
    assert path.read_text() == golden(name, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_statement_is_left_over(dialect: str) -> None:
    assert {path.stem for path in (GOLDEN / dialect).iterdir()} == set(ASKED)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_word_shows_in_a_statement(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: what sqlglot prints by itself; each word that is left out is missed."""
    words = DIALECTS[dialect].rewrites
    for missing in words:
        others = tuple(word for word in words if word is not missing)
        monkeypatch.setattr(type(DIALECTS[dialect]), "rewrites", others)
        assert any(
            (GOLDEN / dialect / f"{name}.sql").read_text() != golden(name, dialect)
            for name in ASKED
        )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_statement_can_be_read_back_with_every_text_as_it_was(dialect: str) -> None:
    for name in ASKED:
        tree = parse_one((GOLDEN / dialect / f"{name}.sql").read_text(), dialect=dialect)
        texts = {node.name for node in tree.find_all(exp.Literal) if node.is_string}
        if name == "hostile_text":
            assert {"\\", "\\'", "😀", "`"} <= texts


def test_every_name_is_quoted_where_others_are_folded() -> None:
    for name in ASKED:
        tree = parse_one(golden(name, "snowflake"), dialect="snowflake")
        assert all(node.quoted for node in tree.find_all(exp.Identifier))
    lie = parse_one(golden("counts", "trino"), dialect="trino")
    assert not all(node.quoted for node in lie.find_all(exp.Identifier))


IN_POSTGRESQL = (
    dialects.wide_sums("DECIMAL(38, 0)"),
    dialects.exact_division,
    dialects.exact_constants,
    dialects.floats_by_text,
)


def test_the_words_of_others_mean_the_same_in_postgresql(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PostgresDialect, "rewrites", IN_POSTGRESQL)
    statement.cache_clear()
    _, owner = postgres_over._server()
    owner.execute("CREATE DOMAIN bigdecimal AS numeric")
    assert list(EngineContract(ENGINES["postgresql"]).unequal()) == []
    owner.execute("DROP DOMAIN bigdecimal")


@pytest.mark.parametrize(("days", "wrong"), [("days", False), ("days - 1", True)])
def test_a_day_less_some_days_means_the_same_in_duckdb(
    *, days: str, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trino's function is made there; one that is a day off is found."""
    monkeypatch.setattr(DuckDBDialect, "rewrites", (dialects.days_before,))
    statement.cache_clear()
    connection = engines_over._duckdb().connection
    connection.execute(f"CREATE MACRO date_add(unit, days, day) AS day + {days}")
    found = any(EngineContract(ENGINES["duckdb"]).unequal())
    connection.execute("DROP MACRO date_add")
    assert found is wrong


def rounded_division(query: exp.Expr) -> None:
    """A lie: a quotient, whatever its type makes of the rest."""
    for node in list(query.find_all(exp.IntDiv)):
        node.replace(exp.Div(this=node.this, expression=node.expression, typed=True))


def test_a_division_that_rounds_is_found_on_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = (dialects.wide_sums("DECIMAL(38, 0)"), rounded_division)
    monkeypatch.setattr(PostgresDialect, "rewrites", lie)
    statement.cache_clear()
    assert any("AVG(m)" in wrong for wrong in EngineContract(ENGINES["postgresql"]).unequal())


@pytest.mark.parametrize(
    ("parts", "printed"),
    [
        (("t",), "`t`"),
        (("set", "t"), "`set`.`t`"),
        (("project", "set", "t"), "`project`.`set`.`t`"),
    ],
)
def test_a_table_is_named_by_all_its_parts(parts: tuple[str, ...], printed: str) -> None:
    visits, *others = DECLARED.datasets
    moved = replace(visits, location=Location("here", parts))
    declared = replace(DECLARED, datasets=(moved, *others))
    assert f" FROM {printed} AS `visits` " in columns("visits", declared, BigQueryDialect())
