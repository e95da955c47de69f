"""Adding integer noise to integers, without overflow."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.errors import InternalError
from tacit.noise.integers import INT64_BITS, Integers, narrowed
from tacit.numeric.entropy import Entropy

BLOCK = 2**16
"""Values worked on at a time: few enough for a core's cache, however long the batch."""

INT64_ROOM = 2**INT64_BITS
"""Two integers below this in magnitude have a sum that 64 bits hold."""


class Sampler(Protocol):
    """A law of integer noise, such as those of `tacit.noise`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        ...


@dataclass(frozen=True, slots=True)
class AddNoise:
    """The draw of an additive mechanism: each value plus its own noise.

    Guarantee: the sum is that of the integers. Where it could pass 64 bits, Python integers
    hold it.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.noise.laplace import DiscreteLaplace
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> noise = AddNoise(DiscreteLaplace(Fraction(10)))
        >>> noise(np.array([40, 2]), SystemEntropy(charge=b"the hash of a charge")).shape
        (2,)
    """

    sampler: Sampler

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The values with noise."""
        if values.ndim != 1 or values.dtype.kind not in "iuO":
            raise InternalError("Noise is added to one row of integers, and to nothing else.")
        starts = range(0, max(values.size, 1), BLOCK)
        blocks = [self._noisy(values[start : start + BLOCK], entropy) for start in starts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _noisy(self, values: Integers, entropy: Entropy) -> Integers:
        noise = self.sampler.draw(entropy, values.size)
        if _fits(values) and _fits(noise):
            return values.astype(np.int64) + noise
        return narrowed(values.astype(object) + noise.astype(object))


def _fits(values: Integers) -> bool:
    """Whether every value leaves room for one addition in 64 bits."""
    if values.dtype == object:
        return False
    if values.dtype.kind == "u":
        return bool(np.all(values < INT64_ROOM))
    return bool(np.all((values < INT64_ROOM) & (values > -INT64_ROOM)))
