"""Functions of a row in SQL: what each becomes in a plan, and that it is printed again."""

# ruff: noqa: S608 - a question is a line

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from ward import CATALOG, VISITS, c, dataset, field

from tacit.core.catalog import Catalog, Epoch, UnitColumn
from tacit.errors import InvalidValue
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import (
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    DatePart,
    DatePartName,
    Divide,
    Expression,
    Function,
    FunctionCall,
    IsNull,
    Like,
    Not,
    Operation,
)
from tacit.plan.plan import Filter, Sum
from tacit.sql.parser import parse
from tacit.sql.printer import show

STAY, COST, WARD, DAY, SEEN, URGENT = map(
    field, ("stay", "cost", "ward", "day", "seen", "urgent")
)
ADD, SUBTRACT, MULTIPLY = Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY


def value(text: str) -> Expression:
    """What a value of a row becomes."""
    found = parse(f"SELECT SUM({text}) AS n FROM visits", CATALOG).measures[0].aggregate
    assert isinstance(found, Sum)
    return found.argument


def call(name: str, *parts: Expression) -> FunctionCall:
    return FunctionCall(Function[name], parts)


def there(part: Expression) -> Not:
    return Not(IsNull(part))


VALUES: list[tuple[str, Expression]] = [
    ("COALESCE(cost, 0)", Case(((there(COST), COST),), c(0))),
    ("IFNULL(cost, 0)", Case(((there(COST), COST),), c(0))),
    ("COALESCE(cost, stay, 0)", Case(((there(COST), COST), (there(STAY), STAY)), c(0))),
    ("COALESCE(NULL, cost)", COST),
    ("NULLIF(stay, 9)", Case(((Compare(Comparison.EQUAL, STAY, c(9)), c(None)),), STAY)),
    ("IF(urgent, 1, 2)", Case(((URGENT, c(1)),), c(2))),
    ("IF(urgent, 1)", Case(((URGENT, c(1)),), c(None))),
    ("ABS(cost)", call("ABS", COST)),
    ("FLOOR(cost)", call("FLOOR", COST)),
    ("CEILING(cost)", call("CEIL", COST)),
    ("ROUND(cost)", call("ROUND", COST)),
    ("ROUND(cost, -1)", call("ROUND", COST, c(-1))),
    ("TRUNC(cost, 1)", call("TRUNCATE", COST, c(1))),
    ("CAST(cost AS INTEGER)", call("INTEGER", COST)),
    ("cost::bigint", call("INTEGER", COST)),
    ("urgent::int", call("INTEGER", URGENT)),
    ("CAST(stay AS DOUBLE)", STAY),
    ("stay::float", STAY),
    ("CAST(cost AS NUMERIC)", COST),  # without digits, nothing is rounded
    ("CAST(cost AS DECIMAL(9, 1))", call("ROUND", COST, c(1))),
    ("CAST(cost AS DECIMAL(9))", call("ROUND", COST, c(0))),
    ("GREATEST(cost, stay, 0)", call("GREATEST", COST, STAY, c(0))),
    ("LEAST(cost, 9)", call("LEAST", COST, c(9))),
    ("POWER(stay, 2)", call("POWER", STAY, c(2))),
    ("stay ** 2", call("POWER", STAY, c(2))),
    ("SQRT(stay)", call("SQRT", STAY)),
    ("LN(stay)", call("LN", STAY)),
    ("EXP(stay)", call("EXP", STAY)),
    ("cost / 2", Divide(COST, c(2))),
    ("FLOOR(cost / 10) * 10", Bin(COST, 10)),
    ("FLOOR(cost / 10) * 5", Arithmetic(MULTIPLY, call("FLOOR", Divide(COST, c(10))), c(5))),
    ("DATE_DIFF('day', day, seen)", Arithmetic(SUBTRACT, SEEN, DAY)),
    (
        "DATE_DIFF('year', DATE '2020-05-01', day)",
        Arithmetic(SUBTRACT, DatePart(DatePartName.YEAR, DAY), c(2020)),
    ),
    ("EXTRACT(WEEK FROM day)", DatePart(DatePartName.WEEK, DAY)),
    ("EXTRACT(ISODOW FROM day)", DatePart(DatePartName.ISO_WEEKDAY, DAY)),
    ("DAYOFYEAR(day)", DatePart(DatePartName.DAY_OF_YEAR, DAY)),
    ("EXTRACT(YEAR FROM DATE '2026-05-31')", c(2026)),
    ("EXTRACT(ISOYEAR FROM DATE '2027-01-01')", c(2026)),
]


@pytest.mark.parametrize(("text", "wanted"), VALUES)
def test_a_function_of_numbers_or_days(text: str, wanted: Expression) -> None:
    assert value(text) == wanted


def where(text: str) -> Expression:
    source = parse(f"SELECT COUNT(*) AS n FROM visits WHERE {text}", CATALOG).source
    assert isinstance(source, Filter)
    return source.condition


def equal(one: Expression, other: Expression) -> Compare:
    return Compare(Comparison.EQUAL, one, other)


