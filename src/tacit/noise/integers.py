"""Arrays of integers of any size, and exact uniform draws.

An array has 64-bit integers if all of its values fit, and Python integers otherwise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.numeric.entropy import Entropy

Integers = NDArray[np.int64]
"""An array of integers; if one does not fit 64 bits, the array has Python integers instead."""

INT64_BITS = 62
"""Number of bits of a magnitude that leaves room for a sign and one addition in 64 bits."""


def narrow(wide: Integers) -> Integers:
    """Convert an array to 64 bits if all of its integers fit.

    The type depends on the values only, so it reveals no more than the values do.

    Example:
        >>> narrow(np.array([1, 2**63 - 1], dtype=object)).dtype
        dtype('int64')
        >>> narrow(np.array([1, 2**63], dtype=object)).dtype
        dtype('O')
    """
    fits = all(-(2**63) <= value < 2**63 for value in wide)
    return wide.astype(np.int64) if fits else wide


def integer_array(numbers: list[int]) -> Integers:
    """Return the numbers as an array: of 64 bits if all of them fit, as in `narrow`.

    Example:
        >>> integer_array([1, -2]).tolist()
        [1, -2]
    """
    return narrow(np.array(numbers, dtype=object))


# ------------------------------------------------------------------ uniform draws


def uniform_bits(entropy: Entropy, count: int, bits: int) -> Integers:
    """Return ``count`` uniform integers below two to the ``bits``.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> uniform_bits(ScriptedEntropy([0b1011, 0b0111], word_bits=4), 2, bits=2).tolist()
        [2, 1]
    """
    width = entropy.word_bits
    if bits <= min(width, INT64_BITS):
        return (entropy.words(count) >> np.uint64(width - bits)).astype(np.int64)
    drawn = np.zeros(count, dtype=np.int64 if bits <= INT64_BITS else object)
    for taken in range(0, bits, width):
        step = min(width, bits - taken)
        word = entropy.words(count) >> np.uint64(width - step)
        drawn = drawn << step | word.astype(drawn.dtype)
    return drawn


@dataclass(frozen=True, slots=True)
class UniformBelow:
    """A sampler of the integers 0, ..., size - 1, each with probability 1/size.

    Guarantee: the distribution is exact. Numbers of ``size`` or more are rejected and drawn
    again, and the number of rejections is independent of the result.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> UniformBelow(3).draw(ScriptedEntropy([3, 2], word_bits=2), 1).tolist()
        [2]
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidValue(
                f"A uniform draw needs at least 1 outcome, but {self.size} were given."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        bits = (self.size - 1).bit_length()
        if bits == 0:
            return np.zeros(count, dtype=np.int64)
        drawn = uniform_bits(entropy, count, bits)
        while (again := np.flatnonzero(drawn >= self.size)).size:
            drawn[again] = uniform_bits(entropy, again.size, bits)
        return drawn
