import json
from dataclasses import FrozenInstanceError, replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.codec import decode_release, encode_release
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import DatedEpoch, Guarantee, Release, ReleaseDates, ReleasedColumn
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


EPOCHS = (DatedEpoch("people", "it's", date(2026, 1, 5)), DatedEpoch("visits", "2026-W07"))


@pytest.mark.parametrize("charged", [date(2026, 2, 17), None])
@pytest.mark.parametrize("epochs", [EPOCHS, ()])
def test_dates_are_stored_with_a_release(
    charged: date | None, epochs: tuple[DatedEpoch, ...]
) -> None:
    dated = replace(RELEASE, dates=ReleaseDates(charged, epochs))
    assert decode_release(encode_release(dated)) == dated
    assert dated.to_dict()["dates"]["charged"] == (charged and str(charged))
    assert dated.map("n", lambda value: value).dates == dated.dates


def test_dates_are_shown_as_far_as_they_are_known() -> None:
    dates = ReleaseDates(date(2026, 2, 17), EPOCHS)
    people = 'people of epoch "it\'s" (since 2026-01-05)'
    said = f"Charged on 2026-02-17. The data is {people},\nvisits of epoch '2026-W07'."
    assert replace(RELEASE, dates=dates).notes == (said, str(GUARANTEE))
    assert replace(RELEASE, dates=ReleaseDates(None)).notes == (str(GUARANTEE),)


def test_a_release_of_an_earlier_version_has_no_dates() -> None:
    stored = encode_release(RELEASE)
    assert "dates" not in json.loads(stored)
    assert decode_release(stored).dates is None
    assert RELEASE.to_dict()["dates"] is None
    for wrong in ({"charged": "17.2.2026", "epochs": []}, {"charged": None}, {"epochs": [1]}):
        changed = json.dumps(json.loads(stored) | {"dates": wrong}).encode()
        with pytest.raises(InvalidValue, match="cannot be decoded as a release"):
            decode_release(changed)