CONDITIONS: list[tuple[str, Expression]] = [
    ("UPPER(ward) = 'A'", equal(call("UPPER", WARD), c("A"))),
    ("ward = LOWER('A')", equal(WARD, c("a"))),
    ("SUBSTRING(ward FROM 2 FOR 3) = 'a'", equal(call("SUBSTRING", WARD, c(2), c(3)), c("a"))),
    ("LEFT(ward, 3) = 'a'", equal(call("SUBSTRING", WARD, c(1), c(3)), c("a"))),
    ("TRIM(ward) = 'a'", equal(call("TRIM", WARD), c("a"))),
    ("TRIM(BOTH 'x' FROM ward) = 'a'", equal(call("TRIM", WARD, c("x")), c("a"))),
    ("LTRIM(ward) = 'a'", equal(call("TRIM_LEFT", WARD), c("a"))),
    ("RTRIM(ward, 'x') = 'a'", equal(call("TRIM_RIGHT", WARD, c("x")), c("a"))),
    ("CONCAT(ward, 'x') = 'a'", equal(call("CONCAT", WARD, c("x")), c("a"))),
    ("ward || 'x' = 'a'", equal(call("JOIN", WARD, c("x")), c("a"))),
    ("ward ILIKE 'No%'", Like(call("ASCII_LOWER", WARD), "no%")),
    ("ward NOT ILIKE 'No%'", Not(Like(call("ASCII_LOWER", WARD), "no%"))),
    ("LOWER(ward) LIKE 'no%'", Like(call("LOWER", WARD), "no%")),
    ("day + INTERVAL 7 DAY = seen", equal(Arithmetic(ADD, DAY, c(7)), SEEN)),
    ("day - INTERVAL '2 weeks' = seen", equal(Arithmetic(SUBTRACT, DAY, c(14)), SEEN)),
    ("day + INTERVAL (-1) DAY = seen", equal(Arithmetic(SUBTRACT, DAY, c(1)), SEEN)),
    ("DATE_ADD(day, INTERVAL 7 DAY) = seen", equal(Arithmetic(ADD, DAY, c(7)), SEEN)),
    ("day = DATE '2020-03-01' - INTERVAL 30 DAY", equal(DAY, c(date(2020, 1, 31)))),
    ("day = DATE '2020-03-31' - INTERVAL 1 MONTH", equal(DAY, c(date(2020, 2, 29)))),
    ("day = DATE '2020-02-29' + INTERVAL 1 YEAR", equal(DAY, c(date(2021, 2, 28)))),
    ("day = DATE '2020-12-31' + INTERVAL 2 QUARTERS", equal(DAY, c(date(2021, 6, 30)))),
    ("day = DATE '2020-03-01' - 1", equal(DAY, c(date(2020, 2, 29)))),
    ("day = DATE_TRUNC('month', DATE '2020-03-17')", equal(DAY, c(date(2020, 3, 1)))),
]


@pytest.mark.parametrize(("text", "wanted"), CONDITIONS)
def test_a_condition_with_functions(text: str, wanted: Expression) -> None:
    assert where(text) == wanted


@pytest.mark.parametrize("text", [f"SUM({text}) > 3" for text, _ in VALUES])
def test_what_is_printed_of_a_value_is_the_same_question(text: str) -> None:
    plan = parse(f"SELECT COUNT(*) AS n FROM visits HAVING {text}", CATALOG)
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


@pytest.mark.parametrize("text", [text for text, _ in CONDITIONS])
def test_what_is_printed_of_a_condition_is_the_same_question(text: str) -> None:
    plan = parse(f"SELECT COUNT(*) AS n FROM visits WHERE NOT ({text}) OR urgent", CATALOG)
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


def test_a_week_begins_on_monday_in_differences() -> None:
    found = value("DATE_DIFF('week', DATE '2020-01-05', day)")
    assert isinstance(found, Arithmetic)
    first = found.right
    assert isinstance(first, FunctionCall)
    assert isinstance(first.parts[0], Divide)
    assert first.parts[0].right == c(7)


def with_epochs(*labels: str) -> Catalog:
    """A catalogue of tables with the same columns, in these epochs."""
    unit = UnitColumn("patient")
    made = (dataset(f"t{at}", VISITS, unit, epoch=Epoch(x)) for at, x in enumerate(labels))
    return replace(CATALOG, datasets=tuple(made))


def test_the_current_date_is_the_latest_epoch() -> None:
    declared = with_epochs("2026-02-16", "2026-03-01")
    for text, wanted in (("t0", date(2026, 2, 16)), ("t1", date(2026, 3, 1))):
        plan = parse(f"SELECT COUNT(*) FROM {text} WHERE day > CURRENT_DATE - 30", declared)
        assert isinstance(plan.source, Filter)
        assert isinstance(plan.source.condition, Compare)
        found = plan.source.condition.right
        assert found == c(date.fromordinal(wanted.toordinal() - 30))


@pytest.mark.parametrize("label", ["1", "2026-W07", "2026-02-30", "20260216", "2026-02-16 "])
def test_an_epoch_that_is_no_day_is_not_the_current_date(label: str) -> None:
    with pytest.raises(InvalidValue, match=r"are not days .* write a day, as in DATE '2026-"):
        parse("SELECT COUNT(*) FROM t0 WHERE day > CURRENT_DATE", with_epochs(label))


def test_a_fraction_is_exact() -> None:
    assert value("cost / 0.3") == Divide(COST, c(Fraction(3, 10)))
