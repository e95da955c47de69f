"""MIN, MAX and quantiles of days are released as dates; conditions are summed as 0 and 1."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from clinic import TABLE, catalog

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.unseal import unseal
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounding import bound
from tacit.query.intervals import column_of
from tacit.query.open_ends import open_column
from tacit.query.paid_work import release
from tacit.query.pricing import price
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))
FIRST, LAST = date(2020, 2, 1), date(2020, 11, 30)
GATEWAY = LiveGateway(SystemEntropy(b"dates"))


def rows() -> list[Row]:
    days = (FIRST.toordinal() + place % 304 for place in range(4000))
    return [
        {"person": f"p{place}", "until": date.fromordinal(day), "age": place % 80}
        for place, day in enumerate(days)
    ]


def test_the_first_last_and_middle_day_are_dates_without_intervals() -> None:
    text = "SELECT MIN(until) AS a, MAX(until) AS b, MEDIAN(until) AS c FROM visits"
    quote = price(parse(text, CLINIC), CLINIC, Loss.zcdp(Fraction(5)))
    table = Reference({TABLE: rows()}).run(quote.bound.plan, CLINIC, b"salt")
    released = release(quote, table, GATEWAY)[1]
    found = {}
    for measure, reading, slack in zip(
        quote.question.plan.measures, quote.bound.readings, quote.bound.slacks, strict=True
    ):
        column = open_column(column_of("x", reading, quote, released), reading, slack)
        assert column.confidence is None
        assert column.intervals == ()
        (day,) = column.values
        assert isinstance(day, str)
        found[type(measure.aggregate).__name__] = date.fromisoformat(day)
    # noise can choose a day that is a little outside
    assert abs((found["Least"] - FIRST).days) < 45
    assert abs((found["Greatest"] - LAST).days) < 45
    assert abs((found["Quantile"] - date(2020, 7, 1)).days) < 15


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MAX(until) FROM visits HAVING MAX(until) > '2020-03-01'",
        "SELECT ward, MIN(until) AS d FROM visits GROUP BY ward ORDER BY d DESC LIMIT 2",
        "SELECT AVG(until - DATE '2020-01-01') / 365.25 FROM visits",
    ],
)
def test_dates_can_be_compared_and_ordered(text: str) -> None:
    price(parse(text, CLINIC), CLINIC, Loss.zcdp(1))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("MAX(until) - MIN(until)", "must be numbers"),
        ("AVG(until)", "ask for MEDIAN"),
        ("MAX(day)", "has no bounds"),
        ("MAX(CASE WHEN smoker THEN until END)", "number is expected"),
        ("SUM(until)", "number is expected"),
    ],
)
def test_what_has_no_date_is_refused_before_the_charge(text: str, advice: str) -> None:
    with pytest.raises(InvalidValue, match=advice):
        price(parse(f"SELECT {text} FROM visits", CLINIC), CLINIC, Loss.zcdp(1))  # noqa: S608


# Conditions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"), [("SUM(age >= 40)", 2000), ("COUNT_IF(age < 20)", 1000)]
)
def test_a_condition_counts_as_one_or_nothing(text: str, wanted: int) -> None:
    plan = bound(parse(f"SELECT {text} FROM visits", CLINIC), CLINIC).plan  # noqa: S608
    (found,) = Reference({TABLE: rows()}).run(plan, CLINIC, b"salt").tallies
    assert unseal(found).tolist() == [wanted]


def test_a_condition_that_is_summed_is_refused_where_cells_need_people() -> None:
    (visits,) = CLINIC.datasets
    least = replace(CLINIC, datasets=(replace(visits, min_people=5),))
    for text in ("SUM(smoker)", "AVG(age > 3)", "COUNT_IF(smoker)"):
        with pytest.raises(InvalidValue, match="min_people"):
            bound(parse(f"SELECT {text} FROM visits", least), least)  # noqa: S608
