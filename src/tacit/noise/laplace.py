"""The discrete Laplace law, exactly, for any rational scale."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.noise.geometric import Geometric
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.weights import LaplaceSign
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """A sampler with P(y) proportional to exp(-|y|/scale), for every integer y.

    Guarantee: the law is exact; there is no rejection, and how many words a draw takes does not
    depend on it. The sign is negative, zero or positive with weights q, 1 - q, q, q =
    exp(-1/scale); given that it is not zero, |y| - 1 is geometric.
    Reference: Ghosh, Roughgarden, Sundararajan 2009, definition 2.3 (the two-sided geometric
    law).

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> DiscreteLaplace(Fraction(1, 3)).draw(SystemEntropy(b"charge"), 4).shape
        (4,)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InvalidValue(f"Laplace noise needs a scale above 0, and {self.scale} is not.")

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        sign = Inversion(LaplaceSign(self.scale)).draw(entropy, count) - 1
        return sign * (Geometric(self.scale).draw(entropy, count) + 1)
