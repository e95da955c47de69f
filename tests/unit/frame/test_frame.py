"""Method calls give the same tree as SQL."""

from datetime import UTC, date, datetime

import pytest
from clinic import catalog as clinic
from hospital import catalog as hospital

from tacit.core.catalog import Limits
from tacit.errors import InvalidValue, UnknownName
from tacit.frame.expression import (
    Agg,
    case,
    col,
    count,
    count_units,
    deviation,
    greatest,
    least,
    mean,
    median,
    quantile,
    total,
    variance,
)
from tacit.frame.table import FrameQuery, Table
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import DatePartName, Span
from tacit.sql.parser import parse

CLINIC = clinic(Limits(1, 2))
HOSPITAL = hospital(Limits(1, 2))
VISITS = Table.of(CLINIC, "visits")

SAME = [
    ("SELECT COUNT(*) AS n FROM visits", VISITS.agg(n=count())),
    (
        (
            "SELECT ward, COUNT(DISTINCT person) AS n, AVG(pay) AS pay FROM visits"
            " WHERE age > 30 AND ward <> 'north' GROUP BY ward"
        ),
        VISITS.where((col("age") > 30) & (col("ward") != "north"))
        .group_by("ward")
        .agg(n=count_units(), pay=mean("pay")),
    ),
    (
        (
            "SELECT SUM(2 * age + 0.5) AS s, COUNT(pay) AS n FROM visits"
            " WHERE NOT smoker OR day >= DATE '2026-01-31' OR age BETWEEN 1 AND 5"
            " OR pay IS NULL OR ward IN ('north', 'south')"
        ),
        VISITS.where(
            ~col("smoker")
            | (col("day") >= date(2026, 1, 31))
            | col("age").between(1, 5)
            | col("pay").is_null()
            | col("ward").is_in("north", "south")
        ).agg(s=total(2 * col("age") + 0.5), n=count("pay")),
    ),
    (
        (
            "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, COUNT(*) AS n"
            " FROM visits GROUP BY who HAVING n > 10 ORDER BY n DESC, who LIMIT 3"
        ),
        VISITS.group_by(who=case((col("age") < 18, "child"), otherwise="adult"))
        .agg(n=count())
        .having(col("n") > 10)
        .order_by("n", descending=True)
        .order_by("who")
        .limit(3),
    ),
    (
        (
            "SELECT DATE_TRUNC('week', day) AS week, SUM(YEAR(until)) AS years,"
            " AVG(until - DATE '2020-01-01') AS days FROM visits"
            " WHERE EXTRACT(DOW FROM day) = 0 AND ward NOT LIKE 'no%' GROUP BY week"
        ),
        VISITS.where((col("day").part(DatePartName.WEEKDAY) == 0) & ~col("ward").like("no%"))
        .group_by(week=col("day").period(Span.WEEKS))
        .agg(
            years=total(col("until").part(DatePartName.YEAR)),
            days=mean(col("until") - date(2020, 1, 1)),
        ),
    ),
    (
        (
            "SELECT ward, AVG(s) AS m FROM (SELECT person, ward, SUM(cost) AS s, COUNT(*) AS n"
            " FROM visits WHERE age > 3 GROUP BY person, ward HAVING n > 1) GROUP BY ward"
        ),
        VISITS.where(col("age") > 3)
        .group_by("ward")
        .per_unit(cost=total("cost"), visits=count())
        .where(col("visits") > 1)
        .group_by("ward")
        .agg(m=mean("cost")),
    ),
    (
        (
            "SELECT MAX(n) AS m FROM (SELECT person, MIN(n) AS n FROM (SELECT person, doctor,"
            " COUNT(age) AS n FROM visits GROUP BY doctor, person) GROUP BY person)"
        ),
        VISITS.group_by("doctor")
        .per_unit(n=count("age"))
        .per_unit(least=least("n"))
        .agg(m=greatest("least")),
    ),
    (
        (
            "SELECT region, SUM(beds) AS s FROM visits JOIN patients p ON patient = p.id"
            " LEFT JOIN regions r ON visits.ward = r.ward WHERE city = 'Ulm' GROUP BY region"
        ),
        Table.of(HOSPITAL, "visits")
        .join("patients", left="patient", right="id")
        .where(col("city") == "Ulm")
        .join("regions", left="visits.ward", right="ward", outer=True)
        .group_by("region")
        .agg(s=total("beds")),
    ),
    (
        (
            "SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS k FROM patients"
            " GROUP BY person) t JOIN regions ON k = beds"
        ),
        Table.of(HOSPITAL, "patients")
        .per_unit(k=count())
        .join("regions", left="k", right="beds")
        .agg(n=count()),
    ),
    (
        (
            "SELECT city, SUM(value) / COUNT(*) AS mean FROM labs"
            " JOIN visits ON visit = visits.id JOIN patients ON patient = patients.id"
            " GROUP BY city"
        ),
        Table.of(HOSPITAL, "labs")
        .join("visits", left="visit", right="id")
        .join("patients", left="visits.patient", right="id")
        .group_by("city")
        .agg(s=total("value"), n=count())
        .select(city=col("city"), mean=col("s") / col("n")),
    ),
]


