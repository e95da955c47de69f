"""What is too much to compute, to hold or to show is told before the charge."""

# ruff: noqa: E501, S608 - a question is a line

from dataclasses import replace
from fractions import Fraction
from time import process_time

import pytest
from clinic import catalog
from pace import questions

from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Bounds, Schema
from tacit.core.loss import Loss
from tacit.errors import InvalidValue, TacitError
from tacit.plan.expression import Compare, Comparison, Constant, Field
from tacit.plan.lowering import condition
from tacit.plan.steps import StepsOneOf
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 2))
SCHEMA = CLINIC.dataset("visits").schema
COUNT = "SELECT COUNT(*) FROM visits"
SLOWEST = 300
"""Plain questions that could be read in the time of a long sum."""


def quoted(text: str, declared: Catalog = CLINIC) -> Quote:
    return price(parse(text, declared), declared, Loss.zcdp("0.1"))


REFUSED = [
    (
        f"{COUNT} GROUP BY "
        + ", ".join(f"CASE WHEN age > {i} THEN 1 ELSE 0 END" for i in range(24)),
        "at most 10000000 groups",
    ),
    (
        "SELECT " + ", ".join(f"SUM(age + {number})" for number in range(101)) + " FROM visits",
        "at most 100 aggregates",
    ),
    (f"{COUNT} GROUP BY FLOOR(({'age + ' * 60}age) / 50) * 50", "this number of bins"),
    (f"{COUNT} GROUP BY FLOOR(age * age / 1) * 1", "use wider bins"),
    (
        f"{COUNT} WHERE cost > 0.0000000000000000001",
        "at most 18 digits after the decimal point",
    ),
    (f"{COUNT} WHERE cost IN (4611686018427387904)", "at most 62 bits"),
    # a row of it fits, and the two rows that a person may have do not
    (f"SELECT SUM({'age * ' * 8}100) FROM visits", "can grow beyond 62 bits"),
    (f"{COUNT} WHERE age IN (0.5)", "is an integer column"),
    (f"{COUNT} WHERE UPPER(doctor) = 'A'", "UPPER needs a text column with declared keys"),
    (f"{COUNT} WHERE age / 0 = 3", "Division by 0 has no value"),
    (f"{COUNT} WHERE age / age = 3", "only by a constant number"),
    (f"{COUNT} WHERE {'ABS(age) + ' * 32}ABS(age) > 3", "66 comparisons, arithmetic and other"),
    (f"{COUNT} WHERE {'SQRT(' * 16}age{')' * 16} > 3", "65 comparisons, arithmetic and other"),
    (f"{COUNT} GROUP BY age * 10", "1000 are the most of a group key"),
    (f"{COUNT} GROUP BY cost * 2", "one value each; use bins"),
    ("SELECT COUNT(*) + 'a' FROM visits", r"\+ must be numbers"),
    ("SELECT COUNT(*) / 'a' FROM visits", "operands of / must be numbers"),
    ("SELECT ward / 2, COUNT(*) FROM visits GROUP BY ward", "operands of / must be numbers"),
    (f"{COUNT} HAVING COUNT(*)", "HAVING must be a condition"),
    (f"{COUNT} HAVING COUNT(*) > 'a'", "cannot be compared"),
    (f"{COUNT} ORDER BY CASE WHEN COUNT(*) > 3 THEN 'a' ELSE 1 END", "of one kind"),
    ("SELECT COUNT(*), DATE '2020-01-01' AS d FROM visits", "An output cannot be a date"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward > 3", "cannot be compared"),
    ("SELECT smoker, COUNT(*) FROM visits GROUP BY smoker HAVING smoker", "HAVING must be a"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=[text[:70] for text, _ in REFUSED])
def test_it_is_refused_without_a_charge(text: str, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        quoted(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, SUM(age) / COUNT(*) AS m FROM visits GROUP BY ward HAVING m > 3 ORDER BY m",
        "SELECT CASE WHEN age > 3 THEN 1 END AS k, COUNT(*) FROM visits GROUP BY k HAVING k = 1",
        "SELECT smoker, COUNT(*) FROM visits GROUP BY smoker HAVING smoker = 1 AND NULL IS NULL",
        "SELECT COUNT(*) * NULL FROM visits WHERE age + NULL > 3",
    ],
)
def test_what_makes_sense_has_a_price(text: str) -> None:
    assert quoted(text).loss == Loss.zcdp("0.1")


def test_a_long_sum_is_looked_at_once_at_each_level() -> None:
    start = process_time()
    quoted(f"{COUNT} WHERE age{' + 1' * 60} > 3")
    assert questions(process_time() - start) < SLOWEST  # twice at each level would be for ever


def test_a_list_beside_a_computed_number_names_the_number_once() -> None:
    wanted = parse(f"{COUNT} WHERE age + 0.5 IN (1.5, 2.5, 3)", CLINIC).source
    made = condition(wanted.condition, Schema(_qualified()))  # type: ignore[union-attr]
    assert isinstance(made, StepsOneOf)
    assert made.values == (3, 5, 6)


def _qualified() -> tuple:  # type: ignore[type-arg]
    return tuple(replace(column, name=f"visits.{column.name}") for column in SCHEMA.columns)


def test_a_day_with_bounds_is_still_no_number() -> None:
    columns = tuple(
        replace(column, bounds=Bounds.of(0, 9)) if column.name == "day" else column
        for column in SCHEMA.columns
    )
    visits = replace(CLINIC.dataset("visits"), schema=Schema(columns))
    with pytest.raises(InvalidValue, match="such as a number of days: day - DATE"):
        quoted("SELECT SUM(day) FROM visits", replace(CLINIC, datasets=(visits,)))


def test_a_third_beside_a_decimal_is_refused_too() -> None:
    third = Compare(Comparison.LESS, Field("cost"), Constant(Fraction(1, 3)))
    with pytest.raises(TacitError, match="18 digits"):
        condition(third, SCHEMA)
