"""What is hashed is written down: no class, field or choice comes into a text by itself."""

import inspect
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, get_args

import pytest

from tacit.core import Column, Limits
from tacit.core.catalog import Epoch
from tacit.core.domain import Bounds, Keys, Kind, Provenance
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InternalError
from tacit.plan.canonical_form import CHOICES, NODES, PLANS, StoredForm, Vocabulary, text
from tacit.plan.expression import (
    Comparison,
    Constant,
    DatePartName,
    Expression,
    Field,
    Function,
    Operation,
    ReleasedFunction,
    SortKey,
    Span,
    WindowFunction,
)
from tacit.plan.plan import (
    Aggregate,
    GroupKey,
    NamedAggregate,
    OrderBy,
    Output,
    PairFunction,
    Plan,
    Post,
    Relation,
    Scan,
    UnitValue,
)
from tacit.session.policy_version import DECLARATIONS
from tacit.stream.factor import Window
from tacit.stream.stream import STREAMS, Periods

VOCABULARIES = {"plans": PLANS, "declarations": DECLARATIONS, "streams": STREAMS}
FORMS = [
    (kind, form) for words in VOCABULARIES.values() for kind, form in words.classes.items()
]
FUNCTIONS = (Function, ReleasedFunction, WindowFunction, PairFunction)
ENUMS: dict[str, tuple[type[Enum], ...]] = {
    "plans": (Comparison, Operation, DatePartName, Span, *FUNCTIONS),
    "declarations": (Neighbours, Provenance, Kind),
    "streams": (Comparison, Operation, DatePartName, Span, *FUNCTIONS),
}


LATER: dict[type, tuple[str, ...]] = {
    Column: ("max_total", "total_profile", "stored", "zone"),
    Limits: ("max_length",),
    Keys: ("complete",),
}
"""Facts that are hashed beside their class, and only if they are declared.

Whether keys are complete is not hashed at all: it changes no price and no noise.
"""


def test_every_node_of_the_language_is_written_down() -> None:
    unions = [kind for union in (Aggregate, Expression, Relation) for kind in get_args(union)]
    others = [Plan, GroupKey, NamedAggregate, Post, Output, OrderBy, UnitValue, SortKey]
    assert set(PLANS.classes) == {*unions, *others}


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_every_field_is_hashed_or_left_out_on_purpose(kind: Any, form: StoredForm) -> None:
    held = tuple(part.name for part in fields(kind))
    kept = tuple(name for name in held if name not in form.left_out)
    assert kept == (*form.fields, *form.optional)
    assert form.left_out == LATER.get(kind, ())


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_choice_is_written_down(name: str) -> None:
    choices = {choice for kind in ENUMS[name] for choice in kind}
    assert VOCABULARIES[name].choices.keys() == choices


def test_a_class_that_is_not_written_down_is_refused() -> None:
    with pytest.raises(InternalError, match="class Epoch has no stored form"):
        text(Epoch("1"), DECLARATIONS)
    with pytest.raises(InternalError, match="class Bounds has no stored form"):
        text((Scan("visits"), Bounds.of(0, 1)))
    with pytest.raises(InternalError, match="class Window has no stored form"):
        text(Window(1))
    with pytest.raises(InternalError, match="class float has no stored form"):
        text(Constant(0.5))
    assert text(Window(1), STREAMS) == '["Window",["int","1"]]'


def test_a_class_below_a_known_one_is_refused() -> None:
    class Table(Scan):
        __slots__ = ()

    with pytest.raises(InternalError, match="class Table has no stored form"):
        text(Table("visits"))


def test_a_choice_that_is_not_written_down_is_refused() -> None:
    class Colour(Enum):
        LESS = "<"

    with pytest.raises(InternalError, match="no stored name"):
        text(Colour.LESS)
    with pytest.raises(InternalError, match="no stored name"):
        text(Kind.DATE)


@dataclass(frozen=True)
class Ward:
    name: str
    beds: int = 0


@pytest.mark.parametrize(
    ("form", "refused"),
    [
        (StoredForm("Ward", ("name", "beds")), False),
        (StoredForm("Ward", ("name",), left_out=("beds",)), False),
        (StoredForm("Ward", ("name",), optional=("beds",)), False),
        (StoredForm("Ward", ("name",)), True),  # as if beds had come later
        (StoredForm("Ward", ("name", "beds", "rooms")), True),
        (StoredForm("Ward", ("name", "beds"), left_out=("beds",)), True),
        (StoredForm("Ward", ("name", "beds", "beds")), True),
    ],
)
def test_a_new_field_is_written_down_or_left_out_on_purpose(
    form: StoredForm, *, refused: bool
) -> None:
    if not refused:
        hashed = text(Ward("north", 3), Vocabulary({Ward: form}, {}))
        assert ('["int","3"]' in hashed) is ("beds" not in form.left_out)
        usual = text(Ward("north"), Vocabulary({Ward: form}, {}))
        assert ('["int","0"]' in usual) is ("beds" in form.fields)
        return
    with pytest.raises(InternalError, match="list each field once"):
        Vocabulary({Ward: form}, {})


def test_an_optional_field_is_written_where_it_is_not_its_default() -> None:
    before = Vocabulary({Ward: StoredForm("Ward", ("name",), left_out=("beds",))}, {})
    later = Vocabulary({Ward: StoredForm("Ward", ("name",), optional=("beds",))}, {})
    assert text(Ward("north"), later) == text(Ward("north"), before)
    assert text(Ward("north", 3), later) == '["Ward","north",["=","beds",["int","3"]]]'


def test_a_stored_name_stands_for_one_class_and_one_choice() -> None:
    with pytest.raises(InternalError, match="distinct"):
        PLANS.with_more({Ward: StoredForm("Scan", ("name", "beds"))})
    with pytest.raises(InternalError, match="distinct"):
        PLANS.with_more({}, {Kind.DATE: "DAY"})
    more = PLANS.with_more({Ward: StoredForm("Ward", ("name", "beds"))}, {Kind.DATE: "DATE"})
    assert text((Ward("a"), Kind.DATE), more) == (
        '["tuple",["Ward","a",["int","0"]],["enum","DATE"]]'
    )


def test_a_class_under_another_name_and_with_fields_in_another_order_has_the_same_text() -> (
    None
):
    @dataclass(frozen=True)
    class Place:
        beds: int
        name: str

    form = StoredForm("Ward", ("name", "beds"))
    moved, before = Vocabulary({Place: form}, {}), Vocabulary({Ward: form}, {})
    assert text(Place(3, "north"), moved) == text(Ward("north", 3), before)


def test_plans_are_read_back_by_the_names_of_the_table() -> None:
    assert NODES["Scan"] is Scan
    assert NODES["Measure"] is NamedAggregate
    assert CHOICES["WEEKDAY"] is DatePartName.WEEKDAY
    assert not NODES.keys() & {"Periods", "Window", "Population", "Limits"}
    assert all(inspect.isclass(kind) for kind in NODES.values())


def test_values_are_told_apart_by_their_kinds() -> None:
    values = [True, 1, "1", Fraction(1, 2), None, (1,), Field("1")]
    assert len({text(value) for value in values}) == len(values)
    assert Periods in STREAMS.classes
