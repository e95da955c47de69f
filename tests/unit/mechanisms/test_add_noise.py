from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import BLOCK, INT64_ROOM, AddNoise
from tacit.noise.inversion import Categorical, Inversion
from tacit.noise.laplace import DiscreteLaplace
from tacit.testing.entropy import ScriptedEntropy

COIN = Inversion(Categorical((1, 1)))
HEADS, TAILS = 2**64 - 1, 0
INT64 = st.integers(-(2**63), 2**63 - 1)
WORDS = st.lists(st.integers(0, 2**64 - 1), min_size=200, max_size=200)


def same_integers(released: np.ndarray, values: list[int], noise: np.ndarray) -> bool:
    wanted = [value + int(drawn) for value, drawn in zip(values, noise, strict=True)]
    return [int(number) for number in released] == wanted


@given(
    st.lists(INT64, min_size=1, max_size=5), WORDS, st.sampled_from([1, 10**6, 2**61, 2**70])
)
def test_each_value_is_released_with_its_own_noise_exactly(
    values: list[int], words: list[int], scale: int
) -> None:
    laplace = DiscreteLaplace(Fraction(scale))
    noise = laplace.draw(ScriptedEntropy(words), len(values))
    released = AddNoise(laplace)(np.array(values, dtype=np.int64), ScriptedEntropy(words))
    assert same_integers(released, values, noise)
    assert not same_integers(released, values, noise + 1)


def test_equal_values_have_their_own_noise() -> None:
    released = AddNoise(COIN)(np.array([5, 5, 5]), ScriptedEntropy([HEADS, TAILS, HEADS]))
    assert released.tolist() == [6, 5, 6]


@pytest.mark.parametrize("value", [2**63 - 1, 2**62, -(2**62)])
def test_a_value_near_the_edge_of_64_bits_does_not_wrap(value: int) -> None:
    edge = np.array([value, 5], dtype=np.int64)
    released = AddNoise(COIN)(edge, ScriptedEntropy([HEADS, TAILS]))
    assert released.dtype == (np.int64 if value + 1 < 2**63 else object)
    assert released.tolist() == [value + 1, 5]


def test_64_bits_would_have_wrapped() -> None:
    edge = np.array([2**63 - 1], dtype=np.int64)
    assert (edge + COIN.draw(ScriptedEntropy([HEADS]), 1)).tolist() == [-(2**63)]
    assert AddNoise(COIN)(edge, ScriptedEntropy([HEADS])).tolist() == [2**63]


def test_values_wider_than_64_bits_stay_python_integers() -> None:
    wide = np.array([2**100, -(2**100)], dtype=object)
    released = AddNoise(COIN)(wide, ScriptedEntropy([HEADS, TAILS]))
    assert released.tolist() == [2**100 + 1, -(2**100)]


@pytest.mark.parametrize("value", [0, INT64_ROOM - 1, 1 - INT64_ROOM])
def test_values_with_room_for_a_sum_stay_in_64_bits(value: int) -> None:
    released = AddNoise(COIN)(np.array([value]), ScriptedEntropy([HEADS]))
    assert released.dtype == np.int64
    assert released.tolist() == [value + 1]


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_a_batch_of_many_blocks_is_released_in_order(size: int) -> None:
    words = [HEADS if place % 3 else TAILS for place in range(size)]
    released = AddNoise(COIN)(np.arange(size), ScriptedEntropy(words))
    assert released.dtype == np.int64
    assert released.tolist() == [place + bool(place % 3) for place in range(size)]
    assert released.tolist() != [place + bool(place % 2) for place in range(size)]


def test_one_wide_value_in_the_last_block_does_not_wrap() -> None:
    values = np.append(np.zeros(BLOCK, dtype=np.int64), 2**63 - 1)
    released = AddNoise(COIN)(values, ScriptedEntropy([HEADS] * values.size))
    assert released.tolist() == [*[1] * BLOCK, 2**63]


def test_no_values_need_no_noise() -> None:
    assert AddNoise(COIN)(np.array([], dtype=np.int64), ScriptedEntropy([])).tolist() == []


def test_the_values_are_left_as_they_were() -> None:
    values = np.array([40, 2])
    AddNoise(COIN)(values, ScriptedEntropy([HEADS, HEADS]))
    assert values.tolist() == [40, 2]


def test_the_draw_is_a_frozen_value() -> None:
    noise = AddNoise(DiscreteLaplace(Fraction(3)))
    assert noise == AddNoise(DiscreteLaplace(Fraction(3)))
    assert noise != AddNoise(DiscreteLaplace(Fraction(2)))
    with pytest.raises(FrozenInstanceError):
        noise.sampler = COIN


def test_unsigned_values_are_added_exactly() -> None:
    values = np.array([2**60 + 1], dtype=np.uint64)
    assert AddNoise(COIN)(values, ScriptedEntropy([HEADS])).tolist() == [2**60 + 2]


def test_no_two_values_share_a_draw_whatever_the_shape() -> None:
    with pytest.raises(InternalError, match="one-dimensional integer array"):
        AddNoise(COIN)(np.array([[1], [2]]), ScriptedEntropy([HEADS, 0]))
