"""Where each unit has one row nothing is bounded, and the guarantee says what that rests on."""

from dataclasses import replace

import clinic
import pytest
from engines_over import ENGINES, reference
from neighbouring import SALT, opened
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
