"""Expressions of SQL, each beside the expression of the plan that it stands for."""

# ruff: noqa: S608 - a question is a line

from datetime import date
from fractions import Fraction

import pytest
from ward import CATALOG, c, field

from tacit.errors import InvalidValue, TacitError
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    DatePartName,
    Expression,
    Function,
    FunctionCall,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Span,
)
from tacit.plan.plan import (
    CountDistinct,
    CountRows,
    CountUnits,
    CountValues,
    Filter,
    Mean,
    Sum,
)
from tacit.plan.tree_walk import every
from tacit.sql.advice import ADVICE, LONGEST_NAME
from tacit.sql.allow_list import KNOWN
from tacit.sql.parser import DEEPEST_TREE, LONGEST_TEXT, parse

STAY, COST, WARD, DAY, URGENT = map(field, ("stay", "cost", "ward", "day", "urgent"))
EQUAL, LESS, MORE = Comparison.EQUAL, Comparison.LESS, Comparison.MORE
ADD, SUBTRACT, MULTIPLY = Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY
LONG = Compare(MORE, STAY, c(7))


def where(text: str) -> Expression:
    source = parse(f"SELECT COUNT(*) AS n FROM visits WHERE {text}", CATALOG).source
    assert isinstance(source, Filter)
    return source.condition


def key(text: str) -> Expression:
    return (
        parse(f"SELECT COUNT(*) AS n FROM visits GROUP BY {text}", CATALOG).keys[0].expression
    )


CONDITIONS: list[tuple[str, Expression]] = [
    ("stay = 7", Compare(EQUAL, STAY, c(7))),
    ("stay <> 7", Compare(Comparison.UNEQUAL, STAY, c(7))),
    ("stay != 7", Compare(Comparison.UNEQUAL, STAY, c(7))),
    ("stay < 7", Compare(LESS, STAY, c(7))),
    ("stay <= 7", Compare(Comparison.AT_MOST, STAY, c(7))),
    ("stay > 7", LONG),
    ("stay >= 7", Compare(Comparison.AT_LEAST, STAY, c(7))),
    ("7 < stay", Compare(LESS, c(7), STAY)),
    ("visits.stay > (7)", LONG),
    ("cost > 1.50", Compare(MORE, COST, c(Fraction(3, 2)))),
    ("cost > 2.0", Compare(MORE, COST, c(2))),
    ("cost > -1.5", Compare(MORE, COST, c(Fraction(-3, 2)))),
    ("cost > 1e2", Compare(MORE, COST, c(100))),
    ("cost > -stay", Compare(MORE, COST, Arithmetic(MULTIPLY, c(-1), STAY))),
    ("stay = NULL", Compare(EQUAL, STAY, c(None))),
    ("ward = 'it''s'", Compare(EQUAL, WARD, c("it's"))),
    ("day > DATE '2026-01-31'", Compare(MORE, DAY, c(date(2026, 1, 31)))),
    ("urgent", URGENT),
    ("NOT urgent", Not(URGENT)),
    ("TRUE", c(True)),
    ("FALSE", c(False)),
    ("urgent AND stay > 7", And((URGENT, LONG))),
    ("urgent OR stay > 7", Or((URGENT, LONG))),
    ("urgent OR urgent AND stay > 7", Or((URGENT, And((URGENT, LONG))))),
    ("(urgent OR urgent) AND stay > 7", And((Or((URGENT, URGENT)), LONG))),
    (
        "stay BETWEEN 3 AND 7",
        And(
            (
                Compare(Comparison.AT_LEAST, STAY, c(3)),
                Compare(Comparison.AT_MOST, STAY, c(7)),
            )
        ),
    ),
    ("stay IN (3, 7)", OneOf(STAY, (3, 7))),
    ("stay NOT IN (3)", Not(OneOf(STAY, (3,)))),
    ("ward IN ('a')", OneOf(WARD, ("a",))),
    ("stay IS NULL", IsNull(STAY)),
    ("stay IS NOT NULL", Not(IsNull(STAY))),
    ("ward LIKE 'n%'", Like(WARD, "n%")),
    ("ward NOT LIKE 'n%'", Not(Like(WARD, "n%"))),
    ("stay + 1 > 7", Compare(MORE, Arithmetic(ADD, STAY, c(1)), c(7))),
    ("stay - 1 > 7", Compare(MORE, Arithmetic(SUBTRACT, STAY, c(1)), c(7))),
    ("stay * 2 > 7", Compare(MORE, Arithmetic(MULTIPLY, STAY, c(2)), c(7))),
    ("YEAR(day) = 2026", Compare(EQUAL, DatePart(DatePartName.YEAR, DAY), c(2026))),
    ("EXTRACT(DOW FROM day) = 0", Compare(EQUAL, DatePart(DatePartName.WEEKDAY, DAY), c(0))),
    ("DAYOFWEEK(day) = 0", Compare(EQUAL, DatePart(DatePartName.WEEKDAY, DAY), c(0))),
    ("DAY(day) = 1", Compare(EQUAL, DatePart(DatePartName.DAY, DAY), c(1))),
    ("MONTH(day) = 1", Compare(EQUAL, DatePart(DatePartName.MONTH, DAY), c(1))),
    ("QUARTER(day) = 1", Compare(EQUAL, DatePart(DatePartName.QUARTER, DAY), c(1))),
    (
        "CASE WHEN urgent THEN 1 ELSE 0 END = 1",
        Compare(EQUAL, Case(((URGENT, c(1)),), c(0)), c(1)),
    ),
    (
        "CASE ward WHEN 'a' THEN 1 WHEN 'b' THEN 2 END = 1",
        Compare(
            EQUAL,
            Case(
                (
                    (Compare(EQUAL, WARD, c("a")), c(1)),
                    (Compare(EQUAL, WARD, c("b")), c(2)),
                ),
                c(None),
            ),
            c(1),
        ),
    ),
]


