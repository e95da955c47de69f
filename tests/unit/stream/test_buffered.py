from fractions import Fraction

import numpy as np
import pytest

from tacit.stream.factor import ALL, Memory
from tacit.stream.toeplitz import FINE, Buffered
from tacit.testing.mechanism_contract import l2

HORIZON, TRIES = 300, 20
FACTOR = Buffered.square_root(HORIZON)


def fresh_behind(factor: Buffered, noise: np.ndarray) -> np.ndarray:
    """The fresh draws that give ``noise``, step by step."""
    memory: Memory = ()
    found = []
    for number, wanted in enumerate(noise):
        nothing, _ = factor.next(number, memory, np.zeros_like(wanted))
        found.append(wanted - nothing)
        _, memory = factor.next(number, memory, wanted - nothing)
    return np.array(found)


def moved(factor: Buffered, steps: int) -> list[int]:
    """Squares of how far a unit in the first steps moves what is noised, if the same leaves."""
    left = np.random.default_rng(steps).integers(-(10**9), 10**9, (HORIZON, TRIES))
    right = left.copy()
    right[:steps] -= 2**factor.bits
    apart = (fresh_behind(factor, left) - fresh_behind(factor, right)).astype(object)
    return (apart**2).sum(axis=0).tolist()


@pytest.mark.parametrize("steps", [1, 2, 20])
def test_roundings_move_no_more_than_is_added_for_them(steps: int) -> None:
    declared = FACTOR.sensitivity(l2(1), steps).square
    found = max(moved(FACTOR, steps))
    assert found <= declared
    assert found > declared * Fraction(99, 100)


def test_a_stream_told_in_few_parts_is_moved_by_its_roundings() -> None:
    """The lie: a sensitivity without what roundings add."""
    coarse = Buffered(FACTOR.weights, FACTOR.decays, HORIZON, bits=1)
    declared = coarse.sensitivity(l2(1), 1).amount
    columns = FACTOR.sensitivity(l2(1), 1).amount / 2 ** (FACTOR.bits - 1)
    assert columns**2 < max(moved(coarse, 1)) <= declared**2


def test_the_memory_has_one_size_and_the_noise_is_that_of_exact_integers() -> None:
    draws = np.random.default_rng(3).integers(-(2**40), 2**40, (HORIZON, 2))
    memory: Memory = ()
    exact: list[int] = [0] * len(FACTOR.weights)
    half = 2 ** (FINE - 1)
    for number, drawn in enumerate(draws):
        noise, memory = FACTOR.next(number, memory, drawn)
        pulled = sum(w * s for w, s in zip(FACTOR.weights, exact, strict=True))
        value = int(drawn[0]) - (pulled + half >> FINE)
        exact = [
            (decay * buffer + half >> FINE) + value
            for decay, buffer in zip(FACTOR.decays, exact, strict=True)
        ]
        assert noise[0] == value
        assert len(memory) == len(FACTOR.weights)
    assert [int(buffer[0]) for buffer in memory] == exact


def test_noise_beyond_64_bits_is_exact_too() -> None:
    draws = np.random.default_rng(3).integers(-(2**40), 2**40, (20, 1))
    memory: Memory = ()
    for number, drawn in enumerate(draws):
        noise, memory = FACTOR.next(number, memory, drawn.astype(object) * 2**40)
    assert abs(int(noise[0])) > 2**63
    assert all(buffer.dtype == object for buffer in memory)


def test_the_error_is_near_that_of_the_square_root() -> None:
    error = float(FACTOR.sensitivity(l2(1), 1).amount) * FACTOR.spread(ALL).max()
    assert error == pytest.approx(2.881, rel=0.01)  # of the square root itself
