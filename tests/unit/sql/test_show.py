"""What was parsed, printed and parsed again is the same question."""

# ruff: noqa: E501, S608 - a question is a line

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from clinic import catalog as clinic
from clinic import plans
from hospital import catalog as hospital
from hypothesis import assume, given
from per_unit import unit_plans
from public import catalog as places
from public import public_plans

from tacit.core.catalog import Catalog, Limits
from tacit.errors import InvalidValue
from tacit.plan.canonical_form import canonical
from tacit.plan.expression import (
    And,
    Arithmetic,
    Compare,
    Comparison,
    Constant,
    Expression,
    Field,
    Not,
    Operation,
    Or,
)
from tacit.plan.plan import CountDistinct, CountUnits, Filter, Join, Plan, Scan, per_unit_in
from tacit.plan.source import source_of
from tacit.plan.tree_walk import rewritten
from tacit.sql.parser import parse
from tacit.sql.printer import show

CLINIC, HOSPITAL = clinic(Limits(1, 2)), hospital(Limits(1, 2))
PLACES = places(Limits(1, 2))
LABS = "labs JOIN visits ON visit = visits.id JOIN patients ON patients.id = visits.patient"
TEXTS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3 ORDER BY n DESC, ward LIMIT 2",
    "SELECT COUNT(DISTINCT person), COUNT(pay), AVG(pay + 1), SUM(-age) FROM visits",
    "SELECT VARIANCE(age), VAR_POP(age), STDDEV(age), STDDEV_POP(age) FROM visits",
    "SELECT MEDIAN(age), QUANTILE(pay, 0.125), MIN(cost), MAX(cost) FROM visits",
    "SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY age DESC) FROM visits",
    "SELECT FLOOR((age - 1) / 10) * 10 AS a, COUNT(*) / 2 * a FROM visits GROUP BY a",
    "SELECT CASE age WHEN 1 THEN 'one' WHEN 2 THEN 'it''s' END AS k, SUM(age) FROM visits GROUP BY k",
    "SELECT COUNT(*) FROM visits WHERE age - (age - (1 - age)) * 2 * (age * 3) > -0.5",
    "SELECT COUNT(*) FROM visits WHERE NOT (smoker AND NOT (age > 3 OR pay < 1)) AND age IS NULL",
    "SELECT COUNT(*) FROM visits WHERE (smoker OR age > 3) AND (age IN (1, -2)) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE (age > 3) = (pay > 4) OR day <> DATE '2020-02-29'",
    "SELECT COUNT(*) FROM visits WHERE ward = '; -- \\ \" $$ é' OR TRUE OR NULL",
    'SELECT COUNT(*) * 1 / (SUM(age) / (2 * 3)) - 1 AS "a; ""b" FROM visits',
    "SELECT EXTRACT(DOW FROM day) AS d, DATE_TRUNC('quarter', until) AS q, COUNT(*) FROM visits GROUP BY d, q",
    "SELECT SUM(YEAR(until) * MONTH(day)), MAX(until - DATE '2020-01-01') FROM visits WHERE DAY(day) IN (1, 31)",
    "SELECT DAYOFMONTH(day) + 1 AS d, QUARTER(day) AS q, COUNT(*) FROM visits GROUP BY DAYOFMONTH(day), q",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE '%''_\\' OR NOT ward LIKE '' AND (ward NOT LIKE 'a') = smoker",
    "SELECT COUNT(*) FROM visits WHERE DAY(age IS NULL) < 3 OR MONTH(NOT (age > 3)) > YEAR(CASE WHEN smoker THEN day END)",
    "WITH t AS (SELECT DATE_TRUNC('month', day) AS m, day FROM visits) SELECT m, COUNT(DAY(day)) FROM t GROUP BY m",
    "SELECT AVG(total) FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person)",
    "SELECT ward, AVG(t), COUNT(DISTINCT p) FROM (SELECT person AS p, ward, MAX(age) - MIN(age) AS t FROM visits WHERE smoker GROUP BY p, ward HAVING COUNT(*) > 1) WHERE t > 0.5 GROUP BY ward",
    "WITH t AS (SELECT person, doctor, COUNT(pay) AS n FROM visits GROUP BY person, doctor), u AS (SELECT person, MAX(n) AS n FROM t WHERE doctor <> 'x' GROUP BY person) SELECT n, COUNT(*) FROM u GROUP BY n",
    "WITH t AS (SELECT age + 1 AS a FROM visits WHERE smoker) SELECT SUM(a * a) FROM t WHERE a > 2",
)
LINKED = (
    f"SELECT city, SUM(value * age) FROM {LABS} WHERE value > -3 GROUP BY city",
    f"SELECT COUNT(DISTINCT person) FROM {LABS}",
    "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3) AS v JOIN patients ON patient = patients.id",
    f"SELECT city, AVG(s) FROM (SELECT person, city, SUM(value) AS s FROM {LABS} GROUP BY person, city) GROUP BY city",
    "SELECT region, SUM(beds) FROM visits v LEFT JOIN regions r ON r.ward = v.ward WHERE beds > 3 GROUP BY region",
    "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3) AS v JOIN regions r ON r.ward = v.ward",
    "SELECT region, AVG(n) FROM (SELECT person, ward, COUNT(*) AS n FROM visits JOIN patients p ON patient = p.id GROUP BY person, ward) t JOIN regions r ON r.ward = t.ward WHERE n > 1 GROUP BY region",
    "SELECT COUNT(region) FROM (SELECT person, COUNT(*) AS n FROM patients GROUP BY person) t LEFT JOIN regions r ON t.n = r.beds",
    "SELECT city, COUNT(*) FROM patients p JOIN visits v ON p.id = v.patient GROUP BY city",
)
ALL = [(text, CLINIC) for text in TEXTS] + [(text, HOSPITAL) for text in LINKED]