@pytest.mark.parametrize(("text", "frame"), SAME, ids=[text for text, _ in SAME])
def test_a_frame_and_a_text_that_mean_the_same_are_the_same(
    text: str, frame: FrameQuery
) -> None:
    catalog = CLINIC if "FROM visits" in text and "patients" not in text else HOSPITAL
    assert canonical(parse(text, catalog)) == canonical(frame.plan)


@pytest.mark.parametrize(
    ("function", "made"),
    [
        ("VAR_SAMP(pay)", variance("pay")),
        ("VAR_POP(pay)", variance("pay", sample=False)),
        ("STDDEV_SAMP(pay)", deviation("pay")),
        ("STDDEV_POP(pay)", deviation("pay", sample=False)),
        ("MEDIAN(pay)", median("pay")),
        ("QUANTILE(pay, 0.9)", quantile("pay", 0.9)),
        ("MIN(pay)", least("pay")),
        ("MAX(pay)", greatest("pay")),
    ],
)
def test_every_aggregate_has_a_call(function: str, made: Agg) -> None:
    plan = parse(f"SELECT {function} AS x FROM visits", CLINIC)  # noqa: S608
    assert canonical(plan) == canonical(VISITS.agg(x=made).plan)


def test_another_question_is_another_tree() -> None:
    one, other = VISITS.where(col("age") > 30), VISITS.where(col("age") >= 30)
    assert canonical(one.agg(n=count()).plan) != canonical(other.agg(n=count()).plan)


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(UnknownName, match="no column 'agee'"):
        VISITS.where(col("agee") > 1)
    with pytest.raises(UnknownName, match="no dataset 'visit'"):
        Table.of(CLINIC, "visit")
    with pytest.raises(InvalidValue, match="The answer has no column 'm'; its columns are: n"):
        VISITS.agg(n=count()).order_by("m")
    with pytest.raises(InvalidValue, match=r"with & and \|"):
        VISITS.where(col("age") > 1 and col("age") < 3)
    with pytest.raises(InvalidValue, match="A list cannot be used"):
        VISITS.where(col("age") == [1])
    with pytest.raises(InvalidValue, match="A datetime cannot be used"):
        VISITS.where(col("day") == datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidValue, match="supports only columns"):
        VISITS.group_by(k=col("age") + 1).per_unit(n=count())
    with pytest.raises(
        UnknownName, match=r"no column 'age'; the columns are: visits\.person, below\.n"
    ):
        VISITS.per_unit(n=count()).where(col("age") > 1)
    labs = Table.of(HOSPITAL, "labs").per_unit(n=count())
    with pytest.raises(InvalidValue, match="join 'patients' inside"):
        labs.agg(n=total("n"))
