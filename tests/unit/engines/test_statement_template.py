"""A statement from the template of its shape is the printed statement, to the byte."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from tacit.core.catalog import Limits
from tacit.core.domain import Kind
from tacit.engines.print import statement_template as templates
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB, PRINTED, SPARK
from tacit.engines.print.statement import question
from tacit.engines.print.statement_template import constants_of, fill_statement
from tacit.plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import Comparison
from tacit.plan.steps import AllOf, AnyOf, ColumnOneOf, CompareColumn, Negation
from tacit.sql.parser import parse
from tacit.testing.engine_tables import QUESTIONS, catalog

SALT = b"salt"
DIALECTS = (DUCKDB, POSTGRES, SPARK, *PRINTED)
CATALOG = catalog(Limits(2, 3))
ASKED = [text for group in QUESTIONS.values() for text in group]
BASE = bound(canonical(parse(ASKED[0], CATALOG)).plan, CATALOG).plan

INTEGERS = (0, 1, 7, 10, 2**31 - 1, 2**31, 2**63 - 1, -1, -(2**40), True)
TEXTS = (
    *("", "a", "'", "''", "\\", "\\'", '"', "%s", "{0}", ":x", "?", "--", "/*", "\n", "\t"),
    *("$1", "é", "😀", "tacit_marker_", "x' OR '1'='1", "\\n", "E'", "`", "a" * 999),
)


@pytest.fixture(autouse=True)
def fresh() -> None:
    templates._template.cache_clear()


def compare(value: Any, kind: Kind, name: str = "a column") -> CompareColumn:
    return CompareColumn(Comparison.AT_LEAST, name, kind, value)


def plans() -> list[BoundedPlan]:
    """Plans with constants of every kind in their conditions."""
    numbers = [compare(each, Kind.INTEGER) for each in INTEGERS]
    texts = [compare(each, Kind.TEXT) for each in TEXTS]
    listed = ColumnOneOf("b", Kind.TEXT, ("tacit", "marker"))
    made = [
        *numbers,
        *texts,
        AllOf((*numbers, *texts, listed)),
        AnyOf((Negation(AllOf((texts[2], numbers[3]))), listed, texts[2], numbers[3])),
        AllOf((compare(5, Kind.INTEGER), compare(5, Kind.INTEGER, "b"))),
        AllOf(tuple(compare(each, Kind.INTEGER) for each in range(70))),
    ]
    return [replace(BASE, condition=each) for each in made]


def differences(dialect: Dialect) -> int:
    """How many statements from templates are not as they are printed."""
    return sum(
        fill_statement(plan, CATALOG, SALT, dialect) != question(plan, CATALOG, SALT, dialect)
        for plan in plans()
    )


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
def test_a_filled_statement_is_the_printed_one(dialect: Dialect) -> None:
    assert differences(dialect) == 0


def test_questions_of_the_contract_are_printed_as_before() -> None:
    for text in ASKED[::12]:
        _check(text)


def _check(text: str) -> None:
    plan = bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan
    for dialect, use_copy in product(DIALECTS[:3], (True, False)):
        printed = question(plan, CATALOG, SALT, dialect, use_copy=use_copy)
        assert fill_statement(plan, CATALOG, SALT, dialect, use_copy=use_copy) == printed


def _unescaped(constant: Any, _: Dialect) -> str:
    return f"'{constant}'" if isinstance(constant, str) else str(constant)


def _swapped(self: templates.Template, constants: list[str]) -> str:
    return honest_fill(self, constants[::-1])


honest_fill = templates.Template.fill


def _occurring(salt: bytes, name: str) -> templates.Markers:
    """The lie: the marker of the first text is a text that an analyst can write."""
    honest = templates.Markers.derive(salt, name)
    return templates.Markers(honest.numbers, ("marker", *honest.texts[1:]))


@pytest.mark.parametrize(
    ("place", "name", "lie"),
    [
        (templates, "_print_constant", _unescaped),
        (templates.Template, "fill", _swapped),
        (templates, "_markers", _occurring),
    ],
    ids=["not escaped", "swapped", "markers that occur"],
)
def test_what_a_template_does_otherwise_is_seen(
    place: object, name: str, lie: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, lie)
    templates._template.cache_clear()
    assert differences(DUCKDB) > 0


def test_markers_that_occur_once_are_seen_by_the_second_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def first_occurs(salt: bytes, name: str) -> templates.Markers:
        made = _occurring if name == "first" else templates.Markers.derive
        return made(salt, name)

    monkeypatch.setattr(templates, "_markers", first_occurs)
    assert differences(DUCKDB) == 0


def test_markers_depend_on_the_salt() -> None:
    first, other, second = (
        templates.Markers.derive(*given)
        for given in ((b"1", "first"), (b"2", "first"), (b"1", "second"))
    )
    for one, two in ((first, other), (first, second)):
        assert not set(one.texts) & set(two.texts)
        assert one.numbers != two.numbers
    assert all(2**30 <= each < 2**31 for each in first.numbers)


def test_questions_of_one_shape_are_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[BoundedPlan] = []

    def spied(plan: BoundedPlan, *given: Any, **named: Any) -> str:
        printed.append(plan)
        return question(plan, *given, **named)

    monkeypatch.setattr(templates, "question", spied)

    def ask(make: Callable[[int], Any], times: int) -> int:
        before = len(printed)
        for number in range(times):
            plan = replace(BASE, condition=make(number))
            fill_statement(plan, CATALOG, SALT, DUCKDB)
        return len(printed) - before

    assert ask(lambda number: compare(number, Kind.INTEGER), 9) == 2
    assert ask(lambda number: compare(str(number), Kind.TEXT), 9) == 2
    assert ask(lambda number: Negation(compare(number, Kind.INTEGER)), 9) == 2
    assert ask(lambda _: AllOf(()), 9) == 9  # without constants
    assert ask(lambda number: compare(-1 - number, Kind.INTEGER), 9) == 9


def test_another_salt_or_catalogue_has_a_template_of_its_own() -> None:
    plan = replace(BASE, condition=compare(3, Kind.INTEGER))
    first = fill_statement(plan, CATALOG, SALT, DUCKDB)
    for salt in (b"other", SALT):
        assert fill_statement(plan, CATALOG, salt, DUCKDB) == question(
            plan, CATALOG, salt, DUCKDB
        )
    assert fill_statement(plan, CATALOG, SALT, POSTGRES) != first


def test_only_integers_and_texts_of_comparisons_are_filled_in() -> None:
    given = [compare(each, Kind.INTEGER) for each in (1, True, -1, 2**31)]
    given += [compare(1, Kind.DECIMAL), compare(1, Kind.FLOAT), compare("a", Kind.TEXT)]
    assert list(constants_of(AllOf(tuple(given)))) == [1, "a"]
