"""The rejection samplers of Canonne, Kamath and Steinke, as published: an oracle for tests.

They are exact, and written apart from `tacit.noise` in plain Python integers. They are no part
of a release: they are slow, and their time tells the size of a draw.
Reference: Canonne, Kamath, Steinke 2020, algorithms 1 to 3.
"""

from fractions import Fraction
from math import isqrt

from tacit.numeric.entropy import Entropy


def bernoulli(entropy: Entropy, probability: Fraction) -> bool:
    """True with the given probability."""
    return _below(entropy, probability.denominator) < probability.numerator


def bernoulli_exp(entropy: Entropy, exponent: Fraction) -> bool:
    """True with probability exp(-exponent), for an exponent of at least 0."""
    while exponent > 1:
        if not bernoulli_exp(entropy, Fraction(1)):
            return False
        exponent -= 1
    trials = 1
    while bernoulli(entropy, exponent / trials):
        trials += 1
    return trials % 2 == 1


def discrete_laplace(entropy: Entropy, scale: Fraction) -> int:
    """P(y) proportional to exp(-abs(y) / scale)."""
    while True:
        low = _below(entropy, scale.numerator)
        if not bernoulli_exp(entropy, Fraction(low, scale.numerator)):
            continue
        high = 0
        while bernoulli_exp(entropy, Fraction(1)):
            high += 1
        size = (low + scale.numerator * high) // scale.denominator
        if bernoulli(entropy, Fraction(1, 2)):
            return size
        if size:
            return -size


def discrete_gaussian(entropy: Entropy, variance: Fraction) -> int:
    """P(y) proportional to exp(-y**2 / (2 * variance))."""
    scale = isqrt(int(variance)) + 1
    while True:
        drawn = discrete_laplace(entropy, Fraction(scale))
        if bernoulli_exp(entropy, (abs(drawn) - variance / scale) ** 2 / (2 * variance)):
            return drawn


def _below(entropy: Entropy, size: int) -> int:
    """A uniform integer below ``size``."""
    bits = (size - 1).bit_length()
    while True:
        drawn = taken = 0
        while taken < bits:
            drawn = drawn << entropy.word_bits | int(entropy.words(1)[0])
            taken += entropy.word_bits
        drawn >>= max(0, taken - bits)
        if drawn < size:
            return drawn
