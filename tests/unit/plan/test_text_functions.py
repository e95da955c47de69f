"""Functions of texts are computed for declared keys, and become lists of keys."""

import pytest
from ward import c

from tacit.core.domain import Column, Keys, Kind, Schema
from tacit.engines.reference import truth
from tacit.errors import InvalidValue
from tacit.plan.expression import (
    Case,
    Expression,
    Field,
    Function,
    FunctionCall,
    IsNull,
    Not,
    Value,
)
from tacit.plan.steps import ColumnOneOf, CompareColumns
from tacit.plan.text_functions import apply, ascii_lower, cases_first, key_map

KEYS = ("north", "North", " it's ", "", "Ärztin", "straße", "İ")
WARDS = Schema(
    (
        Column("ward", Kind.TEXT, keys=Keys(KEYS)),
        Column("wing", Kind.TEXT, keys=Keys(("a", "b"))),
        Column("note", Kind.TEXT),
    )
)
WARD = Field("ward")


def call(name: str, *parts: Expression) -> FunctionCall:
    return FunctionCall(Function[name], parts)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("UPPER", ("north Ä ß ŉ",), "NORTH Ä ß ŉ"),
        ("LOWER", ("NORTH Ä İ",), "north ä İ"),
        ("ASCII_LOWER", ("NORTH Ä",), "north Ä"),
        ("TRIM", ("  a b \t",), "a b \t"),
        ("TRIM", ("xxaxyx", "xy"), "a"),
        ("TRIM_LEFT", ("  a ",), "a "),
        ("TRIM_RIGHT", ("  a ",), "  a"),
        ("SUBSTRING", ("north", 2), "orth"),
        ("SUBSTRING", ("north", 2, 3), "ort"),
        ("SUBSTRING", ("north", 9, 3), ""),
        ("SUBSTRING", ("😀é", 2, 1), "é"),
        ("CONCAT", ("a", None, "b"), "ab"),
        ("JOIN", ("a", "b"), "ab"),
        ("JOIN", ("a", None), None),
        ("UPPER", (None,), None),
    ],
)
def test_functions_of_constants(
    name: str, values: tuple[Value | None, ...], wanted: str | None
) -> None:
    assert apply(Function[name], values) == wanted


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("UPPER", (3,), "UPPER needs a text"),
        ("JOIN", ("a", 3), "needs texts"),
        ("TRIM", ("a", 3), "characters to trim must be a constant text"),
        ("SUBSTRING", ("a", "b"), "places of SUBSTRING must be constant integers"),
        ("SUBSTRING", ("a", True), "places of SUBSTRING must be constant integers"),
        ("SUBSTRING", ("a", 0), "a start of at least 1"),
        ("SUBSTRING", ("a", 1, -1), "a length of at least 0"),
    ],
)
def test_arguments_that_have_no_meaning_are_refused(
    name: str, values: tuple[Value | None, ...], told: str
) -> None:
    with pytest.raises(InvalidValue, match=told):
        apply(Function[name], values)


def test_only_the_letters_of_ascii_are_folded() -> None:
    kelvin = "\u212a"  # a sign whose lower case is k
    assert ascii_lower(f"ÀZ[a{kelvin}") == f"Àz[a{kelvin}"


@pytest.mark.parametrize("held", [*KEYS, None, "another"])
def test_a_condition_on_a_function_is_a_list_of_keys(held: str | None) -> None:
    upper = key_map(call("UPPER", WARD), WARDS, "UPPER")
    assert upper.where("NORTH".__eq__) == ColumnOneOf("ward", Kind.TEXT, ("north", "North"))
    row = {"ward": held}
    known = held if held in KEYS else None
    wanted = None if held is None else known is not None and known.upper() == "NORTH"
    assert truth(upper.where("NORTH".__eq__), row) is wanted
    assert truth(upper.is_null(), row) is (held is None)
    never = upper.where("nothing".__eq__)
    assert isinstance(never, CompareColumns)
    assert truth(never, row) is (None if held is None else False)


@pytest.mark.parametrize("held", [*KEYS, None, "another"])
def test_concat_has_a_value_where_its_column_is_null(held: str | None) -> None:
    found = key_map(call("CONCAT", WARD, c("!")), WARDS, "CONCAT")
    row = {"ward": held}
    assert truth(found.where("!".__eq__), row) is (held in {"", None})
    assert truth(found.where("north!".__eq__), row) is (held == "north")
    assert truth(found.is_null(), row) is False


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (call("UPPER", Field("note")), "UPPER needs a text column with declared keys, and"),
        (call("JOIN", WARD, Field("wing")), "cannot combine several columns"),
        (call("UPPER", c("a")), "cannot combine constants"),
        (call("UPPER", IsNull(WARD)), "needs a text column, as in"),
    ],
)
def test_other_texts_have_no_list_of_keys(part: Expression, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        key_map(part, WARDS, "UPPER")


def test_a_case_inside_a_function_is_moved_outside() -> None:
    known = Case(((Not(IsNull(WARD)), WARD),), c("none"))
    found = cases_first(call("UPPER", call("TRIM", known)))
    inner = call("UPPER", call("TRIM", WARD))
    assert found == Case(((Not(IsNull(WARD)), inner),), c("NONE"))
    plain = call("UPPER", WARD)
    assert cases_first(plain) == plain


def test_the_number_of_branches_inside_a_function_has_a_limit() -> None:
    known = Case(((Not(IsNull(WARD)), WARD),), c("none"))
    six = call("CONCAT", *[known] * 6)
    assert isinstance(cases_first(six), Case)
    with pytest.raises(InvalidValue, match="has 128 branches of CASE or COALESCE inside; 64"):
        cases_first(call("CONCAT", *[known] * 7))
