"""Given a catalogue and a plan: the bounded plan, or the refusal and its words."""

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import pytest
from ward import CATALOG, ROWS, WARDS, YEAR, asked, c, field, ward

from tacit.core.catalog import Limits
from tacit.core.domain import Bounds, Column, Keys, Kind
from tacit.errors import InvalidValue, MissingBound
from tacit.plan import bounding
from tacit.plan.bounded_plan import CaseKey, ColumnKey, PeriodKey, StepsKey
from tacit.plan.bounding import bound, gather, gather_value, mentions
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    DatePartName,
    Divide,
    Expression,
    Field,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Span,
)
from tacit.plan.group_keys import MOST_BINS, MOST_PERIODS, bound_key
from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Filter,
    Greatest,
    GroupKey,
    Join,
    JoinPublic,
    Least,
    Mean,
    NamedAggregate,
    OrderBy,
    Output,
    PerUnit,
    Post,
    Quantile,
    Scan,
    Sum,
    UnitValue,
)
from tacit.plan.released_kinds import check_post
from tacit.plan.row_cost import (
    LONGEST_LITERAL,
    MOST_LISTED,
    MOST_RUNGS,
    MOST_TERMS,
    not_too_many_terms,
)
from tacit.plan.source import CountOf, GreatestOf, LeastOf, MeanOf, SumOf
from tacit.plan.steps import (
    AllOf,
    ColumnIsNull,
    ColumnSteps,
    CompareColumn,
    ComputedColumn,
    ComputedSteps,
    ConstantCondition,
    Negation,
    Ranged,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import RowTally, TotalReading, TotalTally, UnitTally
from tacit.plan.type_check import ColumnScope, clamped_days

STAY, COST, WARD, DAY, SEEN = map(field, ("stay", "cost", "ward", "day", "seen"))
VISIT = Scan("visits")
LONG = Compare(Comparison.MORE, STAY, c(7))
JOINED = Join(VISIT, "patients", "visits.patient", "id")


def keyed(expression: Expression, scope: ColumnScope = ROWS) -> object:
    return bound_key(GroupKey("k", expression), scope)


def test_a_count_is_bounded_by_the_rows_of_a_unit_and_one_group() -> None:
    found = bound(asked(of=Filter(VISIT, LONG)), CATALOG)
    plan = found.plan
    assert plan.source.dataset == "visits"
    assert plan.condition == AllOf(
        (CompareColumn(Comparison.MORE, "visits.stay", Kind.INTEGER, 7),)
    )
    assert (plan.keys, plan.max_groups, plan.max_rows, plan.max_rows_in_all) == ((), 1, 5, None)
    assert plan.tallies == (RowTally(ConstantCondition(True), 5),)
    assert found.readings == (TotalReading(0, Fraction(1)),)


def test_groups_are_as_many_as_the_owner_allows_of_a_unit() -> None:
    plan = bound(asked(Sum(STAY), by=(WARD,)), CATALOG).plan
    assert plan.keys == (ColumnKey("k0", "visits.ward", Kind.TEXT, WARDS),)
    assert (plan.max_groups, plan.max_rows) == (3, 5)
    assert plan.tallies == (
        TotalTally(ColumnSteps("visits.stay", Kind.INTEGER, ROWS["stay"].grid()), 0, 150),
    )


@pytest.mark.parametrize(
    ("limits", "groups", "rows"),
    [
        (Limits(3, 5), 3, 5),
        (Limits(3, 5, 4), 3, 4),
        (Limits(3, 5, 2), 2, 2),
        (Limits(3, 5, 1), 1, 1),
        (Limits(3, 5, 99), 3, 5),
        (Limits(5, 3, 4), 4, 3),
    ],
)
def test_rows_in_all_limit_groups_and_rows(limits: Limits, groups: int, rows: int) -> None:
    catalog = ward(visits=limits)
    plan = bound(asked(CountRows(), by=(WARD,)), catalog).plan
    assert (plan.max_groups, plan.max_rows) == (groups, rows)
    assert plan.max_rows_in_all == limits.max_rows_in_all
    assert plan.tallies == (RowTally(ConstantCondition(True), rows),)
    alone = bound(asked(), catalog).plan
    assert (alone.max_groups, alone.max_rows) == (1, rows)
    assert alone.max_rows_in_all == limits.max_rows_in_all


def test_where_groups_are_secret_units_are_counted_first() -> None:
    plan = bound(asked(CountRows(), by=(field("note"),)), CATALOG).plan
    assert plan.tallies == (UnitTally(), RowTally(ConstantCondition(True), 5))
    assert plan.keys == (ColumnKey("k0", "visits.note", Kind.TEXT, None),)
    public = bound(asked(CountRows(), by=(WARD,)), CATALOG).plan
    assert UnitTally() not in public.tallies
    both = bound(asked(CountUnits(), by=(WARD, field("note"))), CATALOG)
    assert both.plan.tallies == (UnitTally(),)
    assert both.readings == (TotalReading(0, Fraction(1)),)


def test_limits_are_those_of_the_table_whose_rows_are_counted() -> None:
    catalog = ward(visits=Limits(2, 6), patients=Limits(9, 8))
    back = Join(Scan("patients"), "visits", "patients.id", "patient")
    for relation in (JOINED, back):
        assert bound(asked(of=relation), catalog).plan.max_rows == 6


@pytest.mark.parametrize(
    "key",
    [
        Field("patients.person"),
        Field("person"),
        Case(((Compare(Comparison.EQUAL, Field("person"), c("x")), c(1)),), c(0)),
    ],
)
def test_a_question_that_names_the_unit_is_refused(key: Expression) -> None:
    with pytest.raises(
        InvalidValue, match=r"'patients\.person' identifies a person; groups of one"
    ):
        bound(asked(of=JOINED, by=(key,)), CATALOG)


def test_where_a_column_is_mentioned() -> None:
    scope = gather(JOINED, CATALOG).scope
    deep = And((Not(Compare(Comparison.EQUAL, Field("age"), c(1))),))
    assert mentions(deep, "patients.age", scope)
    assert not mentions(deep, "patients.person", scope)
    assert not mentions(c("patients.age"), "patients.age", scope)


def test_a_question_has_so_many_measures_and_no_more() -> None:
    many = asked(*[CountRows()] * bounding.MOST_MEASURES)
    assert len(bound(many, CATALOG).readings) == 100
    more = replace(many, measures=(*many.measures, NamedAggregate("z", CountRows())))
    with pytest.raises(InvalidValue, match="at most 100 aggregates"):
        bound(more, CATALOG)


def test_an_answer_has_so_many_public_groups_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by = (
        WARD,
        DatePart(DatePartName.MONTH, DAY),
        field("note"),
    )  # 3 times 12, and a secret one
    monkeypatch.setattr(bounding, "MOST_GROUPS", 36)
    assert len(bound(asked(by=by), CATALOG).plan.keys) == 3
    monkeypatch.setattr(bounding, "MOST_GROUPS", 35)
    with pytest.raises(InvalidValue, match="at most 35 groups, and this one would have"):
        bound(asked(by=by), CATALOG)


def test_the_most_groups_are_ten_million() -> None:
    assert bounding.MOST_GROUPS == 10**7


# ---------------------------------------------------------------- keys


def test_keys_of_columns() -> None:
    assert keyed(WARD) == ColumnKey("k", "visits.ward", Kind.TEXT, WARDS)
    assert keyed(field("id")) == ColumnKey("k", "visits.id", Kind.INTEGER, None)
    truths = Keys((0, 1))
    assert keyed(field("urgent")) == ColumnKey("k", "visits.urgent", Kind.BOOLEAN, truths)
    assert keyed(SEEN) == ColumnKey("k", "visits.seen", Kind.DATE, None)


def test_keys_of_a_case_are_named_by_the_question() -> None:
    urgent = (field("urgent"), c("yes"))
    found = keyed(Case((urgent, (LONG, c("long")), (Not(LONG), c("yes"))), c("no")))
    assert isinstance(found, CaseKey)
    assert found.keys == Keys(("yes", "long", "no"))
    assert [value for _, value in found.whens] == ["yes", "long", "yes"]
    assert found.otherwise == "no"
    bare = keyed(Case((urgent,), c(None)))
    assert isinstance(bare, CaseKey)
    assert (bare.keys, bare.otherwise) == (Keys(("yes",)), None)
    whole = keyed(Case(((LONG, c(Fraction(4))),), c(0)))
    assert isinstance(whole, CaseKey)
    assert whole.keys == Keys((4, 0))


def test_bins_reach_from_the_first_to_the_last_that_the_bounds_touch() -> None:
    found = keyed(Bin(STAY, 10))  # 1 to 30
    assert isinstance(found, CaseKey)
    assert found.keys == Keys((0, 10, 20, 30))
    comparisons = [(when.comparison, when.value, name) for when, name in found.whens]  # type: ignore[union-attr]
    assert comparisons == [
        (Comparison.LESS, 10, 0),
        (Comparison.LESS, 20, 10),
        (Comparison.LESS, 30, 20),
        (Comparison.AT_LEAST, 30, 30),
    ]
    assert found.otherwise is None
    below = keyed(Bin(COST, 500))  # -10 to 1000
    assert isinstance(below, CaseKey)
    assert below.keys == Keys((-500, 0, 500, 1000))


def test_bins_are_so_many_and_no_more() -> None:
    def width(top: int) -> object:
        column = Column("t.x", Kind.INTEGER, bounds=Bounds.of(0, top))
        return keyed(Bin(Field("x"), 1), ColumnScope((column,)))

    found = width(MOST_BINS - 1)
    assert isinstance(found, CaseKey)
    assert len(found.keys.values) == MOST_BINS == 200
    with pytest.raises(
        InvalidValue, match="Bins of width 1 give 201 groups within the bounds, and 200"
    ):
        width(MOST_BINS)
    with pytest.raises(MissingBound):
        keyed(Bin(field("free"), 1))


def test_bins_of_what_is_much_to_compute_are_fewer() -> None:
    part: Expression = STAY
    for _ in range(90):
        part = Arithmetic(Operation.ADD, part, c(1))
    with pytest.raises(InvalidValue, match="too many operations for this number of bins"):
        keyed(Bin(part, 1))


def test_parts_of_days_are_bins_of_one() -> None:
    found = keyed(DatePart(DatePartName.QUARTER, SEEN))
    assert isinstance(found, CaseKey)
    assert found.keys == Keys((1, 2, 3, 4))


def test_periods_are_public_where_days_have_bounds() -> None:
    found = keyed(Period(Span.QUARTERS, DAY))
    starts = ("2026-01-01", "2026-04-01", "2026-07-01", "2026-10-01")
    assert found == PeriodKey("k", clamped_days(ROWS["day"]), Span.QUARTERS, Keys(starts))
    free = keyed(Period(Span.WEEKS, SEEN))
    assert free == PeriodKey("k", clamped_days(ROWS["seen"]), Span.WEEKS, None)


def test_periods_are_so_many_and_no_more() -> None:
    first = date(1900, 1, 1)

    def within(days: int) -> object:
        bounds = Bounds.days(first, first + timedelta(days=days))
        column = Column("t.d", Kind.DATE, bounds=bounds)
        return keyed(Period(Span.DAYS, Field("d")), ColumnScope((column,)))

    assert isinstance(within(MOST_PERIODS), PeriodKey)
    told = r"The bounds of 't\.d' contain more than 50000 days; ask for longer"
    with pytest.raises(InvalidValue, match=told):
        within(MOST_PERIODS + 1)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (COST, r"Groups by 'visits\.cost', a decimal column, would have one value each"),
        (field("heat"), "a float column, would have one value each"),
        (field("at"), "a timestamp column, would have one value each"),
        (c(1), "GROUP BY does not support constants"),
        (Arithmetic(Operation.ADD, COST, c(1)), "would have one value each; use bins"),
        (Case(((LONG, COST),), c(1)), "would have one value each; use bins"),
        (Arithmetic(Operation.ADD, field("day"), c(1)), "cannot be a group key. Group by a"),
        (Case(((LONG, c(True)),), c(1)), "must be constant texts or integers"),
        (Case(((LONG, c(Fraction(1, 2))),), c(1)), "must be constant texts or integers"),
        (Case(((LONG, c(1)),), c("x")), "Keys must be all text or all integers"),
        (Period(Span.DAYS, STAY), "need a date or timestamp column as argument"),
    ],
)
def test_what_makes_no_groups_is_refused(expression: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        keyed(expression)


def test_numbers_of_units_make_groups_where_they_are_whole_and_few() -> None:
    few = ComputedColumn.of("below.n", Ranged(ComputedSteps("below.n"), 1, 3, Fraction(1)))
    found = keyed(Field("n"), ColumnScope((few,)))
    assert found == ColumnKey("k", "below.n", Kind.INTEGER, Keys((1, 2, 3)))
    many = ComputedColumn.of("below.n", Ranged(ComputedSteps("below.n"), 1, 999, Fraction(1)))
    with pytest.raises(InvalidValue, match="an integer with at most 200"):
        keyed(Field("n"), ColumnScope((many,)))


# ---------------------------------------------------------------- rows of units


def units(*values: Aggregate, keys: tuple[str, ...] = ()) -> PerUnit:
    named = tuple(UnitValue(f"v{at}", each) for at, each in enumerate(values))
    return PerUnit(JOINED, keys, named)


STEPS = ColumnSteps("visits.stay", Kind.INTEGER, ROWS["stay"].grid())
OF_UNITS: list[tuple[Aggregate, object, tuple[int, int]]] = [
    (CountRows(), CountOf(ConstantCondition(True), 1, 5), (1, 5)),
    (
        CountValues(field("note")),
        CountOf(Negation(ColumnIsNull("visits.note", Kind.TEXT)), 0, 5),
        (0, 5),
    ),
    (Sum(STAY), SumOf(STEPS, 1, 150), (1, 150)),
    (Least(STAY), LeastOf(STEPS), (1, 30)),
    (Greatest(STAY), GreatestOf(STEPS), (1, 30)),
]


@pytest.mark.parametrize(("aggregate", "made", "ends"), OF_UNITS)
def test_the_range_of_a_number_of_units(
    aggregate: Aggregate, made: object, ends: tuple[int, int]
) -> None:
    found, ranged = gather_value(aggregate, ROWS, 5)
    assert found == made
    assert (ranged.low, ranged.high, ranged.step, ranged.rounding) == (*ends, 1, 0)


def test_a_sum_of_units_reaches_from_one_low_row_to_all_rows() -> None:
    _, ranged = gather_value(Sum(COST), ROWS, 5)
    assert (ranged.low, ranged.high) == (-1000 * 5, 100_000 * 5)
    _, heat = gather_value(Sum(field("heat")), ROWS, 5)
    assert heat.rounding == 5 * ROWS["heat"].grid().step / 2
    assert heat.low == ROWS["heat"].grid().lowest  # of one row alone


def test_a_mean_of_units_is_in_parts_of_a_step() -> None:
    found, ranged = gather_value(Mean(STAY), ROWS, 5)
    finer = 2 ** (34 - 5)  # 29 has 5 bits
    assert found == MeanOf(SumSteps(STEPS, WholeSteps(-1)), finer, finer)
    assert (ranged.low, ranged.high, ranged.step) == (finer, 30 * finer, Fraction(1, finer))
    assert ranged.rounding == Fraction(1, finer) / 2


def test_what_units_have_no_number_of_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"supports only COUNT\(\*\)"):
        gather_value(Quantile(STAY, Fraction(1, 2)), ROWS, 5)
    with pytest.raises(
        InvalidValue, match="A subquery that aggregates the rows of each unit supports only"
    ):
        gather_value(CountUnits(), ROWS, 5)


