"""Names, days, LIKE and the kind of an expression: what has none is refused, with a reason."""

from datetime import date
from fractions import Fraction

import pytest
from ward import CATALOG, ROWS, asked, c, field, scope

from tacit.core.domain import FIRST, LAST, Bounds, Column, Keys, Kind, number_of
from tacit.errors import InvalidValue, MissingBound, UnknownName
from tacit.plan import patterns
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    DatePart,
    DatePartName,
    Divide,
    Expression,
    Field,
    Function,
    FunctionCall,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Span,
)
from tacit.plan.lowering import number
from tacit.plan.patterns import check_pattern, like, matching, not_too_many_patterns
from tacit.plan.plan import Filter, Scan
from tacit.plan.steps import ColumnOneOf, ColumnSteps, CompareColumns, PartSteps
from tacit.plan.type_check import ColumnScope, Released, clamped_days, day_part, is_day, kind_of

MORE, ADD, SUBTRACT = Comparison.MORE, Operation.ADD, Operation.SUBTRACT
MULTIPLY = Operation.MULTIPLY
COST, STAY, HEAT, WARD, URGENT = map(field, ("cost", "stay", "heat", "ward", "urgent"))
DAY, SEEN, AT, NOTE = map(field, ("day", "seen", "at", "note"))
YES = Compare(MORE, STAY, c(1))
NULL = c(None)


def case(*values: Expression) -> Case:
    *thens, otherwise = values
    return Case(tuple((YES, then) for then in thens), otherwise)