def said_again(plan: Plan, catalog: Catalog) -> bool:
    units = CountDistinct(Field(source_of(plan.source, catalog).unit))
    measures = (
        replace(each, aggregate=CountUnits()) if each.aggregate == units else each
        for each in plan.measures  # COUNT(DISTINCT person) counts units
    )
    plan = replace(plan, measures=tuple(measures))
    again = canonical(parse(show(plan, catalog), catalog))
    return again == canonical(plan) and again.hash == canonical(plan).hash


@pytest.mark.parametrize(("text", "catalog"), ALL, ids=[text for text, _ in ALL])
def test_a_text_is_said_again(text: str, catalog: Catalog) -> None:
    assert said_again(parse(text, catalog), catalog)


def _called(plan: Plan) -> dict[str, Any]:
    """The parts of a plan, with each column called by its dataset too."""

    def called(field: Field) -> Expression:
        return field if "." in field.name else Field(f"visits.{field.name}")

    return {
        part: rewritten(getattr(plan, part), called) for part in ("source", "keys", "measures")
    }


@given(plans())
def test_a_plan_is_said_and_understood(plan: Plan) -> None:
    resolved = replace(plan, **_called(plan))
    try:
        show(resolved, CLINIC)
    except InvalidValue:
        assume(False)  # a third has no end as a decimal
    assert said_again(resolved, CLINIC)


@given(unit_plans())
def test_a_plan_about_units_is_said_and_understood(plan: Plan) -> None:
    try:
        show(plan, CLINIC)
    except InvalidValue:
        assume(False)  # a third has no end as a decimal
    assert said_again(plan, CLINIC)


@given(public_plans())
def test_a_plan_beside_a_public_table_is_said_and_understood(plan: Plan) -> None:
    if per_unit_in(plan.source) is None:
        plan = replace(plan, **_called(plan))
    try:
        show(plan, PLACES)
    except InvalidValue:
        assume(False)  # a third has no end as a decimal
    assert said_again(plan, PLACES)


def filtered(condition: Expression) -> Plan:
    plan = parse("SELECT COUNT(*) FROM visits", CLINIC)
    return replace(plan, source=Filter(Scan("visits"), condition))


def test_many_conditions_are_not_nested_deeply() -> None:
    ages = [
        Compare(Comparison.EQUAL, Field("visits.age"), Constant(number))
        for number in range(300)
    ]
    assert said_again(filtered(Or(tuple(ages))), CLINIC)
    assert said_again(filtered(And((Not(ages[0]), *ages[1:]))), CLINIC)


def test_parentheses_are_there_where_they_are_needed() -> None:
    age = Field("visits.age")
    minus = Arithmetic(Operation.SUBTRACT, age, Arithmetic(Operation.SUBTRACT, age, age))
    text = show(filtered(Compare(Comparison.MORE, minus, Constant(-1))), CLINIC)
    age_text = '"visits"."age"'
    assert f"WHERE {age_text} - ({age_text} - {age_text}) > (-1)" in text


def test_a_bare_name_is_said_as_it_is() -> None:
    condition = Compare(Comparison.MORE, Field("age"), Constant(3))
    assert 'WHERE "age" > 3' in show(filtered(condition), CLINIC)


def test_what_comes_first_of_a_join_and_a_filter_is_all_the_same() -> None:
    young = Compare(Comparison.LESS, Field("visits.age"), Constant(9))
    plan = parse("SELECT COUNT(*) FROM visits", HOSPITAL)
    join = Join(Scan("visits"), "patients", "visits.patient", "id")
    before = replace(join, source=Filter(Scan("visits"), young))
    one, other = (
        canonical(replace(plan, source=each)) for each in (Filter(join, young), before)
    )
    assert one == other


def test_a_number_without_an_end_cannot_be_said() -> None:
    third = Compare(Comparison.LESS, Field("visits.age"), Constant(Fraction(1, 3)))
    with pytest.raises(InvalidValue, match="1/3 cannot be written as a finite decimal"):
        show(filtered(third), CLINIC)


def test_a_text_that_forgets_a_condition_would_be_found() -> None:
    plan = parse("SELECT COUNT(*) FROM visits WHERE smoker", CLINIC)
    forgotten = replace(plan, source=Scan("visits"))
    assert canonical(parse(show(forgotten, CLINIC), CLINIC)) != canonical(plan)
