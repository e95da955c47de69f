"""Canonical text: questions that mean the same have one text, and no others have."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from hashlib import sha256

import pytest
from ward import asked, c, field

from tacit.errors import InternalError, InvalidValue
from tacit.plan.canonical_form import canonical, decode_plan, text
from tacit.plan.expression import (
    And,
    Compare,
    Comparison,
    Constant,
    DatePart,
    DatePartName,
    Expression,
    Field,
    Not,
    OneOf,
    Or,
    Period,
    Span,
)
from tacit.plan.plan import (
    CountRows,
    Filter,
    GroupKey,
    Join,
    JoinPublic,
    Mean,
    NamedAggregate,
    OrderBy,
    Output,
    PerUnit,
    Plan,
    Post,
    Relation,
    Scan,
    Sum,
    UnitValue,
    Variance,
)
from tacit.plan.tree_walk import (
    DEEPEST,
    LARGEST_QUESTION,
    PARTS,
    every,
    not_too_large,
    rewritten,
    size,
)

A = Compare(Comparison.MORE, field("stay"), c(7))
B = Compare(Comparison.EQUAL, field("ward"), c("north"))
D = Compare(Comparison.AT_MOST, field("cost"), c(100))
VISITS = Scan("visits")
JOIN = ("patients", "visits.patient", "id")
LOOKUP = ("regions", "visits.ward", "ward")


def of(relation: Relation) -> bytes:
    return canonical(asked(of=relation)).hash


def where(condition: Expression) -> bytes:
    return of(Filter(VISITS, condition))


SAME: dict[str, tuple[bytes, bytes]] = {
    "the order of AND": (where(And((A, B))), where(And((B, A)))),
    "the order of OR": (where(Or((A, B))), where(Or((B, A)))),
    "AND in AND": (where(And((A, And((B, D))))), where(And((D, B, A)))),
    "OR in OR": (where(Or((Or((A, B)), D))), where(Or((D, B, A)))),
    "a condition twice": (where(And((A, A, B))), where(And((A, B)))),
    "AND of one": (where(And((A,))), where(A)),
    "the sides of a comparison": (
        where(A),
        where(Compare(Comparison.LESS, c(7), field("stay"))),
    ),
    "the order of a list": (
        where(OneOf(field("ward"), ("south", "north", "south"))),
        where(OneOf(field("ward"), ("north", "south"))),
    ),
    "a whole fraction": (
        where(Compare(Comparison.MORE, field("stay"), c(Fraction(7)))),
        where(A),
    ),
    "two filters": (of(Filter(Filter(VISITS, A), B)), where(And((B, A)))),
    "a filter before a join": (
        of(Join(Filter(VISITS, A), *JOIN)),
        of(Filter(Join(VISITS, *JOIN), A)),
    ),
    "a filter before a public join": (
        of(JoinPublic(Filter(VISITS, A), *LOOKUP)),
        of(Filter(JoinPublic(VISITS, *LOOKUP), A)),
    ),
}
OTHER: dict[str, tuple[bytes, bytes]] = {
    "AND and OR": (where(And((A, B))), where(Or((A, B)))),
    "OR in AND": (where(And((A, Or((B, D))))), where(And((A, B, D)))),
    "a condition and its opposite": (where(A), where(Not(A))),
    "the sides of an order": (
        where(A),
        where(Compare(Comparison.MORE, c(7), field("stay"))),
    ),
    "more and at least": (where(A), where(replace(A, comparison=Comparison.AT_LEAST))),
    "1 and TRUE": (where(OneOf(field("stay"), (1,))), where(OneOf(field("stay"), (True,)))),
    "1 and '1'": (where(OneOf(field("stay"), (1,))), where(OneOf(field("stay"), ("1",)))),
    "an outer join": (
        of(JoinPublic(VISITS, *LOOKUP)),
        of(JoinPublic(VISITS, *LOOKUP, outer=True)),
    ),
    "a month and a quarter": (
        where(Compare(Comparison.EQUAL, DatePart(DatePartName.MONTH, field("day")), c(3))),
        where(Compare(Comparison.EQUAL, DatePart(DatePartName.QUARTER, field("day")), c(3))),
    ),
    "a condition below units": (
        of(PerUnit(Filter(VISITS, A), (), (UnitValue("n", CountRows()),))),
        of(PerUnit(VISITS, (), (UnitValue("n", CountRows()),))),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_means_the_same_is_one_question(name: str) -> None:
    one, other = SAME[name]
    assert one == other


@pytest.mark.parametrize("name", OTHER)
def test_what_means_something_else_is_another(name: str) -> None:
    one, other = OTHER[name]
    assert one != other


def test_names_and_order_of_keys_and_measures_are_the_analysts_own() -> None:
    ward, stay = field("ward"), field("stay")
    one = asked(Sum(field("cost")), CountRows(), by=(ward, stay))
    other = Plan(
        VISITS,
        (GroupKey("x", stay), GroupKey("y", ward)),
        (
            NamedAggregate("z", CountRows()),
            NamedAggregate("w", Sum(field("cost"))),
            NamedAggregate("v", CountRows()),
        ),
        Post((Output("ratio", Field("w")),), having=Compare(Comparison.MORE, Field("v"), c(1))),
    )
    assert canonical(one).hash == canonical(other).hash
    # and the answer is shown as each asked for it
    assert [each.name for each in canonical(one).post.outputs] == ["k0", "k1", "m0", "m1"]
    assert [each.name for each in canonical(other).post.outputs] == ["ratio"]


def test_what_is_shown_names_the_canonical_columns() -> None:
    plan = asked(Sum(field("cost")), CountRows(), by=(field("ward"),))
    plan = replace(
        plan,
        post=Post(
            (Output("total", Field("m0")), Output("group", Field("k0"))),
            having=Compare(Comparison.MORE, Field("m1"), c(10)),
            order=(OrderBy(Field("m1"), descending=True),),
            limit=3,
        ),
    )
    found = canonical(plan)
    assert [part.name for part in found.plan.measures] == ["measure_0", "measure_1"]
    assert [type(part.aggregate) for part in found.plan.measures] == [CountRows, Sum]
    assert found.post.outputs == (
        Output("total", Field("measure_1")),
        Output("group", Field("key_0")),
    )
    assert found.post.having == Compare(Comparison.MORE, Field("measure_0"), c(10))
    assert found.post.order == (OrderBy(Field("measure_0"), descending=True),)
    assert found.post.limit == 3
    assert found.plan.post == Post.showing("key_0", "measure_0", "measure_1")


def test_a_column_that_the_answer_has_not_is_refused() -> None:
    with pytest.raises(InvalidValue, match="The answer has no column 'm7'"):
        canonical(replace(asked(), post=Post.showing("m7")))


def test_values_of_units_are_named_by_what_they_are() -> None:
    def of_units(first: str, second: str) -> Plan:
        values = (UnitValue(first, CountRows()), UnitValue(second, Sum(field("cost"))))
        below = PerUnit(VISITS, ("visits.ward",), values)
        more = Compare(Comparison.MORE, Field(f"below.{first}"), c(2))
        return asked(
            Mean(Field(f"below.{second}")),
            of=Filter(below, more),
            by=(Field(f"below.{first}"),),
        )

    one, other = of_units("n", "total"), of_units("zebra", "ape")
    assert canonical(one).hash == canonical(other).hash
    swapped = replace(one, measures=(NamedAggregate("m0", Mean(Field("below.n"))),))
    assert canonical(one).hash != canonical(swapped).hash


def test_joins_above_units_follow_the_new_names() -> None:
    below = PerUnit(VISITS, (), (UnitValue("beds", CountRows()),))
    renamed = PerUnit(VISITS, (), (UnitValue("x", CountRows()),))
    one = of(JoinPublic(below, "regions", "below.beds", "ward"))
    assert one == of(JoinPublic(renamed, "regions", "below.x", "ward"))
    one = of(Join(below, "patients", "below.beds", "id"))
    assert one == of(Join(renamed, "patients", "below.x", "id"))


def test_the_keys_of_units_have_no_order_and_stand_once() -> None:
    values = (UnitValue("n", CountRows()),)
    one = of(PerUnit(VISITS, ("visits.ward", "visits.stay", "visits.ward"), values))
    assert one == of(PerUnit(VISITS, ("visits.stay", "visits.ward"), values))
    assert one != of(PerUnit(VISITS, ("visits.stay",), values))


@pytest.mark.parametrize(
    ("node", "written"),
    [
        (c(None), '["Constant",null]'),
        (c(True), '["Constant",true]'),
        (c(7), '["Constant",["int","7"]]'),
        (c(Fraction(1, 3)), '["Constant",["fraction","1/3"]]'),
        (c("a"), '["Constant","a"]'),
        (c(date(2026, 5, 1)), '["Constant",["date","2026-05-01"]]'),
        (Period(Span.WEEKS, Field("d")), '["Period",["enum","WEEKS"],["Field","d"]]'),
        ((1, "x"), '["tuple",["int","1"],"x"]'),
        (Variance(Field("x"), sample=True), '["Variance",["Field","x"],true]'),
    ],
)
def test_the_text_of_a_node(node: object, written: str) -> None:
    assert text(node) == written


def test_a_plan_holds_no_floats() -> None:
    with pytest.raises(InternalError, match="class float has no stored form"):
        text(Constant(1.5))  # type: ignore[arg-type]


def test_the_hash_is_of_the_text_under_its_version() -> None:
    found = canonical(asked())
    assert found.hash == sha256(b"tacit plan 1\n" + text(found.plan).encode()).digest()
    assert decode_plan(text(found.plan)) == found.plan


def test_columns_are_changed_wherever_they_stand() -> None:
    plan = asked(Sum(field("cost")), of=Filter(VISITS, A), by=(field("ward"),))
    changed = rewritten(plan, lambda one: Field(one.name.upper()))
    assert {each.name for each in every(changed.source, Field)} == {"VISITS.STAY"}
    assert changed.keys[0].expression == Field("VISITS.WARD")
    assert changed.measures[0].aggregate == Sum(Field("VISITS.COST"))
    assert rewritten(7, lambda one: one) == 7


def test_the_nodes_of_a_tree_are_counted() -> None:
    assert size(Field("x")) == 1
    assert size(Not(Not(Field("x")))) == 3
    assert size(And((Field("x"), c(1), c(2)))) == 4
    assert size(7) == 1
    assert len(list(every(And((Field("x"), Not(Field("y")))), Field))) == 2
    assert (PARTS[Not], PARTS[str]) == (("part",), None)


def test_a_question_may_be_as_large_as_the_limit_and_no_larger() -> None:
    parts = tuple(Field(str(n)) for n in range(9))
    assert not_too_large(And(parts), most=10) == And(parts)
    with pytest.raises(InvalidValue, match="more than 9 operations"):
        not_too_large(And(parts), most=9)
    many = And(tuple(Field(str(n)) for n in range(LARGEST_QUESTION)))
    with pytest.raises(InvalidValue, match=f"more than {LARGEST_QUESTION} operations"):
        not_too_large(many)
    with pytest.raises(InvalidValue, match=f"more than {LARGEST_QUESTION} operations"):
        where(many)


def test_a_question_may_be_as_deep_as_the_limit_and_no_deeper() -> None:
    def nested(depth: int) -> Expression:
        made: Expression = Field("x")
        for _ in range(depth - 1):
            made = Not(made)
        return made

    not_too_large(nested(DEEPEST))
    with pytest.raises(InvalidValue, match="nested too deeply"):
        not_too_large(nested(DEEPEST + 1))
    with pytest.raises(InvalidValue, match="nested too deeply"):
        where(nested(DEEPEST + 1))
