"""Adding one draw of vector noise to one integer vector of a fixed length."""

from dataclasses import dataclass
from typing import Protocol

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers, narrowed
from tacit.numeric.entropy import Entropy


class VectorSampler(Protocol):
    """A law of noise on integer vectors, such as `tacit.noise.cube`."""

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws, one a row."""
        ...


@dataclass(frozen=True, slots=True)
class AddVector:
    """The draw of a mechanism whose noise belongs to a vector of so many ``dimensions``.

    Guarantee: the sum is that of the integers. A vector of another length is refused, because
    its noise would have another law than the one that was priced; lengths are public.

    Example:
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from tacit.noise.cube import DiscreteCube
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> noise = AddVector(DiscreteCube(Fraction(10), dimensions=2), dimensions=2)
        >>> noise(np.array([40, 2]), SystemEntropy(charge=b"the hash of a charge")).shape
        (2,)
    """

    sampler: VectorSampler
    dimensions: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The vector with noise."""
        if values.shape != (self.dimensions,):
            raise InvalidValue(
                f"This noise is for {self.dimensions} integers at once, and a batch of shape "
                f"{values.shape} was given."
            )
        noise = self.sampler.draw(entropy, 1).reshape(self.dimensions)
        return narrowed(values.astype(object) + noise.astype(object))
