import pytest
from clinic import plans
from hypothesis import given
from hypothesis import strategies as st
from per_unit import unit_plans
from public import public_plans

from tacit.errors import InvalidValue
from tacit.plan.canonical_form import NODES, decode_plan, text
from tacit.plan.plan import Plan


@given(plans())
def test_a_plan_is_read_back_as_it_was(plan: Plan) -> None:
    assert decode_plan(text(plan)) == plan


@given(st.one_of(unit_plans(), public_plans()))
def test_a_plan_about_units_or_public_tables_is_read_back_as_it_was(plan: Plan) -> None:
    assert decode_plan(text(plan)) == plan


@pytest.mark.parametrize(
    "stored",
    ["", "{}", "null", '["Scan","visits"]', '["Plan"]', '["int","1"]', "[" * 10_000, '["os"]'],
)
def test_anything_else_is_refused(stored: str) -> None:
    with pytest.raises(InvalidValue):
        decode_plan(stored)


def test_spaces_are_not_canonical() -> None:
    with pytest.raises(InvalidValue, match="canonical"):
        decode_plan(
            '["Plan", ["Scan","visits"],["tuple"],["tuple",["Measure","n",["CountRows"]]],'
            '["Post",["tuple"],null,["tuple"],null]]'
        )


def test_every_node_has_a_name() -> None:
    relations = {"Scan", "Filter", "Join", "JoinPublic", "PerUnit", "UnitValue"}
    assert relations | {"Plan", "Post", "Field", "Divide", "Mean"} <= NODES.keys()
