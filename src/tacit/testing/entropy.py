"""Entropy from a script: the same code as in production, with every word chosen by the test."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from tacit.errors import InvalidValue
from tacit.numeric.entropy import Entropy, Words


class ScriptEnded(Exception):
    """A sampler asked for a word beyond the end of its script."""


class ScriptedEntropy:
    """The words of ``script``, in order, and then `ScriptEnded`.

    Narrow words make a sampler small enough to be enumerated whole: with 4 bits a word, four
    words are 65,536 scripts.

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
                f"A script of {word_bits}-bit words holds integers below 2**{word_bits}."
            )

    def words(self, count: int) -> Words:
        """The next ``count`` words of the script."""
        if self.used + count > len(self._script):
            raise ScriptEnded
        words = self._script[self.used : self.used + count]
        self.used += count
        return np.array(words, dtype=np.uint64)


# ------------------------------------------------------------------ enumeration
# The exact law of a sampler, by walking through every script of words that it could read.


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The probability of each outcome within so many words, and of needing more."""

    outcomes: dict[int, Fraction]
    undecided: Fraction

    def allows(self, outcome: int, least: Fraction, most: Fraction) -> bool:
        """Whether a probability between ``least`` and ``most`` can be that of ``outcome``."""
        found = self.outcomes.get(outcome, Fraction(0))
        return found <= most and least <= found + self.undecided


def enumerated(draw: Callable[[Entropy], int], word_bits: int, longest: int) -> Enumerated:
    """What ``draw`` gives over all scripts of at most ``longest`` words of ``word_bits`` bits.

    Example:
        >>> enumerated(
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
    return Enumerated(dict(outcomes), undecided)


def _walk(
    draw: Callable[[Entropy], int], word_bits: int, longest: int, script: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int | None]]:
    """Each script with its outcome, or None where ``longest`` words are too few."""
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
# They are exact, and written apart from `tacit.noise` in plain Python integers. They are no
# part of a release: they are slow, and their time tells the size of a draw. Reference:
# Canonne, Kamath, Steinke 2020, algorithms 1 to 3.


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