KINDS: list[tuple[Expression, Kind | None]] = [
    (Arithmetic(SUBTRACT, DAY, STAY), Kind.DATE),
    (Arithmetic(ADD, STAY, SEEN), Kind.DATE),
    (Divide(STAY, c(2)), Kind.DECIMAL),
    (Divide(HEAT, c(2)), Kind.FLOAT),
    (FunctionCall(Function.ABS, (COST,)), Kind.DECIMAL),
    (FunctionCall(Function.FLOOR, (COST,)), Kind.INTEGER),
    (FunctionCall(Function.INTEGER, (URGENT,)), Kind.INTEGER),
    (FunctionCall(Function.ROUND, (HEAT, c(1))), Kind.DECIMAL),
    (FunctionCall(Function.ROUND, (HEAT, c(-1))), Kind.INTEGER),
    (FunctionCall(Function.GREATEST, (STAY, HEAT, NULL)), Kind.FLOAT),
    (FunctionCall(Function.POWER, (STAY, c(2))), Kind.INTEGER),
    (FunctionCall(Function.POWER, (STAY, c(Fraction(1, 2)))), Kind.FLOAT),
    (FunctionCall(Function.LN, (STAY,)), Kind.FLOAT),
    (FunctionCall(Function.SUBSTRING, (WARD, c(1), c(2))), Kind.TEXT),
    (Like(FunctionCall(Function.UPPER, (WARD,)), "N%"), Kind.BOOLEAN),
    (STAY, Kind.INTEGER),
    (c(True), Kind.BOOLEAN),
    (c(1), Kind.INTEGER),
    (c(Fraction(1, 2)), Kind.DECIMAL),
    (c("x"), Kind.TEXT),
    (c(date(2026, 1, 1)), Kind.DATE),
    (NULL, None),
    (Compare(MORE, STAY, COST), Kind.BOOLEAN),
    (Compare(MORE, STAY, NULL), Kind.BOOLEAN),
    (Compare(MORE, AT, c(date(2026, 1, 1))), Kind.BOOLEAN),
    (Compare(MORE, c(date(2026, 1, 1)), AT), Kind.BOOLEAN),
    (OneOf(STAY, (1, Fraction(1, 2))), Kind.BOOLEAN),
    (Like(WARD, "n%"), Kind.BOOLEAN),
    (IsNull(NOTE), Kind.BOOLEAN),
    (And((YES, URGENT, NULL)), Kind.BOOLEAN),
    (Or((YES, URGENT)), Kind.BOOLEAN),
    (Not(URGENT), Kind.BOOLEAN),
    (Not(NULL), Kind.BOOLEAN),
    (Arithmetic(ADD, STAY, STAY), Kind.INTEGER),
    (Arithmetic(ADD, STAY, COST), Kind.DECIMAL),
    (Arithmetic(ADD, COST, HEAT), Kind.FLOAT),
    (Arithmetic(ADD, HEAT, STAY), Kind.FLOAT),
    (Arithmetic(ADD, NULL, NULL), Kind.INTEGER),
    (Arithmetic(SUBTRACT, DAY, SEEN), Kind.INTEGER),
    (DatePart(DatePartName.YEAR, DAY), Kind.INTEGER),
    (case(STAY, NULL), Kind.INTEGER),
    (case(NULL, NULL), None),
    (case(STAY, COST), Kind.DECIMAL),
    (case(STAY, c(Fraction(1, 2)), HEAT), Kind.FLOAT),
    (case(WARD, NULL, c("x")), Kind.TEXT),
]
REFUSED: list[tuple[Expression, str]] = [
    (
        Compare(MORE, STAY, c("x")),
        "The kinds integer and text cannot be compared; write two values of one",
    ),
    (Compare(MORE, URGENT, c(1)), "The kinds boolean and integer cannot be compared"),
    (Compare(MORE, AT, c(1)), "The kinds timestamp and integer cannot be compared"),
    (Compare(MORE, DAY, c(1)), "The kinds date and integer cannot be compared"),
    (OneOf(STAY, (1, "x")), "The kinds integer and text cannot be compared"),
    (OneOf(STAY, (1, True)), "The kinds integer and boolean cannot be compared"),
    (And((YES, STAY)), "A condition is expected, .* of kind integer"),
    (Or((YES, WARD)), "A condition is expected, .* of kind text"),
    (Not(COST), "A condition is expected, .* of kind decimal"),
    (case(STAY, WARD), "All values of a CASE must be of one kind"),
    (case(URGENT, STAY), "All values of a CASE must be of one kind"),
    (Case(((STAY, c(1)),), c(2)), "A condition is expected"),
    (Arithmetic(ADD, DAY, SEEN), r"\+ must be numbers, or a day and an integer\.$"),
    (Arithmetic(ADD, DAY, COST), r"\+ must be numbers, or a day and an integer\.$"),
    (Arithmetic(SUBTRACT, STAY, DAY), "operands of - must be numbers, or two days, or a day"),
    (Arithmetic(MULTIPLY, STAY, DAY), r"operands of \* must be numbers\.$"),
    (Arithmetic(SUBTRACT, DAY, NULL), "operands of - must be numbers, or two days"),
    (Arithmetic(ADD, WARD, STAY), r"\+ must be numbers"),
    (Divide(COST, STAY), "Values of a row can be divided only by a constant number, as in"),
    (Divide(DAY, c(2)), "Values of a row can be divided only by a constant number"),
    (Bin(STAY, 5), "Bins can be used only as a group key; put them into GROUP BY"),
    (
        Period(Span.WEEKS, DAY),
        "DATE_TRUNC can be used only as a group key; put it into GROUP BY",
    ),
    (
        DatePart(DatePartName.DAY, STAY),
        "DATE_TRUNC need a date or timestamp column",
    ),
    (DatePart(DatePartName.DAY, c(date(2026, 1, 1))), "need a date or timestamp column"),
    (DatePart(DatePartName.HOUR, DAY), "A date has no HOUR"),
    (
        Like(NOTE, "n%"),
        "LIKE needs a text column with declared keys, and 'visits.note' has none",
    ),
    (Like(STAY, "n%"), "LIKE needs a text column"),
    (Like(c("north"), "n%"), "LIKE needs a column"),
    (IsNull(Divide(COST, STAY)), "can be divided only by a constant"),
    (FunctionCall(Function.UPPER, (STAY,)), "UPPER needs texts"),
    (FunctionCall(Function.TRIM, (WARD, NOTE)), "its other arguments must be constants"),
    (FunctionCall(Function.ABS, (WARD,)), r"ABS needs numbers, as in ABS\(age\)"),
    (FunctionCall(Function.INTEGER, (WARD,)), "CAST AS INTEGER needs numbers"),
    (
        FunctionCall(Function.ROUND, (COST, HEAT)),
        "digits of ROUND must be a constant integer",
    ),
    (
        FunctionCall(Function.TRUNCATE, (COST, STAY)),
        "digits of TRUNC must be a constant integer",
    ),
    (FunctionCall(Function.POWER, (COST, STAY)), "exponent of POWER must be a constant"),
    (FunctionCall(Function.POWER, (COST, NULL)), "exponent of POWER must be a constant"),
    (Like(FunctionCall(Function.ABS, (STAY,)), "n%"), "LIKE needs a text on its left side"),
]