@pytest.mark.parametrize(("text", "wanted"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_a_condition_of_sql(text: str, wanted: Expression) -> None:
    assert where(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ward", WARD),
        ("FLOOR(stay / 10) * 10", Bin(STAY, 10)),
        ("(FLOOR((stay + 1) / 5)) * 5", Bin(Arithmetic(ADD, STAY, c(1)), 5)),
        ("DATE_TRUNC('month', day)", Period(Span.MONTHS, DAY)),
        ("DATE_TRUNC('week', day)", Period(Span.WEEKS, DAY)),
        ("MONTH(day)", DatePart(DatePartName.MONTH, DAY)),
        ("CASE WHEN urgent THEN 'u' END", Case(((URGENT, c("u")),), c(None))),
    ],
)
def test_a_key_of_sql(text: str, wanted: Expression) -> None:
    assert key(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "FLOOR(stay / 10) * 5",
        "FLOOR(stay / 10) + 10",
        "FLOOR(stay / 2.5) * 2.5",
        "FLOOR(stay * 10) * 10",
        "FLOOR(stay)",
        "FLOOR(stay / 10)",
        "FLOOR(stay / TRUE) * TRUE",
        "FLOOR(stay / -5) * -5",
    ],
)
def test_another_floor_than_that_of_bins_is_a_function(text: str) -> None:
    assert not isinstance(key(text), Bin)
    assert any(call.function is Function.FLOOR for call in every((key(text),), FunctionCall))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("COUNT(*)", CountRows()),
        ("COUNT(note)", CountValues(field("note"))),
        ("SUM(cost * 2)", Sum(Arithmetic(MULTIPLY, COST, c(2)))),
        ("AVG(cost)", Mean(COST)),
    ],
)
def test_an_aggregate_of_sql(text: str, wanted: object) -> None:
    plan = parse(f"SELECT {text} AS n FROM visits", CATALOG)
    assert plan.measures[0].aggregate == wanted


