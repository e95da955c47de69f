import pytest
from clinic import plans
from hypothesis import given
from per_unit import unit_plans

from tacit.errors import InvalidValue
from tacit.plan.canonical import text
from tacit.plan.plan import Plan
from tacit.plan.stored_plan import NODES, decode


@given(plans())
def test_a_plan_is_read_back_as_it_was(plan: Plan) -> None:
    assert decode(text(plan)) == plan


@given(unit_plans())
def test_a_plan_about_units_is_read_back_as_it_was(plan: Plan) -> None:
    assert decode(text(plan)) == plan


@pytest.mark.parametrize(
    "stored",
    ["", "{}", "null", '["Scan","visits"]', '["Plan"]', '["int","1"]', "[" * 10_000, '["os"]'],
)
def test_anything_else_is_refused(stored: str) -> None:
    with pytest.raises(InvalidValue):
        decode(stored)


def test_spaces_are_not_canonical() -> None:
    with pytest.raises(InvalidValue, match="canonical"):
        decode(
            '["Plan", ["Scan","visits"],["tuple"],["tuple",["Measure","n",["CountRows"]]],'
            '["Post",["tuple"],null,["tuple"],null]]'
        )


def test_every_node_has_a_name() -> None:
    assert {
        "Scan",
        "Join",
        "PerUnit",
        "Plan",
        "Post",
        "Field",
        "Divide",
        "Mean",
    } <= NODES.keys()
