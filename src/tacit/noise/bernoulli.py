"""Coins: with a rational probability, and with probability exp(-x) for a rational x."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue
from tacit.noise.geometric import Geometric
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.weights import Categorical
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """A sampler of 1 with the given probability, and of 0 otherwise.

    Guarantee: the probability is exact.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> Bernoulli(Fraction(1, 4)).draw(ScriptedEntropy([2, 13], word_bits=4), 2).tolist()
        [0, 1]
    """

    probability: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidValue(
                f"A probability lies in [0, 1], and {self.probability} does not."
            )

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        ones, all_ = self.probability.numerator, self.probability.denominator
        return Inversion(Categorical((all_ - ones, ones))).draw(entropy, count)


def bernoulli_exp(entropy: Entropy, exponents: Integers, denominator: int) -> NDArray[np.bool_]:
    """True with probability exp(-x), for each x = exponent / denominator of at least 0.

    Guarantee: each probability is exact, and all coins take the same words. A geometric draw of
    scale ``denominator`` reaches k with probability exp(-k / denominator), so the coin is
    whether it reaches the exponent.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> bernoulli_exp(
        ...     SystemEntropy(b"charge"), np.array([0, 10**9]), denominator=7
        ... ).tolist()
        [True, False]
    """
    if exponents.size and int(exponents.min()) < 0:
        raise InvalidValue("A coin exp(-x) needs x of at least 0, and one below 0 was given.")
    reached = Geometric(Fraction(denominator)).draw(entropy, exponents.size)
    return np.asarray(reached >= exponents, dtype=np.bool_)
