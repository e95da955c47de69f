"""Groups by computed keys: their values are public, and a row is in the group of its value."""

from typing import Any

import pytest
from ward import ROWS, c, field

from tacit.core.domain import Column, Keys, Kind
from tacit.engines.reference import _key
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import CaseKey, StepsKey
from tacit.plan.computed_keys import MOST_NAMED, computed_key
from tacit.plan.expression import (
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Divide,
    Expression,
    Function,
    FunctionCall,
    IsNull,
    Not,
    Operation,
)
from tacit.plan.type_check import ColumnScope

WARD, STAY, COST, URGENT, NOTE = map(field, ("ward", "stay", "cost", "urgent", "note"))
UNKNOWN = Case(((Not(IsNull(WARD)), WARD),), c("unknown"))
EVERY = {"visits.ward": None, "visits.urgent": None, "visits.note": None}


def group(expression: Expression, **cells: Any) -> Any:
    row = EVERY | {f"visits.{name}": cell for name, cell in cells.items()}
    return _key(computed_key("k", expression, ROWS), row)


def test_null_is_one_more_group_by_coalesce() -> None:
    found = computed_key("k", UNKNOWN, ROWS)
    assert isinstance(found, CaseKey)
    assert found.keys.values == ("east", "north", "south", "unknown")
    assert group(UNKNOWN, ward="north") == "north"
    assert group(UNKNOWN) == "unknown"
    # a value that is not declared is in no group, as it is in GROUP BY ward
    assert group(UNKNOWN, ward="elsewhere") is None


def test_keys_with_one_result_are_one_group() -> None:
    first = FunctionCall(Function.SUBSTRING, (UNKNOWN, c(2), c(1)))
    found = computed_key("k", first, ROWS)
    assert found.keys.values == ("a", "o", "n")
    assert [group(first, ward=ward) for ward in ("east", "north", "south")] == ["a", "o", "o"]
    assert group(first) == "n"
    assert group(first, ward="elsewhere") is None


def test_a_case_of_columns_and_constants() -> None:
    urgent = Case(((URGENT, WARD), (IsNull(URGENT), c(None))), c("plan"))
    assert computed_key("k", urgent, ROWS).keys.values == ("east", "north", "south", "plan")
    assert group(urgent, urgent=True, ward="east") == "east"
    assert group(urgent, urgent=True, ward="x") is None
    assert group(urgent, urgent=True) is None
    assert group(urgent, urgent=False, ward="east") == "plan"
    assert group(urgent, ward="east") is None


def test_a_condition_has_the_groups_1_and_0() -> None:
    yes = Case(((Not(IsNull(URGENT)), URGENT),), c(False))
    assert [group(yes, urgent=cell) for cell in (True, False, None)] == [1, 0, 0]
    here = Compare(Comparison.EQUAL, WARD, c("east"))
    assert [group(here, ward=cell) for cell in ("east", "x", None)] == [1, 0, None]


def test_integers_have_a_group_each() -> None:
    tens = FunctionCall(Function.ROUND, (STAY, c(-1)))
    found = computed_key("k", tens, ROWS)
    assert isinstance(found, StepsKey)
    assert found.keys.values == (0, 10, 20, 30)
    assert group(tens, stay=14) == 10
    assert group(tens, stay=None) is None
    assert group(tens, stay=10**9) == 30


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (Divide(STAY, c(2)), "would have one value each; use bins"),
        (Arithmetic(Operation.MULTIPLY, STAY, c(40)), "1161 values .* 1000 are the most"),
        (Case(((URGENT, NOTE),), c("x")), "This expression cannot be a group key"),
        (FunctionCall(Function.UPPER, (NOTE,)), "UPPER needs a text column with declared keys"),
        (Case(((URGENT, c(None)),), c(None)), "always NULL"),
        (c("x"), "does not support constants"),
    ],
)
def test_what_has_no_public_list_is_refused(expression: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        computed_key("k", expression, ROWS)


def test_the_number_of_cases_has_a_limit() -> None:
    def keyed(count: int) -> CaseKey | StepsKey:
        many = Column("t.x", Kind.TEXT, keys=Keys(tuple(f"k{at}" for at in range(count))))
        part = FunctionCall(Function.UPPER, (field("x"),))
        scope = ColumnScope((Column("visits.x", Kind.TEXT, keys=many.keys),))
        return computed_key("k", part, scope)

    assert len(keyed(MOST_NAMED).keys.values) == MOST_NAMED
    with pytest.raises(InvalidValue, match="has 201 cases, and 200 are the most"):
        keyed(MOST_NAMED + 1)