def test_units_have_one_row_or_one_for_each_group() -> None:
    alone = bound(asked(of=units(CountRows())), CATALOG).plan
    assert (alone.max_groups, alone.max_rows) == (1, 1)
    by_ward = units(CountRows(), keys=("visits.ward",))
    assert bound(asked(of=by_ward), CATALOG).plan.max_rows == 3
    # grouped by the same keys again, a unit has one row in a group
    again = bound(asked(of=by_ward, by=(WARD,)), CATALOG).plan
    assert (again.max_groups, again.max_rows) == (3, 1)
    other = bound(asked(of=by_ward, by=(Field("below.v0"),)), CATALOG).plan
    assert (other.max_groups, other.max_rows) == (3, 3)


def test_the_columns_above_units_are_the_unit_its_keys_and_its_values() -> None:
    rows = gather(units(CountRows(), Sum(STAY), keys=("visits.ward",)), CATALOG)
    assert [column.name for column in rows.scope.columns] == [
        "patients.person",
        "visits.ward",
        "below.v0",
        "below.v1",
    ]
    gathered = rows.source.gathered
    assert gathered is not None
    assert gathered.keys == ("visits.ward",)
    assert [name for name, _ in gathered.values] == ["below.v0", "below.v1"]
    assert rows.limits == Limits(3, 3)


