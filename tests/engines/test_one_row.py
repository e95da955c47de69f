"""Where each unit has one row nothing is bounded, and the guarantee says what that rests on."""

from dataclasses import replace

import clinic
import pytest
from engines_over import ENGINES, reference
from neighbouring import SALT, opened
from test_copies import DIALECTS, prepared
from test_written import crowd
from written import CLINIC

from tacit.core.catalog import Catalog, Limits, UnitColumn
from tacit.core.loss import Loss
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.print.statement import question
from tacit.engines.reference import Tables
from tacit.plan.bounding import bound
from tacit.query.pricing import price
from tacit.sql.parser import parse

TEXTS = [text for group in CLINIC.values() for text in group][::3]
SAYS = 'NOT ("visits.person" IS NULL)'
COUNT = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"


def declared(*, one_row: bool = True, unique_by_constraint: bool = False) -> Catalog:
    catalog = clinic.catalog(Limits(3, 2))
    [dataset] = catalog.datasets
    unit = UnitColumn("person", one_row, unique_by_constraint)
    return replace(catalog, datasets=(replace(dataset, unit=unit),))


def alone(catalog: Catalog) -> Tables:
    """The clinic's visits, each of another person, and some of nobody."""
    rows = crowd(catalog)[clinic.TABLE]
    people = [None if row["person"] is None else f"p{at}" for at, row in enumerate(rows)]
    named = [{**row, "person": name} for row, name in zip(rows, people, strict=True)]
    return {clinic.TABLE: named}


@pytest.mark.parametrize("name", ENGINES)
def test_an_answer_has_the_same_integers(name: str) -> None:
    catalog = declared()
    tables = alone(catalog)
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, tables)
    for text in TEXTS[:: 9 if name == "spark" else 1]:
        plan = bound(parse(text, catalog), catalog).plan
        answers = [opened(each.run(plan, catalog, SALT)) for each in (engine, meaning)]
        assert answers[0] == answers[1], text


def test_nothing_is_grouped_by_unit() -> None:
    texts = []
    for catalog in (declared(), declared(one_row=False)):
        plan = bound(parse(COUNT, catalog), catalog).plan
        texts.append(question(plan, catalog, SALT, DUCKDB))
    assert 'GROUP BY "tacit_unit"' not in texts[0]
    assert "OVER" not in texts[0]
    assert 'GROUP BY "tacit_unit"' in texts[1]


def with_rows_of_nobody() -> tuple[Catalog, Tables]:
    """The catalogue, and a table in which every fifth row names nobody."""
    catalog = declared()
    rows = alone(catalog)[clinic.TABLE]
    of_nobody = [{**row, "person": None} for row in rows[::4]]
    tables = {clinic.TABLE: [*rows, *of_nobody]}
    return catalog, tables


@pytest.mark.parametrize("name", DIALECTS)
def test_a_copy_gives_the_same_integers_without_reading_who_the_rows_belong_to(
    name: str,
) -> None:
    catalog, tables = with_rows_of_nobody()
    engine, meaning = ENGINES[name](catalog, tables), reference(catalog, tables)
    copied = prepared(name, catalog)
    ENGINES[name](catalog, {clinic.TABLE: []})  # so that only the copy has rows
    plans = [bound(parse(text, copied), copied).plan for text in TEXTS]
    unread = 0
    for plan in plans[:: 9 if name == "spark" else 1]:
        answers = [opened(each.run(plan, copied, SALT)) for each in (engine, meaning)]
        assert answers[0] == answers[1], plan
        source = plan.source
        if not (source.gathered or source.beside or source.semis):
            unread += 1
            assert SAYS not in question(plan, copied, SALT, DIALECTS[name]).replace("`", '"')
    assert unread > 4


def test_a_table_that_is_no_such_copy_says_that_rows_of_nobody_do_not_count() -> None:
    """The lie reads the table as if it were a copy, and counts them."""
    catalog, tables = with_rows_of_nobody()
    engine, meaning = ENGINES["duckdb"](catalog, tables), reference(catalog, tables)
    copied = prepared("duckdb", catalog)
    plan = bound(parse(COUNT, catalog), catalog).plan
    [dataset] = copied.datasets
    assert dataset.copy is not None
    assert dataset.copy.unique == ("person",)
    several = replace(dataset, copy=replace(dataset.copy, unique=()))
    others = (catalog, replace(copied, datasets=(several,)))
    assert all(SAYS in question(plan, each, SALT, DUCKDB) for each in others)
    assert SAYS not in question(plan, copied, SALT, DUCKDB)
    lied = replace(dataset, copy=replace(dataset.copy, tables=(dataset.location.table,)))
    lying = replace(copied, datasets=(lied,))
    right, wrong = (
        opened(each.run(plan, of, SALT)) for each, of in ((meaning, catalog), (engine, lying))
    )
    assert right != wrong


def test_it_is_an_assumption_unless_the_engine_keeps_it() -> None:
    def assumed(catalog: Catalog) -> tuple[str, ...]:
        return price(parse(COUNT, catalog), catalog, Loss.pure(1)).assumptions

    assert assumed(declared()) == ("visits.person is unique",)
    assert not assumed(declared(unique_by_constraint=True))
    assert not assumed(declared(one_row=False))


def test_whoever_says_so_wrongly_counts_a_person_twice() -> None:
    catalog = declared()
    rows = alone(catalog)[clinic.TABLE]
    twice = {clinic.TABLE: [{**row, "person": "ann"} for row in rows]}
    engine, meaning = ENGINES["duckdb"](catalog, twice), reference(catalog, twice)
    plan = bound(parse(COUNT, catalog), catalog).plan
    assert opened(engine.run(plan, catalog, SALT)) != opened(meaning.run(plan, catalog, SALT))
