"""Scripted entropy, exact laws by enumeration, and reference samplers, for tests.

With scripted entropy a sampler runs the same code as in production, and the test chooses every
random word.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from tacit.errors import InvalidValue
from tacit.numeric.entropy import Entropy, Words


class ScriptEnded(Exception):
    """The error that is raised when a sampler reads beyond the end of its script."""


class ScriptedEntropy:
    """Entropy that returns the words of ``script`` in order, and then raises `ScriptEnded`.

    With narrow words, all scripts of a sampler can be enumerated: four words of 4 bits have
    65,536 scripts.

    Example:
        >>> script = ScriptedEntropy([1, 2, 3], word_bits=4)
        >>> script.words(2).tolist(), script.used
        ([1, 2], 2)
    """

    def __init__(self, script: Iterable[int], word_bits: int = 64) -> None:
        self.word_bits = word_bits
        self.used = 0
        self._script = list(script)
        if any(not 0 <= word < 2**word_bits for word in self._script):
            raise InvalidValue(
                f"A script of {word_bits}-bit words must have integers below 2**{word_bits}."
            )

    def words(self, count: int) -> Words:
        """Return the next ``count`` words of the script."""
        if self.used + count > len(self._script):
            raise ScriptEnded
        words = self._script[self.used : self.used + count]
        self.used += count
        return np.array(words, dtype=np.uint64)


# ------------------------------------------------------------------ enumeration
# The exact law of a sampler, by running it on every script of words that it could read.


@dataclass(frozen=True, slots=True)
class EnumeratedLaw:
    """The probability of each outcome, and of a sampler that needs more words (undecided)."""

    outcomes: dict[int, Fraction]
    undecided: Fraction

    def allows(self, outcome: int, least: Fraction, most: Fraction) -> bool:
        """Return whether ``outcome`` can have a probability from ``least`` to ``most``."""
        found = self.outcomes.get(outcome, Fraction(0))
        return found <= most and least <= found + self.undecided


def enumerate_law(
    draw: Callable[[Entropy], int], word_bits: int, longest: int
) -> EnumeratedLaw:
    """Return the law of ``draw`` over all scripts of at most ``longest`` words.

    Each word has ``word_bits`` bits.

    Example:
        >>> enumerate_law(
        ...     lambda entropy: int(entropy.words(1)[0]) % 3, word_bits=2, longest=1
        ... ).outcomes
        {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    """
    outcomes: dict[int, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    for script, outcome in _walk(draw, word_bits, longest, ()):
        mass = Fraction(1, 2 ** (word_bits * len(script)))
        if outcome is None:
            undecided += mass
        else:
            outcomes[outcome] += mass
    return EnumeratedLaw(dict(outcomes), undecided)


def _walk(
    draw: Callable[[Entropy], int], word_bits: int, longest: int, script: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int | None]]:
    """Yield each script with its outcome, or with None if ``longest`` words are too few."""
    try:
        yield script, draw(ScriptedEntropy(script, word_bits))
    except ScriptEnded:
        if len(script) == longest:
            yield script, None
            return
        for word in range(2**word_bits):
            yield from _walk(draw, word_bits, longest, (*script, word))


# ------------------------------------------------------------------ reference
# The rejection samplers of Canonne, Kamath and Steinke, as published: an oracle for tests.
#
# They are exact, and are written independently of `tacit.noise`, in plain Python integers. They
# are never used for a release: they are slow, and their time reveals the size of a draw.
# Reference: Canonne, Kamath, Steinke 2020, algorithms 1 to 3.


def bernoulli(entropy: Entropy, probability: Fraction) -> bool:
    """Return True with the given probability."""
    return _below(entropy, probability.denominator) < probability.numerator


def bernoulli_exp(entropy: Entropy, exponent: Fraction) -> bool:
    """Return True with probability exp(-exponent), for an exponent of at least 0."""
    while exponent > 1:
        if not bernoulli_exp(entropy, Fraction(1)):
            return False
        exponent -= 1
    trials = 1
    while bernoulli(entropy, exponent / trials):
        trials += 1
    return trials % 2 == 1


def discrete_laplace(entropy: Entropy, scale: Fraction) -> int:
    """Draw y with a probability proportional to exp(-abs(y) / scale)."""
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
    """Draw y with a probability proportional to exp(-y**2 / (2 * variance))."""
    scale = isqrt(int(variance)) + 1
    while True:
        drawn = discrete_laplace(entropy, Fraction(scale))
        if bernoulli_exp(entropy, (abs(drawn) - variance / scale) ** 2 / (2 * variance)):
            return drawn


def _below(entropy: Entropy, size: int) -> int:
    """Draw a uniform integer from 0 to ``size`` - 1."""
    bits = (size - 1).bit_length()
    while True:
        drawn = taken = 0
        while taken < bits:
            drawn = drawn << entropy.word_bits | int(entropy.words(1)[0])
            taken += entropy.word_bits
        drawn >>= max(0, taken - bits)
        if drawn < size:
            return drawn