def test_rows_of_units_name_their_unit_and_group_by_columns() -> None:
    alone = PerUnit(VISIT, (), (UnitValue("n", CountRows()),))
    with pytest.raises(
        InvalidValue, match=r"belong to patients\.person; join 'patients' inside"
    ):
        gather(alone, CATALOG)
    for key in ("visits.cost", "visits.at"):
        with pytest.raises(
            InvalidValue, match="cannot be a group key of a subquery; group by the"
        ):
            gather(units(CountRows(), keys=(key,)), CATALOG)


def test_a_public_join_equates_columns_of_one_kind() -> None:
    with pytest.raises(
        InvalidValue, match=r"visits\.stay is integer and regions\.ward is text"
    ):
        gather(JoinPublic(VISIT, "regions", "visits.stay", "ward"), CATALOG)
    rows = gather(JoinPublic(VISIT, "regions", "visits.ward", "ward"), CATALOG)
    assert rows.scope["region"].name == "regions.region"


# ---------------------------------------------------------------- after the release


KEYS = (
    ColumnKey("ward", "visits.ward", Kind.TEXT, WARDS),
    ColumnKey("n", "visits.id", Kind.INTEGER, None),
    ColumnKey("day", "visits.day", Kind.DATE, None),
    ColumnKey("urgent", "visits.urgent", Kind.BOOLEAN, Keys((0, 1))),
    PeriodKey("week", clamped_days(ROWS["day"]), Span.WEEKS, None),
    CaseKey("size", (), None, Keys((1, 2))),
    CaseKey("name", (), None, Keys(("a", "b"))),
    StepsKey("class", WholeSteps(0), Keys((0, 1))),
)
TEXTS, NUMBERS = ("ward", "day", "week", "name"), ("n", "urgent", "size", "class", "m")


