"""GROUPING SETS, ROLLUP and CUBE are read, printed, and refused with a reason."""

# ruff: noqa: S608 - our own text

import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.errors import InvalidValue
from tacit.plan.canonical_form import canonical, decode_plan, text
from tacit.plan.plan import Plan
from tacit.sql.parser import parse
from tacit.sql.printer import show

CLINIC = catalog(Limits(1, 2))


def read(group: str, select: str = "COUNT(*)") -> Plan:
    return parse(f"SELECT {select} FROM visits GROUP BY {group}", CLINIC)


def names(plan: Plan) -> list[str]:
    """The grouping sets, by the columns of their keys."""
    columns = {key.name: getattr(key.expression, "name", "?") for key in plan.keys}
    found = [[columns[name].partition(".")[2] for name in each] for each in plan.sets]
    return [" ".join(each) for each in found]


@pytest.mark.parametrize(
    ("group", "sets"),
    [
        ("ROLLUP (ward, smoker)", ["ward smoker", "ward", ""]),
        ("ward, smoker WITH ROLLUP", ["ward smoker", "ward", ""]),
        ("CUBE (ward, smoker)", ["ward smoker", "ward", "smoker", ""]),
        ("ward, smoker WITH CUBE", ["ward smoker", "ward", "smoker", ""]),
        ("GROUPING SETS ((ward, smoker), ward, ())", ["ward smoker", "ward", ""]),
        ("ward, CUBE (smoker)", ["ward smoker", "ward"]),
        ("ROLLUP ((ward, smoker), room)", ["ward smoker room", "ward smoker", ""]),
        ("CUBE (ward), CUBE (smoker)", ["ward smoker", "ward", "smoker", ""]),
        ("GROUPING SETS (ROLLUP (ward, smoker), (room))", ["ward smoker", "ward", "", "room"]),
        ("GROUPING SETS ((ward, ward), ())", ["ward", ""]),
        ("GROUPING SETS ((ward))", []),
        ("ward", []),
    ],
)
def test_grouping_sets_are_expanded(group: str, sets: list[str]) -> None:
    plan = read(group)
    assert names(plan) == sets
    again = parse(show(plan, CLINIC), CLINIC)
    assert canonical(again) == canonical(plan)
    asked = canonical(plan).plan
    assert decode_plan(text(asked)) == asked


def test_the_order_of_grouping_sets_and_keys_does_not_matter() -> None:
    one = canonical(read("GROUPING SETS ((), (ward, smoker), (smoker))"))
    other = canonical(read("GROUPING SETS (smoker, (smoker, ward), ())"))
    assert one.plan == other.plan
    assert one.hash != canonical(read("ROLLUP (ward, smoker)")).hash
    assert canonical(read("ROLLUP (smoker, ward)")).hash == one.hash


def test_a_plan_with_one_table_has_the_text_of_before() -> None:
    assert '"="' not in text(canonical(read("ward")).plan)
    several = text(canonical(read("ROLLUP (ward)")).plan)
    assert several.endswith(',["=","sets",["tuple",["tuple","key_0"],["tuple"]]]]')
    for changed in ('["=","sets",["tuple"]]', '["!","sets",["tuple",["tuple","key_0"]]]'):
        spoilt = several[: several.index(',["=","sets"')] + f",{changed}]"
        with pytest.raises(InvalidValue, match="text of a plan"):
            decode_plan(spoilt)
    with pytest.raises(InvalidValue, match="text of a plan"):
        decode_plan(several.replace('"sets"', '"post"'))


def test_grouping_and_expressions_over_keys() -> None:
    select = (
        "CASE WHEN GROUPING(ward) = 1 THEN 'all' ELSE ward END AS w, "
        "GROUPING_ID(ward, d) AS g, FLOOR(age / 50) * 50 AS d, COUNT(*) AS n"
    )
    plan = read(
        "ROLLUP (ward, d) HAVING GROUPING(d) = 0 OR n > 3 ORDER BY GROUPING(ward), n", select
    )
    assert len(plan.sets) == 3
    assert canonical(parse(show(plan, CLINIC), CLINIC)) == canonical(plan)


@pytest.mark.parametrize(
    ("group", "select", "said"),
    [
        ("CUBE (ward, smoker, age, room, doctor, day, until)", "COUNT(*)", "at most 64"),
        ("CUBE (ward, smoker, age, room), CUBE (doctor, day, until)", "COUNT(*)", "at most 64"),
        ("ward, ROLLUP (ward)", "COUNT(*)", "listed twice"),
        ("GROUPING SETS ((ward), (ward))", "COUNT(*)", "listed twice"),
        ("ROLLUP (ward)", "GROUPING(smoker), COUNT(*)", "must be a key of GROUP BY"),
        (
            "ROLLUP (ward)",
            "GROUPING(), COUNT(*)",
            "GROUPING needs a key|too few|cannot be parsed",
        ),
        ("ROLLUP (1)", "COUNT(*)", "does not support constants|number"),
        ("ROLLUP (ward)", "SUM(GROUPING(ward))", "not supported"),
        ("ROLLUP (ward)", "(ward, smoker), COUNT(*)", "not supported"),
    ],
)
def test_what_is_not_understood_is_refused(group: str, select: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        canonical(read(group, select))


def test_a_subquery_with_several_tables_is_refused() -> None:
    inner = "SELECT person, COUNT(*) AS n FROM visits GROUP BY ROLLUP (person)"
    with pytest.raises(InvalidValue, match="ROLLUP is not supported"):
        parse(f"SELECT AVG(n) FROM ({inner})", CLINIC)
