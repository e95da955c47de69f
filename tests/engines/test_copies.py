"""An ordered copy gives the integers of its table, and is believed only in order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import clinic
import duckdb
import engines_over
import postgres_over
import psycopg
import pytest
import spark_over
from conftest import Bar
from engines_over import ENGINES, reference
from neighbouring import SALT, opened
from pyspark.errors import AnalysisException, NumberFormatException
from test_written import crowd
from written import CLINIC

from tacit.core.catalog import Catalog, Epoch, Limits
from tacit.core.domain import Column, Kind, Schema
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import wrap_result
from tacit.engines.postgres import Postgres
from tacit.engines.prepare import Preparation
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.ranking import copy_to_read, row_by_row
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.engines.print.statement import question
from tacit.engines.reference import Tables
from tacit.engines.spark import Spark
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.sql.parser import parse

TEXTS = [text for group in CLINIC.values() for text in group][::3]
LIMITS = (Limits(3, 1, 3), Limits(9, 2, 1), Limits(2, 2, 6))
"""Row by row with rows before, row by row alone, and grouped after the bound."""

Run = Callable[[str], Sequence[Sequence[Any]]]
DIALECTS = {"duckdb": DUCKDB, "postgresql": POSTGRES, "spark": SPARK}
LONGEST = 10**6
"""Bytes of the longest text here, which a copy of the usual length would not hold."""

STREAMED = ("duckdb", "postgresql")

FAILED_BY_NAME = {
    "duckdb": duckdb.CatalogException(),
    "postgresql": psycopg.errors.UndefinedTable(),
    "spark": AnalysisException("a name"),
}
FAILED_BY_ROW = {
    "duckdb": duckdb.ConversionException(),
    "postgresql": psycopg.errors.InvalidTextRepresentation(),
    "spark": NumberFormatException("a row"),
}
"""What drivers raise where a statement names what is not there, and where a value fails."""


def owner(name: str) -> Run:
    """Runs a statement as whoever owns the tables."""
    if name == "spark":
        session = spark_over._spark()._session
        return lambda text: session.sql(text).collect()
    if name == "duckdb":
        connection = engines_over._duckdb().connection
        return lambda text: connection.execute(text).fetchall()

    def run(text: str) -> Sequence[Sequence[Any]]:
        cursor = postgres_over._server()[1].execute(text.encode())
        return cursor.fetchall() if cursor.description else ()

    return run


def visits(limits: Limits) -> tuple[Catalog, Tables]:
    """The clinic, whose visits are numbered."""
    catalog = clinic.catalog(limits)
    [dataset] = catalog.datasets
    schema = Schema((*dataset.schema.columns, Column("visit", Kind.INTEGER)))
    rows = crowd(catalog)[dataset.location.table]
    numbered = [{**row, "visit": 7 * number} for number, row in enumerate(rows)]
    dataset = replace(dataset, schema=schema, row_key="visit")
    return replace(catalog, datasets=(dataset,)), {dataset.location.table: numbered}


def prepared(name: str, catalog: Catalog) -> Catalog:
    """The catalogue with a copy, which is made."""
    [dataset] = catalog.datasets
    where = {"duckdb": "main", "postgresql": "public", "spark": "default"}[name]
    parts = 1 if name == "spark" else 2
    making = Preparation(dataset, (where,), DIALECTS[name], parts, text_bytes=LONGEST)
    making.drop(owner(name))  # of the test before
    assert [step.made for step in making.steps(SALT, owner(name))] == list(range(parts + 1))
    return replace(catalog, datasets=(making.prepared,))


def questions(catalog: Catalog) -> list[BoundedPlan]:
    """The written questions that read a copy."""
    plans = [bound(parse(text, catalog), catalog).plan for text in TEXTS]
    return [plan for plan in plans if copy_to_read(plan, catalog) is not None]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_copy_gives_the_integers_of_the_table(name: str, limits: Limits, bar: Bar) -> None:
    catalog, tables = visits(limits)
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, tables)
    catalog = prepared(name, catalog)
    ENGINES[name](catalog, {clinic.TABLE: []})  # so that only the copy has rows
    rarer, wanted = (7, 7) if name == "spark" else (1, 40)
    plans = questions(catalog)[::rarer]
    by_row = sum(row_by_row(plan, catalog) for plan in plans)
    assert (by_row > 0) == (limits.max_rows_in_all != 6)
    for plan in plans:
        answers = [opened(each.run(plan, catalog, SALT)) for each in (engine, meaning)]
        assert answers[0] == answers[1], plan
    shown = f"{len(plans)} ({by_row} row by row)"
    bar(
        f"plans with equal integers on a copy, {name}, {limits}",
        shown,
        f">= {wanted}",
        len(plans) >= wanted,
    )


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_copy_out_of_order_is_not_believed(name: str, limits: Limits) -> None:
    catalog, tables = visits(limits)
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, tables)
    catalog = prepared(name, catalog)
    copy = catalog.datasets[0].copy
    assert copy is not None
    run = owner(name)
    for schema, table in copy.tables:
        run("DROP TABLE IF EXISTS other")
        run(f"CREATE TABLE other AS SELECT * FROM {schema}.{table}")  # noqa: S608
        run(f"DROP TABLE {schema}.{table}")
        rows = "SELECT * FROM other ORDER BY tacit_place DESC, visit"
        run(f"CREATE TABLE {schema}.{table} AS {rows}")
    believed = 0
    for plan in questions(catalog)[::2]:
        true = opened(meaning.run(plan, catalog, SALT))
        assert opened(engine.run(plan, catalog, SALT)) == true, plan
        found = run(question(plan, catalog, SALT, DIALECTS[name]))
        rows = [row[:-1] for row in found if None not in row[: len(plan.keys)]]
        believed += opened(wrap_result(plan, rows)) != true
    # few people here have more than six rows
    assert believed or limits.max_rows_in_all == 6, "whoever believes the copy is wrong"


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_copy_to_which_rows_were_added_is_not_believed(name: str, limits: Limits) -> None:
    """Rows that share a place would count beyond the limit."""
    catalog, tables = visits(limits)
    twice = {table: [*rows, *rows] for table, rows in tables.items()}
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, twice)
    catalog = prepared(name, catalog)
    copy = catalog.datasets[0].copy
    assert copy is not None
    run = owner(name)
    for schema, table in copy.tables:
        place = f"{schema}.{table}"
        run(f"INSERT INTO {place} SELECT * FROM {place}")  # noqa: S608
    believed = 0
    for plan in questions(catalog)[::4]:
        true = opened(meaning.run(plan, catalog, SALT))
        assert opened(engine.run(plan, catalog, SALT)) == true, plan
        found = run(question(plan, catalog, SALT, DIALECTS[name]))
        rows = [row[:-1] for row in found if None not in row[: len(plan.keys)]]
        believed += opened(wrap_result(plan, rows)) != true
    assert believed, "whoever believes the copy is wrong"


def test_postgresql_reads_a_copy_by_one_worker_and_from_its_start() -> None:
    catalog, tables = visits(LIMITS[0])
    engine = ENGINES["postgresql"](catalog, tables)
    assert isinstance(engine, Postgres)
    catalog = prepared("postgresql", catalog)
    text = question(questions(catalog)[0], catalog, SALT, POSTGRES)
    run = owner("postgresql")
    eager = ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size")
    for setting in eager:
        run(f"SET {setting} = 0")
    assert "Gather" in str(run(f"EXPLAIN {text}")), "workers mix the rows of a copy"
    run("SET max_parallel_workers_per_gather = 0")
    assert "Gather" not in str(run(f"EXPLAIN {text}"))
    for setting in (*eager, "max_parallel_workers_per_gather"):
        run(f"RESET {setting}")
    for setting, value in (
        ("max_parallel_workers_per_gather", "0"),
        ("synchronize_seqscans", "off"),
    ):
        assert engine._fetch_in_order(f"SHOW {setting}") == [(value,)]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_copy_that_is_gone_is_an_outage_and_a_row_is_none(name: str) -> None:
    """Names alone decide: what fails by a row is a failure, also where the copy is gone."""
    catalog, tables = visits(LIMITS[0])
    engine = ENGINES[name](catalog, tables)
    catalog = prepared(name, catalog)
    known, new = questions(catalog)[:2]
    engine.run(known, catalog, SALT)
    copy = catalog.datasets[0].copy
    assert copy is not None
    assert isinstance(engine, (DuckDB, Postgres, Spark))
    with pytest.raises(InternalError), engine._reading(known, catalog):
        raise InternalError from FAILED_BY_NAME[name]  # and the copy is there
    schema, table = copy.tables[-1]
    owner(name)(f"DROP TABLE {schema}.{table}")
    for plan in (known, new):
        with pytest.raises(EngineUnreachable):
            engine.run(plan, catalog, SALT)
        with pytest.raises(EngineUnreachable):
            engine.rows(plan, catalog, SALT)
    with pytest.raises(EngineUnreachable):
        engine.rehearse(new, catalog, SALT)
    with pytest.raises(InternalError), engine._reading(known, catalog):
        raise InternalError from FAILED_BY_ROW[name]


def test_a_copy_of_another_epoch_is_refused() -> None:
    catalog, tables = visits(LIMITS[0])
    ENGINES["duckdb"](catalog, tables)
    [dataset] = prepared("duckdb", catalog).datasets
    with pytest.raises(InvalidValue, match="Make the copy again: tacit prepare visits"):
        replace(dataset, epoch=Epoch("2"))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dataset_without_row_keys_is_read_from_its_copy(name: str) -> None:
    catalog, tables = visits(LIMITS[0])
    catalog = replace(catalog, datasets=(replace(catalog.datasets[0], row_key=None),))
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, tables)
    copied = prepared(name, catalog)
    ENGINES[name](catalog, {clinic.TABLE: []})
    assert not questions(copied)  # none reads it by its order
    plans = [bound(parse(text, copied), copied).plan for text in TEXTS][::9]
    assert len(plans) > 5
    for plan in plans:
        answers = [opened(each.run(plan, copied, SALT)) for each in (engine, meaning)]
        assert answers[0] == answers[1], plan


def test_questions_that_limit_no_rows_in_all_read_the_table() -> None:
    catalog, tables = visits(LIMITS[0])
    ENGINES["duckdb"](catalog, tables)
    [dataset] = prepared("duckdb", catalog).datasets
    assert questions(replace(catalog, datasets=(dataset,)))
    unlimited = replace(dataset, limits=Limits(3, 1))
    assert not questions(replace(catalog, datasets=(unlimited,)))