def test_units_are_counted_by_the_column_that_names_them() -> None:
    joined = "visits JOIN patients ON visits.patient = patients.id"
    plan = parse(f"SELECT COUNT(DISTINCT person) AS n FROM {joined}", CATALOG)
    assert plan.measures[0].aggregate == CountUnits()
    plan = parse(f"SELECT COUNT(DISTINCT stay) AS n FROM {joined}", CATALOG)
    assert plan.measures[0].aggregate == CountDistinct(STAY)
    with pytest.raises(InvalidValue, match="counts combinations of several columns"):
        parse(f"SELECT COUNT(DISTINCT stay, person) AS n FROM {joined}", CATALOG)


@pytest.mark.parametrize("digits", [39, 40])
def test_numbers_have_so_many_digits(digits: int) -> None:
    text = f"cost > {'9' * digits}"
    if digits < 40:
        found = where(text)
        assert isinstance(found, Compare)
        assert found.right == Constant(int("9" * digits))
    else:
        assert isinstance(where(text), Compare)
        with pytest.raises(InvalidValue, match="at most 40 digits"):
            where(f"cost > 1{'0' * digits}")


def test_a_question_is_so_long_and_no_longer() -> None:
    text = "SELECT COUNT(*) AS n FROM visits"
    padded = text + " " * (LONGEST_TEXT - len(text))
    assert parse(padded, CATALOG) == parse(text, CATALOG)
    with pytest.raises(InvalidValue, match="at most 20000 characters"):
        parse(padded + " ", CATALOG)
    for odd in ("\0", "\ud800", "\udfff"):
        with pytest.raises(
            InvalidValue, match="A question must have at most 20000 characters, and must not"
        ):
            parse(text + odd, CATALOG)
    assert DEEPEST_TREE == 100


def test_names_are_so_long_and_no_longer() -> None:
    name = "a" * LONGEST_NAME
    plan = parse(f"SELECT COUNT(*) AS {name} FROM visits", CATALOG)
    assert plan.post.outputs[0].name == name
    with pytest.raises(InvalidValue, match=r"A name must have 1 to 100 characters\."):
        parse(f"SELECT COUNT(*) AS {name}a FROM visits", CATALOG)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT COUNT(*) FROM other.visits", "'visits' is not in a schema 'other'"),
        (
            "SELECT COUNT(*) FROM visits TABLESAMPLE 10%",
            r"TABLESAMPLE is not supported; leave it out\.",
        ),
        (
            "SELECT COUNT(*) FROM visits OFFSET 3",
            "OFFSET is not supported; ask for all groups",
        ),
        ("SELECT COUNT(*) FROM visits QUALIFY TRUE", "QUALIFY is not supported"),
        ("SELECT COUNT(*) FROM visits GROUP BY ALL, ward", "ALL in GROUP is not supported"),
        (
            "SELECT COUNT(*) OVER () FROM visits",
            "A question must ask for at least one aggregate",
        ),
        ("SELECT SUM(DISTINCT stay) FROM visits", "DISTINCT is not supported in this part of"),
        (
            "SELECT COUNT(*) FROM visits WHERE SIN(stay) > 1",
            "SIN is not supported; functions of numbers are ABS, ROUND",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE stay % 2 = 1",
            "The remainder of a division is not supported; use FLOOR",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE stay // 2 = 1",
            r"Integer division is not supported; write bins as FLOOR\(x / 10\)",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1)",
            "A question needs FROM with the name of a dataset",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE stay IN (SELECT 1)",
            r"IN \(SELECT ...\) must compare one column with one column",
        ),
        (
            "SELECT COUNT(*) FROM visits ORDER BY 2 NULLS FIRST",
            "ORDER BY 2 is not the number of a column",
        ),
        (
            "SELECT RANDOM() FROM visits",
            "RANDOM is not supported: chance has a place in the noise alone",
        ),
        ("DELETE FROM visits", "A question must be one SELECT statement"),
        ("", "A question must be one SELECT statement"),
    ],
)
def test_what_is_not_listed_is_refused(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        parse(text, CATALOG)


def test_what_has_advice_is_not_known_as_well() -> None:
    assert not set(ADVICE) & set(KNOWN)
