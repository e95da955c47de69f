from dataclasses import dataclass

import numpy as np
import pytest

from tacit.errors import InvalidValue
from tacit.mechanisms.vector_noise import AddVector
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy
from tacit.testing.entropy import ScriptedEntropy


@dataclass(frozen=True)
class Words:
    dimensions: int

    def draw(self, entropy: Entropy, count: int) -> Integers:
        words = entropy.words(count * self.dimensions).astype(np.int64)
        return words.reshape(count, self.dimensions)


def test_a_vector_is_released_with_one_draw_of_its_noise() -> None:
    released = AddVector(Words(2), 2)(np.array([40, 2]), ScriptedEntropy([1, 5]))
    assert released.dtype == np.int64
    assert released.tolist() == [41, 7]


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (1, 2), (2, 1), ()])
def test_a_vector_of_another_length_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue, match="a vector of 2 integers"):
        AddVector(Words(2), 2)(np.zeros(shape, dtype=np.int64), ScriptedEntropy([1, 5]))


@pytest.mark.parametrize("value", [2**63 - 1, 2**62, 2**100, -(2**63)])
def test_a_sum_beyond_64_bits_does_not_wrap(value: int) -> None:
    values = np.array([value, 5], dtype=object if abs(value) > 2**63 else np.int64)
    released = AddVector(Words(2), 2)(values, ScriptedEntropy([9, 1]))
    assert released.dtype == (np.int64 if value + 9 < 2**63 else object)
    assert released.tolist() == [value + 9, 6]
