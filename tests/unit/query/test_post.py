"""HAVING, ORDER BY, LIMIT and computed columns on released values; and sizes of answers."""

from fractions import Fraction

import pytest
from ward import CATALOG, WARDS, asked, field

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Guarantee, Release, ReleasedColumn
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    Divide,
    Expression,
    Field,
    IsNull,
    Not,
    OneOf,
    Operation,
    Or,
)
from tacit.plan.plan import CountRows, Greatest, Mean, OrderBy, Output, Post, Sum
from tacit.query.post_processing import IntervalValue, estimate, post_process
from tacit.query.pricing import Advice, price, to_declare
from tacit.query.rehearsal import check_size, most_numbers, numbers_of

F = Fraction
SURE = F(19, 20)
RELEASE = Release(
    (
        ReleasedColumn("ward", ("east", "north", "south")),
        ReleasedColumn(
            "n",
            (F(30), F(10), F(20)),
            ((F(25), F(35)), (F(5), F(15)), (F(15), F(25))),
            SURE,
        ),
        ReleasedColumn("m", (F(2), None, F(2)), ((F(1), F(3)), None, (F(1), F(3))), SURE),
    ),
    Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1)),
    receipt=b"\1",
)
SHOWN = Post.showing("ward", "n")
N, M, WARD = Field("n"), Field("m"), Field("ward")
ROW = {"n": IntervalValue(F(30)), "m": IntervalValue(None), "ward": IntervalValue("east")}


def c(value: object) -> Constant:
    return Constant(value)  # type: ignore[arg-type]


def wards(post: Post) -> tuple[object, ...]:
    return post_process(RELEASE, post).columns[0].values


def test_what_was_released_is_shown_as_it_is() -> None:
    found = post_process(RELEASE, Post.showing("ward", "n", "m"))
    assert found == RELEASE


@pytest.mark.parametrize(
    ("having", "left"),
    [
        (Compare(Comparison.MORE, N, c(10)), ("east", "south")),
        (Compare(Comparison.AT_LEAST, N, c(10)), ("east", "north", "south")),
        (Compare(Comparison.EQUAL, M, c(2)), ("east", "south")),
        (IsNull(M), ("north",)),
        (Not(IsNull(M)), ("east", "south")),
        (Not(Compare(Comparison.EQUAL, M, c(2))), ()),
        (OneOf(WARD, ("east", "west")), ("east",)),
        (Or((IsNull(M), Compare(Comparison.MORE, N, c(20)))), ("east", "north")),
        (And((Not(IsNull(M)), Compare(Comparison.MORE, N, c(20)))), ("east",)),
        (c(None), ()),
        (c(True), ("east", "north", "south")),
    ],
)
def test_groups_are_kept_where_a_condition_is_true(
    having: Expression, left: tuple[str, ...]
) -> None:
    assert wards(Post(SHOWN.outputs, having=having)) == left


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ((OrderBy(N, descending=False),), ("north", "south", "east")),
        ((OrderBy(N, descending=True),), ("east", "south", "north")),
        # NULL is last, whether values rise or fall
        ((OrderBy(M, descending=False),), ("east", "south", "north")),
        ((OrderBy(M, descending=True),), ("east", "south", "north")),
        ((OrderBy(M, descending=True, nulls_first=True),), ("north", "east", "south")),
        (
            (OrderBy(M, descending=False), OrderBy(N, descending=False)),
            ("south", "east", "north"),
        ),
        ((OrderBy(WARD, descending=True),), ("south", "north", "east")),
    ],
)
def test_groups_are_ordered(order: tuple[OrderBy, ...], wanted: tuple[str, ...]) -> None:
    assert wards(Post(SHOWN.outputs, order=order)) == wanted


@pytest.mark.parametrize(("limit", "left"), [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3), (None, 3)])
def test_groups_are_cut(limit: int | None, left: int) -> None:
    assert len(wards(Post(SHOWN.outputs, limit=limit))) == left


def test_computed_columns_have_intervals_and_doubts_add_up() -> None:
    ratio = Divide(M, N)
    found = post_process(RELEASE, Post((Output("r", ratio), Output("flag", IsNull(M)))))
    first, flag = found.columns
    assert first.values == (F(1, 15), None, F(1, 10))
    assert first.intervals[0] == (F(1, 35), F(3, 25))
    assert first.confidence == 1 - 2 * (1 - SURE)
    assert (flag.values, flag.confidence) == ((0, 1, 0), None)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (N, 30),
        (c("x"), "x"),
        (c(7), 7),
        (Arithmetic(Operation.ADD, N, c(1)), 31),
        (Arithmetic(Operation.SUBTRACT, N, c(1)), 29),
        (Arithmetic(Operation.MULTIPLY, N, c(2)), 60),
        (Divide(N, c(4)), F(15, 2)),
        (Case(((IsNull(M), c(1)), (c(True), c(2))), c(3)), 1),
        (Case(((c(None), c(1)), (c(False), c(2))), c(3)), 3),
        (And((c(True), c(None))), None),
        (And((c(False), c(None))), False),
        (And((c(True), c(True))), True),
        (Or((c(False), c(None))), None),
        (Or((c(True), c(None))), True),
        (Or((c(False), c(False))), False),
        (Not(c(None)), None),
        (Not(c(True)), False),
        (Compare(Comparison.EQUAL, M, c(1)), None),
        (OneOf(M, (1,)), None),
        (OneOf(N, (30,)), True),
    ],
)
def test_an_expression_of_released_values(expression: Expression, value: object) -> None:
    assert estimate(expression, ROW).value == value


