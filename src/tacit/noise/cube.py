"""L-infinity noise on integer vectors, exactly, as a mixture of uniform cubes."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.cube_weights import CubeRadius
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.uniform import uniform_bits
from tacit.numeric.entropy import Entropy

LARGEST_TABLE = 200_000
"""Outcomes of the greatest table, which takes a second or two to build."""

LEADING_BITS = 40
"""Bits of a uniform number that are looked at first.

Their product with the width of a cube that a table holds stays within 62 bits.
"""


@dataclass(frozen=True, slots=True)
class DiscreteCube:
    """A sampler of integer vectors, P(z) proportional to exp(-max(abs(z)) / scale).

    Guarantee: the law is exact, and there is no rejection. The cube's radius R has weight
    (2R + 1)**dimensions * exp(-R / scale), and z is uniform on {-R, ..., R} in each coordinate:
    then z has the weight of exp(-R / scale) summed over R >= max(abs(z)), which is proportional
    to exp(-max(abs(z)) / scale).
    Reference: Hardt, Talwar 2010 (the K-norm mechanism); Devroye 1986, chapter II.4
    (mixtures).

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteCube(Fraction(3), dimensions=2).draw(SystemEntropy(b"charge"), 4).shape
        (4, 2)
    """

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.dimensions < 1:
            raise InvalidValue(
                "Cube noise needs a scale above 0 and at least 1 dimension, and "
                f"scale={self.scale}, dimensions={self.dimensions} was given."
            )
        if (size := self._radius.table_size) > LARGEST_TABLE:
            raise InvalidValue(
                f"Cube noise of scale={self.scale} in dimensions={self.dimensions} needs a "
                f"table of about {size} outcomes, and {LARGEST_TABLE} are allowed; "
                "use a coarser grid."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws, one a row."""
        radius = Inversion(self._radius).draw(entropy, count)
        each = np.repeat(radius, self.dimensions)
        places = uniform_below_each(entropy, 2 * each + 1)
        return (places - each).reshape(count, self.dimensions)

    @property
    def _radius(self) -> CubeRadius:
        return CubeRadius(self.scale, self.dimensions)


def uniform_below_each(entropy: Entropy, sizes: Integers) -> Integers:
    """One uniform integer of 0, ..., size - 1 for each of ``sizes``, which are below 2**22.

    Guarantee: the law is exact: floor(U * size) of a uniform U, with more bits of the same U
    where the first cannot decide. Unlike rejection it takes the same words for every size, so
    that its time does not tell the radius of a cube.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> words = ScriptedEntropy([0, 7, 15, 8], word_bits=4)
        >>> uniform_below_each(words, np.array([3, 3, 3])).tolist()
        [0, 1, 2]
    """
    bits = min(LEADING_BITS, entropy.word_bits)
    leading = uniform_bits(entropy, sizes.size, bits)
    products = leading * sizes
    places = products >> bits
    # the bits to come may carry
    undecided = (products & (1 << bits) - 1) + sizes > 1 << bits
    for position in np.flatnonzero(undecided):
        places[position] = _decide(entropy, int(leading[position]), bits, int(sizes[position]))
    return places


def _decide(entropy: Entropy, leading: int, bits: int, size: int) -> int:
    """The place of a uniform number that begins with ``leading``, from more words of it."""
    while leading * size >> bits != ((leading + 1) * size - 1) >> bits:
        leading = leading << entropy.word_bits | int(entropy.words(1)[0])
        bits += entropy.word_bits
    return leading * size >> bits
