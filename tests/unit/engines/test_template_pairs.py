"""Templates and caches of statements, compared with printing: thousands of pairs of plans.

Two plans of one shape differ in their constants alone. Each statement is taken from a template
that another plan of the shape has made, in both orders, and must be the printed one, to the
byte. `TACIT_TEMPLATES` says how many shapes there are for each dialect.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from random import Random
from threading import Thread
from typing import Any

import pytest

from tacit.core.catalog import Catalog, Limits, ValidatedCopy
from tacit.core.domain import Kind
from tacit.engines import sql_engine
from tacit.engines.print import statement_template as templates
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.engines.print.statement import question
from tacit.engines.print.statement_template import fill_statement
from tacit.errors import InvalidValue
from tacit.plan import BoundedPlan
from tacit.plan import steps as grid_steps
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import Comparison
from tacit.plan.model_columns import label_key
from tacit.sql.parser import parse
from tacit.testing.engine_tables import catalog

SHAPES = int(os.environ.get("TACIT_TEMPLATES", "10"))
DIALECTS = (DUCKDB, POSTGRES, SPARK)
SALT = b"salt"

PLAIN = catalog(Limits(2, 3, 4))
VISITS = PLAIN.datasets[0]
COPIED = PLAIN.with_tables(
    replace(
        VISITS,
        row_key="id",
        copy=replace(ValidatedCopy.of("visits", ("c",), 2, VISITS.epoch, "ab"), ordered=True),
    )
)

ASKED = (
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE smoker",
    "SELECT ward, SUM(age) FROM visits WHERE age > 30 GROUP BY ward",
    "SELECT ward, COUNT(*) FROM visits WHERE ward IN ('north', 'south') GROUP BY ward",
    "SELECT CASE WHEN age > 30 THEN 'old' ELSE 'new' END, COUNT(*) FROM visits GROUP BY 1",
    "SELECT SUM(CASE WHEN doctor = 'x' AND age > 30 THEN 1 ELSE 0 END) FROM visits",
    "SELECT COUNT(*) FROM visits JOIN places ON visits.ward = places.ward WHERE beds > 30",
    "SELECT COUNT(*) FROM visits JOIN labs ON visits.id = labs.visit WHERE value = 30",
    "SELECT MEDIAN(age), COUNT(DISTINCT room) FROM visits WHERE ward LIKE 'n%'",
)

INTEGERS = (
    *(0, 1, 2, 10, 30, 2**30, 2**31 - 1, 2**31, 2**32, 2**61, 2**63 - 1, 2**127),
    *(-1, -(2**31), -(2**63), True, False),
)
TEXTS = (
    *("", "a", "'", "''", "\\", "\\'", '"', "%s", "%(a)s", "{0}", ":x", "?", "--", "/*", "\n"),
    *("\r\n", "\t", "\0", "\x1a", "$1", "$$", "é", "😀", "\u2028", "e\u0301", "x' OR '1'='1"),
    *("tacit_marker_", "tacit_unit", "north", "visits", "age", "0", "1", "30", "NULL", "TRUE"),
    *("%", "_", "n%", "\\n", "\\u0041", "E'", "N'", "`", " ", "a" * 999),
)
FRACTIONS = (
    *map(Fraction, (0, 1, 30, 10**17, -1)),
    *(Fraction(1, 2), Fraction(1, 10**18), Fraction(-3, 8), Fraction(10**20 + 1, 10**18)),
)
DAYS = (date(1, 1, 1), date(2020, 2, 29), date(9999, 12, 31))
TIMES = tuple(
    map(
        datetime.fromisoformat, ("2020-01-01", "2020-01-01 01:02:03.000004", "9999-12-31 23:59")
    )
)
CONSTANTS: dict[Kind, tuple[Any, ...]] = {
    Kind.BOOLEAN: (True, False, 1, 0),
    Kind.INTEGER: (*INTEGERS, *FRACTIONS[:3]),
    Kind.DECIMAL: (*FRACTIONS, *INTEGERS),
    Kind.FLOAT: (*FRACTIONS, *INTEGERS[:8], True),
    Kind.TEXT: TEXTS,
    Kind.DATE: DAYS,
    Kind.TIMESTAMP: (*DAYS, *TIMES),
}


def bounded(text: str, declared: Catalog = PLAIN) -> BoundedPlan:
    return bound(canonical(parse(text, declared)).plan, declared).plan


def columns_of(plan: BoundedPlan) -> list[tuple[str, Kind]]:
    return [
        (f"{name}.{column.name}", column.kind)
        for name in plan.source.joined
        for column in PLAIN.table(name).schema.columns
    ]


def condition(names: list[tuple[str, Kind]], random: Random, depth: int = 3) -> Any:
    """A condition over columns of every kind."""
    name, kind = random.choice(names)
    constants = CONSTANTS[kind]
    match random.randrange(7) if depth else 0:
        case 0 | 1 | 2:
            comparison = random.choice(list(Comparison))
            return grid_steps.CompareColumn(comparison, name, kind, random.choice(constants))
        case 3:
            listed = tuple(random.choices(constants, k=random.randrange(1, 5)))
            return grid_steps.ColumnOneOf(name, kind, listed)
        case 4:
            return grid_steps.Negation(condition(names, random, depth - 1))
    joined = random.choice((grid_steps.AllOf, grid_steps.AnyOf))
    parts = [condition(names, random, depth - 1) for _ in range(random.randrange(4))]
    return joined(tuple(parts))


def one_each(names: list[tuple[str, Kind]], random: Random) -> Any:
    """A condition that compares each column twice."""
    parts = [condition([name], random, 0) for name in names for _ in range(2)]
    return grid_steps.AllOf(tuple(parts))


def vary(part: Any, random: Random) -> Any:
    """The same condition with other constants; some constants occur twice."""
    match part:
        case grid_steps.CompareColumn(_, _, kind, _):
            return replace(part, value=random.choice(CONSTANTS[kind][: random.choice((2, 99))]))
        case grid_steps.AllOf(parts) | grid_steps.AnyOf(parts):
            return type(part)(tuple(vary(each, random) for each in parts))
        case grid_steps.Negation(inner):
            return grid_steps.Negation(vary(inner, random))
    return part


def shapes(count: int) -> Iterator[tuple[Catalog, list[BoundedPlan]]]:
    """Plans of one shape, and the catalogue that they are printed for."""
    for number in range(count):
        random = Random(number)  # noqa: S311 - a test that can be repeated
        text = ASKED[number % len(ASKED)]
        base = bounded(text)
        names = columns_of(base)
        made = condition(names, random) if number > 1 else one_each(names, random)
        whole = grid_steps.AllOf((base.condition, made))
        declared = COPIED if number % 2 else PLAIN
        varied = [vary(whole, random) for _ in range(2)]
        yield declared, [replace(base, condition=each) for each in (whole, *varied)]


def differences(dialect: Dialect, count: int = SHAPES) -> tuple[list[Any], int]:
    """The conditions whose statement is not printed, and how many used a known template."""
    found: list[Any] = []
    used = 0
    for declared, plans in shapes(count):
        printed = [question(plan, declared, SALT, dialect) for plan in plans]
        pairs = list(zip(plans, printed, strict=True))
        for ordered in (pairs, pairs[::-1]):
            templates._template.cache_clear()
            sql_engine.statement.cache_clear()
            for plan, text in ordered:
                taken = {
                    get(plan, declared, SALT, dialect)
                    for get in (fill_statement, sql_engine.statement)
                }
                found += [plan.condition] * (taken != {text})
            used += templates._template.cache_info().hits
    return found, used


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
def test_a_template_of_another_plan_gives_the_printed_statement(dialect: Dialect) -> None:
    found, used = differences(dialect)
    assert found == []
    assert used > SHAPES


def _rotated(self: templates.Template, constants: list[str]) -> str:
    """The lie: each constant is written in the place of the one before it."""
    return honest_fill(self, [*constants[1:], constants[0]])


honest_fill = templates.Template.fill


@pytest.mark.parametrize(
    ("place", "name", "lie"),
    [
        (templates, "_is_filled_in", lambda kind, _: kind in {Kind.INTEGER, Kind.FLOAT}),
        (templates.Template, "fill", _rotated),
    ],
    ids=["floats", "rotated"],
)
def test_a_template_that_fills_in_other_text_is_seen(
    place: object, name: str, lie: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, lie)
    found, _ = differences(DUCKDB, 2)
    assert found


# ------------------------------------------------------------------ equal plans


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", [Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT])
def test_equal_plans_have_one_statement(kind: Kind, dialect: Dialect) -> None:
    """Statements are cached by plans, and plans with 1 and TRUE are equal to Python."""
    base = bounded(ASKED[0])
    for make in (
        lambda value: grid_steps.CompareColumn(Comparison.EQUAL, "visits.age", kind, value),
        lambda value: grid_steps.ColumnOneOf("visits.age", kind, (value,)),
    ):
        plans = [replace(base, condition=make(each)) for each in (1, True, Fraction(1))]
        assert plans[0] == plans[1] == plans[2]
        assert len({question(each, PLAIN, SALT, dialect) for each in plans}) == 1


@pytest.mark.parametrize("first", [(0.0, 1.0), (False, True)])
def test_the_classes_of_a_fit_do_not_change_the_statement_of_another_fit(
    first: tuple[Any, ...],
) -> None:
    """An analyst's classes 0.0 and 1.0 were printed as IN (), also for classes 0 and 1."""
    room = replace(VISITS.schema["room"], name="visits.room")
    sql_engine.statement.cache_clear()
    for classes in (first, (0, 1)):
        plan = replace(bounded(ASKED[0]), keys=(label_key(room, classes),))
        text = sql_engine.statement(plan, PLAIN, SALT, DUCKDB)
        assert text == question(plan, PLAIN, SALT, DUCKDB)
        assert '("visits.room" IN (0)) THEN CAST(0 AS BIGINT)' in text
    with pytest.raises(InvalidValue, match="not an integer"):
        label_key(room, (0.5, 1))  # type: ignore[arg-type]


# ------------------------------------------------------------------ threads and memory


def test_threads_that_ask_at_once_get_their_own_statements() -> None:
    base = bounded(ASKED[2])
    names = [("visits.age", Kind.INTEGER), ("visits.doctor", Kind.TEXT)]
    plans = []
    for number in range(24):
        made = condition(names, Random(number % 4), 2)  # noqa: S311 - repeated
        varied = vary(made, Random(number))  # noqa: S311 - repeated
        plans.append(replace(base, condition=grid_steps.AllOf((base.condition, varied))))
    told: dict[tuple[int, int], str] = {}

    def run(thread: int) -> None:
        for place in range(len(plans)):
            number = (place * 7 + thread * 5) % len(plans)
            told[thread, number] = sql_engine.statement(plans[number], PLAIN, SALT, DUCKDB)

    templates._template.cache_clear()
    sql_engine.statement.cache_clear()
    threads = [Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    printed = [question(plan, PLAIN, SALT, DUCKDB) for plan in plans]
    assert told == {
        (thread, number): text for thread in range(4) for number, text in enumerate(printed)
    }


def test_caches_of_statements_have_an_end() -> None:
    for cache in (templates._template, templates._markers, sql_engine.statement):
        assert cache.cache_info().maxsize in range(1, 257)