def test_what_cannot_be_computed_after_a_release_is_refused() -> None:
    with pytest.raises(InvalidValue, match="cannot be computed from released values"):
        estimate(Bin(N, 1), ROW)
    with pytest.raises(InvalidValue, match=r"A text cannot be compared with a number\."):
        estimate(Compare(Comparison.EQUAL, WARD, c(1)), ROW)


# ---------------------------------------------------------------- size and price


def test_the_numbers_of_an_answer() -> None:
    assert numbers_of(bound(asked(), CATALOG).plan) == 1
    by_ward = bound(asked(CountRows(), Mean(field("cost")), by=(field("ward"),)), CATALOG).plan
    assert numbers_of(by_ward) == 3 * (1 + 3)
    secret = bound(asked(CountRows(), by=(field("note"),)), CATALOG).plan
    assert numbers_of(secret) == 1 + 2
    tree = bound(asked(Greatest(field("stay"))), CATALOG).plan
    assert numbers_of(tree) == 1 + tree.tallies[0].nodes // 10  # type: ignore[union-attr]


def test_an_answer_of_more_numbers_than_a_worker_makes_is_refused() -> None:
    plan = bound(asked(CountRows(), by=(field("ward"),)), CATALOG).plan
    check_size(plan, None)
    check_size(plan, 6)
    with pytest.raises(
        InvalidValue, match="This answer has 3 groups with 1 sums each, which are 6 numbers;"
    ):
        check_size(plan, 5)
    assert most_numbers(10**9, 10**9) == 500_000
    assert most_numbers(10**15, 10) == 50_000


@pytest.mark.parametrize(
    "loss", [Loss.zcdp("0.1"), Loss.pure(1), Loss.approximate(1, "1e-6")], ids=str
)
def test_a_price_stays_within_the_loss_that_was_asked_for(loss: Loss) -> None:
    quote = price(asked(Sum(field("cost")), by=(field("ward"),)), CATALOG, loss)
    assert quote.loss == loss
    assert len(quote.tallies) == len(quote.event.events) == 1
    assert quote.assumptions == ("patients.id is unique",)
    assert quote.datasets == ("visits", "patients")
    assert quote.survival == ()
    assert quote.asked["loss"] == [loss.measure.value, str(loss.amount), str(loss.delta)]


def test_secret_groups_need_a_delta_or_a_declaration() -> None:
    plan = asked(CountRows(), by=(field("note"), field("ward")))
    with pytest.raises(InvalidValue, match=r"or declare the keys of 'visits\.note'\."):
        price(plan, CATALOG, Loss.zcdp("0.1"))
    quote = price(plan, CATALOG, Loss.zcdp("0.1", "1e-8"))
    assert [probability for probability, _ in quote.survival] == [F(1, 20), F(1, 2), F(19, 20)]
    assert to_declare(quote.bound.plan) == "declare the keys of 'visits.note'"
    public = bound(asked(by=(field("ward"),)), CATALOG).plan
    assert to_declare(public) == ""
    assert len(WARDS.values) == 3


def test_a_number_of_one_value_is_nothing_to_ask() -> None:
    nothing = Arithmetic(Operation.MULTIPLY, field("stay"), c(0))
    with pytest.raises(
        InvalidValue, match="A number in this question can have only one value within the"
    ):
        price(asked(Sum(nothing)), CATALOG, Loss.pure(1))


@pytest.mark.parametrize(
    ("smaller", "told"),
    [(F(38, 100), "x: noise 38% smaller"), (F(0), "x"), (F(1, 1000), "x"), (F(-1), "x")],
)
def test_advice_tells_whole_percents(smaller: Fraction, told: str) -> None:
    assert str(Advice("x", smaller)) == told


@pytest.mark.parametrize("factor", [F(10**298), F(10**299), F(10**400, 7), F(-(10**400))])
def test_a_number_that_no_float_holds_is_null(factor: Fraction) -> None:
    part = Arithmetic(Operation.MULTIPLY, N, c(factor))
    [shown] = post_process(RELEASE, Post((Output("x", part),))).columns
    for value, around in zip(shown.values, shown.intervals, strict=True):
        numbers = [value, *(around or ())]
        assert all(number is None or abs(float(number)) <= 1e300 for number in numbers)
    assert (None in shown.values) is (abs(factor) > 10**298)