@pytest.mark.parametrize(("expression", "kind"), KINDS)
def test_the_kind_of_an_expression(expression: Expression, kind: Kind | None) -> None:
    assert kind_of(expression, ROWS) is kind


@pytest.mark.parametrize(("expression", "told"), REFUSED)
def test_what_has_no_kind_is_refused(expression: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        kind_of(expression, ROWS)


def test_what_was_released_is_divided_and_not_matched() -> None:
    released = Released((Column("n", Kind.FLOAT), Column("ward", Kind.TEXT)))
    assert kind_of(Divide(Field("n"), NULL), released) is Kind.FLOAT
    with pytest.raises(InvalidValue, match="The operands of / must be numbers"):
        kind_of(Divide(Field("n"), Field("ward")), released)
    with pytest.raises(
        InvalidValue, match="LIKE is not supported for released values; put it into WHERE"
    ):
        kind_of(Like(Field("ward"), "n%"), released)


def test_a_column_is_found_by_its_own_name_where_no_other_has_it() -> None:
    both = scope("visits", "patients")
    assert both["age"].name == both["patients.age"].name == "patients.age"
    with pytest.raises(
        UnknownName, match=r"'id' is ambiguous; write one of: visits\.id, patients\.id"
    ):
        _ = both["id"]
    with pytest.raises(UnknownName, match=r"no column 'agee'; the columns are: visits\.id, "):
        _ = both["agee"]
    assert both["visits.id"].name == "visits.id"
    assert [column.name for column in scope("regions", "labs").columns] == [
        "regions.ward",
        "regions.region",
        "regions.beds",
        "labs.visit",
        "labs.value",
    ]


def test_days_are_clamped_to_their_bounds_or_to_the_calendar() -> None:
    bounded, free = clamped_days(ROWS["day"]), clamped_days(ROWS["seen"])
    assert bounded.grid.lowest == number_of(date(2026, 1, 1))
    assert bounded.grid.highest == number_of(date(2026, 12, 31))
    assert (free.grid.lowest, free.grid.highest) == (FIRST, LAST)
    assert (free.name, free.kind, free.grid.step) == ("visits.seen", Kind.DATE, 1)


def test_a_year_has_a_range_only_where_its_days_have_bounds() -> None:
    year = day_part(DatePartName.YEAR, ROWS["day"])
    assert (year.low, year.high, year.step, year.rounding) == (2026, 2026, 1, 0)
    assert year.steps == PartSteps(clamped_days(ROWS["day"]), DatePartName.YEAR)
    with pytest.raises(MissingBound, match=r"'visits\.seen' has no bounds"):
        day_part(DatePartName.YEAR, ROWS["seen"])
    month = day_part(DatePartName.MONTH, ROWS["seen"])
    assert (month.low, month.high) == (1, 12)


def test_the_days_between_two_days() -> None:
    june = c(date(2026, 6, 1))
    found = number(Arithmetic(SUBTRACT, DAY, june), ROWS)
    assert (found.low, found.high) == (-151, 213)
    back = number(Arithmetic(SUBTRACT, june, DAY), ROWS)
    assert (back.low, back.high) == (-213, 151)
    later = number(Arithmetic(SUBTRACT, Arithmetic(ADD, DAY, c(7)), june), ROWS)
    assert (later.low, later.high) == (-144, 220)
    assert is_day(Arithmetic(SUBTRACT, DAY, c(3)), ROWS)
    assert not is_day(Arithmetic(SUBTRACT, DAY, june), ROWS)
    assert not is_day(STAY, ROWS)
    with pytest.raises(MissingBound):
        number(Arithmetic(SUBTRACT, SEEN, DAY), ROWS)


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("north", ("north",)),
        ("n%", ("north", "nth", "n")),
        ("%h", ("north", "nth", "south")),
        ("%t%", ("north", "nth", "south")),
        ("%o%t%", ("north", "south")),
        ("_th", ("nth",)),
        ("n__th", ("north",)),
        ("%", ("north", "nth", "n", "south", "")),
        ("_", ("n",)),
        ("", ("",)),
        ("n%n", ()),
        ("no%rth", ("north",)),
        ("nor%rth", ()),
        ("N%", ()),
        ("n.th", ()),
        ("%u_h", ("south",)),
    ],
)
def test_a_pattern_matches_whole_texts(pattern: str, matched: tuple[str, ...]) -> None:
    assert matching(pattern, ["north", "nth", "n", "south", ""]) == matched


