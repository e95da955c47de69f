"""Written questions give the same integers on every engine, over tables that are hard."""

import os
from collections.abc import Callable, Iterator
from itertools import islice

import clinic
import hospital
import pytest
from conftest import Bar
from engines_over import ENGINES, VERSIONS, Over, duckdb_over, reference
from neighbouring import SALT, opened
from nodes import COMPUTED, LANGUAGE, nodes
from sqlglot import exp
from written import CLINIC, HOSPITAL

from tacit.audit.synthetic_people import Choices, in_turn, person, together
from tacit.core.catalog import Catalog, Limits
from tacit.engines.print import expressions, sql_builder
from tacit.engines.reference import Tables
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.steps import ColumnSteps
from tacit.sql.parser import parse

TIGHT, WIDE = Limits(max_groups=2, max_rows=3), Limits(max_groups=9, max_rows=50)
FEW = Limits(max_groups=9, max_rows=2, max_rows_in_all=3)
"""Where contributions are bounded, where all rows count, and where few are looked at."""

CORPORA = (
    (clinic.catalog, [text for group in CLINIC.values() for text in group]),
    (hospital.catalog, [text for group in HOSPITAL.values() for text in group]),
)
PEOPLE = range(-1, 9)
STYLES, MOST_ROWS = 2, 6


def crowd(catalog: Catalog) -> Tables:
    """People of all kinds in all tables, and rows that belong to nobody."""
    choices = Choices("tacit written")
    places = [place for place in PEOPLE for _ in range(STYLES)]
    people = [person(catalog, place, MOST_ROWS, choices) for place in places]
    people += [
        person(catalog, place, MOST_ROWS, choices, in_turn(MOST_ROWS * place))
        for place in range(len(PEOPLE) - 1)
    ]
    return together(catalog, people, choices)


def nobody(catalog: Catalog) -> Tables:
    return {table.location.table: [] for table in catalog.tables}


ONE_OF = {"spark": 20}
"""Where they are asked again, over other tables, one question of so many; elsewhere all."""

FIRST = {"spark": int(os.environ.get("TACIT_WRITTEN_ON_SPARK", "1"))}
"""Where contributions are bounded, one question of so many is asked; CI asks Spark fewer."""


def unequal(over: Over, one_of: int = 1, first: int = 1) -> Iterator[tuple[bytes, str | None]]:
    """Each question, by its hash, and its text where an engine finds other integers."""
    for declared, texts in CORPORA:
        for limits, people in ((TIGHT, crowd), (WIDE, crowd), (FEW, crowd), (WIDE, nobody)):
            catalog = declared(limits)
            public = {table.location.table: hospital.REGIONS for table in catalog.public}
            tables = {**people(catalog), **public}
            engines = [each(catalog, tables) for each in (over, reference)]
            rarer = {TIGHT: first, WIDE: one_of, FEW: max(one_of, 4)}[limits]
            for text in islice(texts, 0, None, rarer):
                question = canonical(parse(text, catalog))
                plan = bound(question.plan, catalog).plan
                one, other = (opened(engine.run(plan, catalog, SALT)) for engine in engines)
                yield question.hash, None if one == other else text


@pytest.mark.parametrize("name", ENGINES)
def test_written_questions_mean_the_same(name: str, bar: Bar) -> None:
    first = FIRST.get(name, 1)
    found = list(unequal(ENGINES[name], ONE_OF.get(name, 1), first))
    wrong = [text for _, text in found if text is not None]
    assert not wrong, wrong[:3]
    plans = len({key for key, _ in found})
    shown, least = f"written plans with equal integers on {VERSIONS[name]}", 100 // first
    bar(shown, plans, f">= {least}", plans >= least)


def test_every_node_is_written_somewhere() -> None:
    seen: set[str] = set()
    for declared, texts in CORPORA:
        catalog = declared(TIGHT)
        for text in texts:
            question = canonical(parse(text, catalog))
            seen |= nodes((question.plan, question.post, bound(question.plan, catalog).plan))
    # test_same_person.py joins two tables of many rows, which this hospital does not have
    assert seen >= (LANGUAGE | COMPUTED) - {"TableLimit"}


def test_the_crowd_is_hard() -> None:
    """Every kind of cell that engines disagree about, and rows of all and of nobody."""
    rows = crowd(clinic.catalog(TIGHT))[clinic.TABLE]
    cells = {str(cell) for each in rows if each["person"] is not None for cell in each.values()}
    assert cells >= {"None", "nan", "inf", "-inf", "-0.0", str(2**63 - 1), str(-(2**63))}
    assert cells >= {"9999999999999999.99", "0001-01-01", "9999-12-31", "", "it's", "😀", "|"}
    people = [each["person"] for each in rows]
    assert None in people
    assert len(people) > 3 * len(set(people))


def any_float(name: str, kind: object) -> exp.Expr:
    """A lie: infinities and NaN are compared as an engine likes."""
    del kind
    return sql_builder.column(name)


def rounded_down(number: ColumnSteps, floor: exp.Expr) -> exp.Expr:
    """A lie: steps are rounded down."""
    del number
    return exp.cast(floor, "BIGINT")


def missing_is_low(value: exp.Expr, low: exp.Expr, high: exp.Expr, **_: bool) -> exp.Expr:
    """A lie: what is missing is clamped too."""
    above = sql_builder.compare(sql_builder.Comparison.MORE, value, high)
    inside = sql_builder.compare(sql_builder.Comparison.AT_LEAST, value, low)
    return sql_builder.choose([(above, high), (inside, value)], low)


def any_float_clamped(value: exp.Expr, low: float, high: float) -> exp.Expr:
    """A lie: infinities are clamped, and NaN where an engine says that it is great."""
    return sql_builder.clamp(value, sql_builder.double(low), sql_builder.double(high))


@pytest.mark.parametrize(
    ("place", "told", "lie"),
    [
        (expressions, "finite", any_float),
        (expressions, "_clamp_float", any_float_clamped),
        (expressions, "_nearest", rounded_down),
        (sql_builder, "clamp", missing_is_low),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_another_meaning_is_found(
    place: object, told: str, lie: Callable[..., exp.Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, told, lie)
    assert any(text is not None for _, text in unequal(duckdb_over))
