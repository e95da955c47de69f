from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Guarantee, Release, ReleasedColumn
from tacit.errors import InvalidValue, UnknownName

GUARANTEE = Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1))
WARDS = ReleasedColumn("ward", ("east", "west"))
COUNTS = ReleasedColumn(
    "n",
    (Fraction(40), Fraction(2)),
    intervals=((Fraction(35), Fraction(45)), (Fraction(-3), Fraction(7))),
    confidence=Fraction(19, 20),
)
RELEASE = Release((WARDS, COUNTS), GUARANTEE, receipt=b"hash")


def test_a_release_finds_its_columns_by_name() -> None:
    assert RELEASE["ward"] == WARDS
    assert RELEASE["n"] == COUNTS


def test_an_unknown_column_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="no column 'pay'; the columns are: ward, n"):
        RELEASE["pay"]
    with pytest.raises(UnknownName, match="no column 'pay'; the columns are: ward, n"):
        RELEASE.map("pay", lambda value: value)


def test_what_is_computed_from_a_release_keeps_its_guarantee_and_its_receipt() -> None:
    rounded = RELEASE.map("n", lambda value: max(value, Fraction(10)))
    assert rounded["n"].values == (40, 10)
    assert rounded.guarantee == RELEASE.guarantee
    assert rounded.receipt == RELEASE.receipt
    assert rounded["ward"] == WARDS


def test_what_is_computed_from_a_release_has_no_interval_any_more() -> None:
    same = RELEASE.map("n", lambda value: value)
    assert same["n"] == ReleasedColumn("n", COUNTS.values)
    assert same["n"] != COUNTS
    assert RELEASE["n"].intervals == COUNTS.intervals
    assert RELEASE.map("ward", str.upper)["n"] == COUNTS


@given(st.lists(st.fractions(), max_size=5), st.fractions(), st.fractions())
def test_two_changes_are_one(
    numbers: list[Fraction], shift: Fraction, factor: Fraction
) -> None:
    release = Release((ReleasedColumn("n", tuple(numbers)),), GUARANTEE, b"hash")
    twice = release.map("n", lambda value: value + shift).map("n", lambda value: value * factor)
    assert twice == release.map("n", lambda value: (value + shift) * factor)


def test_intervals_and_their_confidence_come_together() -> None:
    values, intervals = (Fraction(1),), ((Fraction(0), Fraction(2)),)
    with pytest.raises(InvalidValue, match="'n': intervals need a confidence"):
        ReleasedColumn("n", values, intervals)
    with pytest.raises(InvalidValue, match="'n' has a confidence, so it needs one interval"):
        ReleasedColumn("n", values, confidence=Fraction(1, 2))


def test_each_value_has_an_interval_or_none_has() -> None:
    with pytest.raises(InvalidValue, match="'n' has a confidence, so it needs one interval"):
        ReleasedColumn("n", (Fraction(1), Fraction(2)), COUNTS.intervals[:1], Fraction(1, 2))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InvalidValue, match="must have the same length"):
        Release((WARDS, ReleasedColumn("n", (Fraction(1),))), GUARANTEE, b"hash")


def test_a_release_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        RELEASE.receipt = b""
    with pytest.raises(FrozenInstanceError):
        COUNTS.values = ()


def test_two_columns_of_one_name_are_refused_in_a_release() -> None:
    guarantee = Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1))
    columns = ReleasedColumn("n", (Fraction(1),)), ReleasedColumn("n", (Fraction(2),))
    with pytest.raises(InvalidValue):
        Release(columns, guarantee, b"hash")


def test_a_noisy_column_without_rows_keeps_its_confidence() -> None:
    assert ReleasedColumn("n", (), (), Fraction(1, 2)).confidence == Fraction(1, 2)


def test_a_release_knows_its_names() -> None:
    guarantee = Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1))
    release = Release((ReleasedColumn("n", (Fraction(1),)),), guarantee, b"hash")
    assert "n" in release
    assert "m" not in release