def compared(name: str, value: object) -> Post:
    return replace(
        Post.showing(name),
        having=Compare(Comparison.EQUAL, Field(name), Constant(value)),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", TEXTS)
def test_keys_that_are_released_as_text(name: str) -> None:
    check_post(compared(name, "x"), KEYS, ("m",))
    with pytest.raises(InvalidValue, match="The kinds text and integer cannot be compared"):
        check_post(compared(name, 1), KEYS, ("m",))


@pytest.mark.parametrize("name", NUMBERS)
def test_keys_and_measures_that_are_released_as_numbers(name: str) -> None:
    check_post(compared(name, 1), KEYS, ("m",))
    with pytest.raises(InvalidValue, match="and text cannot be compared"):
        check_post(compared(name, "x"), KEYS, ("m",))


def test_what_is_shown_ordered_and_kept_makes_sense() -> None:
    ratio = Divide(Field("m"), Field("n"))
    fine = Post(
        (Output("r", ratio),),
        having=c(None),
        order=(OrderBy(ratio, descending=True),),
    )
    check_post(fine, KEYS, ("m",))
    told = {
        "An output cannot be a date": Post((Output("d", c(date(2026, 1, 1))),)),
        "HAVING must be a condition on released values": replace(fine, having=Field("m")),
        "The operands of / must be numbers": replace(
            fine, order=(OrderBy(Divide(Field("ward"), c(1)), descending=False),)
        ),
        "Bins can be used only as a group key": Post((Output("b", Bin(Field("m"), 1)),)),
    }
    for words, post in told.items():
        with pytest.raises(InvalidValue, match=words):
            check_post(post, KEYS, ("m",))


# ---------------------------------------------------------------- how much a row computes


def test_operations_on_a_row_are_so_many_and_no_more() -> None:
    assert (MOST_TERMS, MOST_LISTED, MOST_RUNGS, LONGEST_LITERAL) == (64, 1000, 512, 1000)
    not_too_many_terms(And((LONG,) * 32), Or((LONG,) * 32))
    with pytest.raises(
        InvalidValue, match="has 65 comparisons, arithmetic and other operations"
    ):
        not_too_many_terms(And((LONG,) * 32), Or((LONG,) * 33))


@pytest.mark.parametrize(
    "part",
    [
        LONG,
        OneOf(STAY, (1,)),
        Like(WARD, "n%"),
        Not(field("urgent")),
        Arithmetic(Operation.ADD, STAY, c(1)),
        Bin(STAY, 1),
        DatePart(DatePartName.DAY, DAY),
        Period(Span.DAYS, DAY),
        Case(((field("urgent"), c(1)),), STAY),
        And((field("urgent"), c(True))),
        Or((field("urgent"),)),
    ],
)
def test_each_of_these_is_one_operation(part: Expression) -> None:
    not_too_many_terms(*[part] * 64)
    with pytest.raises(InvalidValue, match="has 65 comparisons"):
        not_too_many_terms(*[part] * 65)


def test_a_ladder_counts_its_rungs_and_is_one_operation() -> None:
    def ladder(rungs: int, otherwise: Expression) -> Case:
        whens = [(Compare(Comparison.LESS, STAY, c(n)), c(n)) for n in range(rungs)]
        return Case(tuple(whens), otherwise)

    not_too_many_terms(ladder(MOST_RUNGS, c(None)))
    with pytest.raises(InvalidValue, match="compares columns with 513 constants in CASE; 512"):
        not_too_many_terms(ladder(MOST_RUNGS + 1, c(None)))
    # one that gives a column, or compares two, is as many operations as it looks
    with pytest.raises(InvalidValue, match="has 66 comparisons"):
        not_too_many_terms(ladder(65, STAY))
    two = Case((*ladder(64, c(0)).whens, (Compare(Comparison.LESS, COST, c(1)), c(1))), c(0))
    with pytest.raises(InvalidValue, match="has 66 comparisons"):
        not_too_many_terms(two)
    texts = Case(((Compare(Comparison.EQUAL, WARD, c("x")), c(1)),) * 64, c(0))
    with pytest.raises(InvalidValue, match="has 65 comparisons"):
        not_too_many_terms(texts)
    mirrored = Case(((Compare(Comparison.EQUAL, c(1), STAY), c(1)),) * 65, c(0))
    not_too_many_terms(mirrored)


def test_lists_and_texts_are_so_long_and_no_longer() -> None:
    not_too_many_terms(OneOf(STAY, tuple(range(600))), OneOf(STAY, tuple(range(400))))
    with pytest.raises(InvalidValue, match="lists 1001 values with IN; 1000 is the most"):
        not_too_many_terms(OneOf(STAY, tuple(range(600))), OneOf(STAY, tuple(range(401))))
    for part in (
        lambda text: Compare(Comparison.EQUAL, WARD, c(text)),
        lambda text: OneOf(WARD, (text,)),
        lambda text: Like(WARD, text),
    ):
        not_too_many_terms(part("é" * 500))
        with pytest.raises(InvalidValue, match="has 1002 bytes; 1000 is the most"):
            not_too_many_terms(part("é" * 501))


def test_too_many_terms_of_a_question_are_refused_wherever_they_stand() -> None:
    many = And(tuple(Compare(Comparison.MORE, STAY, c(n)) for n in range(33)))
    key = Case(((many, c(1)),), c(0))
    assert YEAR.width == 364
    with pytest.raises(InvalidValue, match="has 67 comparisons"):
        bound(asked(of=Filter(VISIT, many), by=(key,)), CATALOG)
