"""Secrets as few values: numbers are split at the median, and texts are kept or halved."""

import numpy as np
import pytest

from tacit.attacks.secret_values import MOST_VALUES, SecretValues
from tacit.core import Kind
from tacit.errors import InvalidValue


def test_numbers_that_nobody_shares_are_split_at_the_median() -> None:
    pay = np.array([str(1000 + 7 * number) for number in range(999)])
    found = SecretValues.of(pay, Kind.INTEGER)
    assert found.counts.tolist() in ([499, 500], [500, 499])
    assert found.names[1] == found.names[0].replace("at most", "above")
    assert found.targets() == [1]
    # the lie: as text, 999 comes after 7000
    as_text = SecretValues.of(np.array(["999", "7000", "8000", "9000"]), Kind.INTEGER)
    assert as_text.names == ("at most 7000", "above 7000")


def test_numbers_with_many_ties_are_split_where_the_halves_are_most_alike() -> None:
    ages = np.array(["1"] * 60 + ["2"] * 30 + ["3"] * 10)
    assert SecretValues.of(ages, Kind.INTEGER).counts.tolist() == [60, 40]
    rare = SecretValues.of(np.array(["0"] * 995 + ["1"] * 5), Kind.INTEGER)
    assert rare.names == ("at most 0", "above 0")
    assert rare.counts.tolist() == [995, 5]
    often = SecretValues.of(np.array(["0"] * 5 + ["1"] * 995), Kind.INTEGER)
    assert often.counts.tolist() == [5, 995]


def test_equal_numbers_written_differently_are_one_number() -> None:
    found = SecretValues.of(np.array(["1.0", "1.00", "2.0"]), Kind.DECIMAL)
    assert found.codes.tolist() == [0, 0, 1]


def test_a_missing_number_is_below_and_a_missing_text_is_a_value() -> None:
    found = SecretValues.of(np.array(["", "5", "nan", "7", "inf"]), Kind.FLOAT)
    assert found.codes[0] == found.codes[2] == 0
    assert found.codes[4] == 1
    assert SecretValues.of(np.array(["", "flu"]), Kind.TEXT).names == ("missing", "flu")


def test_days_are_split_in_their_order() -> None:
    days = np.array([f"2026-0{month}-01" for month in range(1, 9)])
    assert SecretValues.of(days, Kind.DATE).codes.tolist() == [0] * 4 + [1] * 4


def test_few_texts_are_guessed_one_by_one_and_many_by_halves() -> None:
    few = np.array([f"v{number % MOST_VALUES:02}" for number in range(300)])
    assert len(SecretValues.of(few, Kind.TEXT).names) == MOST_VALUES
    many = SecretValues.of(np.array([f"p{number:04}" for number in range(300)]), Kind.TEXT)
    assert many.split
    assert many.counts.tolist() == [150, 150]


def test_a_rare_value_is_asked_for_and_so_is_the_most_even_one() -> None:
    ill = np.array(["none"] * 600 + ["flu"] * 395 + ["hiv"] * 5)
    found = SecretValues.of(ill, Kind.TEXT)
    assert [found.names[each] for each in found.targets()] == ["none", "hiv"]
    even = SecretValues.of(np.array(["a", "b", "c"] * 100), Kind.TEXT)
    assert len(even.targets()) == 1
    assert SecretValues.of(np.array(["a"] * 9), Kind.TEXT).targets() == []
    assert SecretValues.of(np.array(["7"] * 9), Kind.INTEGER).targets() == []


def test_nobody_has_no_secret() -> None:
    with pytest.raises(InvalidValue, match="nothing to attack"):
        SecretValues.of(np.array([], dtype=str), Kind.TEXT)
