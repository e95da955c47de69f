"""Records of the registry: which are refused, and YAML that reads back."""

from datetime import date
from fractions import Fraction
from typing import Any

import pytest
import yaml

from tacit.certify.registry import FIELDS, check_record, slug_of, yaml_of
from tacit.errors import InvalidValue


def record(**changes: object) -> dict[str, Any]:
    """A complete record; a change of None leaves a field out."""
    flat: dict[str, Any] = {}
    for path, told in FIELDS.items():
        value: Any = told.allowed[0] if told.allowed else "something"
        if told.form == "names":
            value = ["somebody"]
        if told.form == "day":
            value = "2026-01-31"
        if told.form == "number":
            value = 3 if told.allowed else Fraction(1, 10**6)
        flat[path] = value
    flat |= {path.replace("__", "."): value for path, value in changes.items()}
    found: dict[str, Any] = {}
    for path, value in flat.items():
        place = found
        *above, last = path.split(".")
        for each in above:
            place = place.setdefault(each, {})
        if value is not None:
            place[last] = value
    return found


def test_a_complete_record_is_accepted() -> None:
    check_record(record())
    check_record(record(deployment__basic__data_product_sector=None))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("surprise", "x", "has no field 'surprise'"),
        ("deployment__dp_flavor__name", "x", "has no field 'deployment.dp_flavor.name'"),
        ("deployment__basic__name", None, "has no 'deployment.basic.name'"),
        ("deployment__accounting__composition", None, "tier 3 asks for"),
        ("deployment__basic__name", " ", "needs a text"),
        ("deployment__basic__data_curators", [], "needs a names"),
        ("deployment__basic__publication_date", "1 January", "needs a day"),
        ("tier", 4, "It is one of: 1, 2, 3"),
        ("tier", True, "needs a number"),
        ("status", "Fine", "It is one of: Converted, Draft"),
        ("deployment__privacy_loss__privacy_parameters__epsilon", "3", "needs a number"),
    ],
)
def test_a_wrong_record_is_refused(path: str, value: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        check_record(record(**{path: value}))


def test_the_first_tier_alone_may_be_checked() -> None:
    check_record(record(deployment__accounting__composition=None), complete=False)


TEXTS = [
    "plain",
    "with: colon # and hash",
    "\"quoted\" \\ and 'single'",
    "Zürich \U0001f600 \x07 \u2028",
    "- one\n- two: three\n- # four",
    "ends with a newline\n",
    " begins with a space\nand goes on",
    "yes",
    "1e5",
]


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_reads_back(text: str) -> None:
    value = {"a": text, "list": [text, "other"], "deep": {"b": text}, "n": 3}
    found = yaml.safe_load(yaml_of(value))
    assert found["list"] == [text, "other"]
    assert found["a"].rstrip("\n") == found["deep"]["b"].rstrip("\n") == text.rstrip("\n")
    assert found["n"] == 3


@pytest.mark.parametrize("number", ["3", "0.000001", "1/1024"])
def test_numbers_are_numbers(number: str) -> None:
    found = yaml.safe_load(yaml_of({"a": Fraction(number)}))
    assert found["a"] == float(Fraction(number))
    assert isinstance(found["a"], float)


def test_a_slug_has_no_spaces_or_signs() -> None:
    assert slug_of("A: b", ["C", "D"], date(2026, 1, 1)) == "a-b-c-d-2026"