def test_a_pattern_takes_line_ends_and_signs_as_they_are() -> None:
    assert matching("a_b", ["a\nb", "a.b"]) == ("a\nb", "a.b")
    assert matching("a.b", ["a.b", "axb"]) == ("a.b",)
    assert matching("%(%", ["(", "a(b", "ab"]) == ("(", "a(b")


def test_a_pattern_becomes_the_keys_that_it_matches() -> None:
    assert like(WARD, "%th", ROWS) == ColumnOneOf("visits.ward", Kind.TEXT, ("north", "south"))
    # none: false, and unknown where the column is NULL
    assert like(WARD, "west", ROWS) == CompareColumns(
        Comparison.UNEQUAL, "visits.ward", "visits.ward", Kind.TEXT
    )


def test_a_pattern_has_few_wildcards_and_is_short() -> None:
    check_pattern("%_%_")
    check_pattern("x" * 1000)
    with pytest.raises(InvalidValue, match=r"at most 4 wildcards .* and this one has 5"):
        check_pattern("%_%_%")
    with pytest.raises(InvalidValue, match="at most 1000 bytes long"):
        check_pattern("x" * 1001)
    with pytest.raises(InvalidValue, match="at most 1000 bytes long"):
        check_pattern("é" * 501)
    with pytest.raises(InvalidValue, match="wildcards"):
        like(WARD, "%" * 5, ROWS)


def test_patterns_are_put_beside_so_many_keys_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_MATCHES", 6)  # the wards are 3
    two = And((Like(WARD, "n%"), Not(Like(WARD, "s%"))))
    not_too_many_patterns(asked(of=Filter(Scan("visits"), two)), scope("visits"))
    three = asked(of=Filter(Scan("visits"), two), by=(Case(((Like(WARD, "e%"), c(1)),), NULL),))
    with pytest.raises(InvalidValue, match="need 9 comparisons with declared keys, and 6 are"):
        not_too_many_patterns(three, scope("visits"))
    assert CATALOG.dataset("visits").schema["ward"].keys is not None


def test_the_limit_of_matches_is_a_hundred_thousand() -> None:
    keys = Keys(tuple(f"k{n}" for n in range(50_001)))
    wide = ColumnScope((Column("t.k", Kind.TEXT, keys=keys), Column("t.n", Kind.INTEGER)))
    one = asked(of=Filter(Scan("t"), Like(Field("k"), "k%")))
    not_too_many_patterns(one, wide)
    two = asked(of=Filter(Scan("t"), And((Like(Field("k"), "k%"), Like(Field("k"), "%1")))))
    with pytest.raises(
        InvalidValue, match="need 100002 comparisons with declared keys, and 100000 are"
    ):
        not_too_many_patterns(two, wide)


def test_a_day_column_keeps_the_bounds_of_its_own() -> None:
    bounds = Bounds.days(date(2020, 2, 28), date(2020, 3, 1))
    column = Column("t.d", Kind.DATE, bounds=bounds)
    assert clamped_days(column) == ColumnSteps("t.d", Kind.DATE, column.grid())
    between = Arithmetic(SUBTRACT, Field("d"), Field("d"))
    found = number(between, ColumnScope((column,)))
    assert (found.low, found.high) == (-2, 2)
