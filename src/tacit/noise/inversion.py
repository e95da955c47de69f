"""Exact draws from public distributions on 0, 1, 2, ..., by inversion with threshold tables.

A distribution (`Law`) is given by bounds on its weights at any precision. To draw, a uniform
number U in [0, 1) is compared with the cumulative probabilities F(k). The first 64 bits of U
and the integer ``floor(2**64 * F(k))`` decide this comparison, unless they are equal; then more
bits of U are drawn. So a table of these integers, the thresholds, gives exact draws, provided
that each threshold is *certainly* correct. It is computed from a lower and from an upper bound,
with increasing precision, until both give the same integer.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.noise.integers import Integers
from tacit.numeric import exp_bounds
from tacit.numeric.entropy import Entropy, Words

GUARD_BITS = 40
"""Number of extra bits of precision in the first attempt, which is nearly always enough."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bounds on the weights of outcomes, in one common unit, and on the weight of the rest."""

    lower: Sequence[int]
    upper: Sequence[int]
    rest: int = 0
    """An upper bound on the weight of all outcomes beyond the list; 0 if there are none."""


class Law(Protocol):
    """A distribution on the integers from 0 on, given by weights that need not add up to 1."""

    def weights(self, precision: int) -> Weights:
        """Return bounds on the weights of outcomes, in units of two to the ``-precision``."""
        ...

    def __hash__(self) -> int: ...


@lru_cache(maxsize=256)
def thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """Return `compute_thresholds`, from a cache if possible."""
    return compute_thresholds(law, bits)


def compute_thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """Return the integers ``floor(2**bits * F(k))`` for k = 0, 1, 2, ...

    This is for public distributions only. The precision that a distribution needs can reveal
    its weights, and it is unbounded if a cumulative probability is rational except for a
    negligible weight. For secret weights, use `tacit.noise.choice`.

    Guarantee: each threshold is exact. The list ends before the last outcome of a finite
    distribution. For an infinite one it ends at the first ``2**bits - 1``, where longer words
    must decide.
    Reference: Ziv 1991: increase the precision until both bounds round to the same number.
    """
    precision = bits + GUARD_BITS
    while (found := _certain(law.weights(precision), bits)) is None:
        precision += precision // 2
    return found


def _certain(weights: Weights, bits: int) -> tuple[int, ...] | None:
    """Return the thresholds, or None if the bounds are too wide for one of them."""
    total_lower = sum(weights.lower)
    total_upper = sum(weights.upper) + weights.rest
    highest = (1 << bits) - 1  # F(k) < 1 for all k except the last, which has no threshold
    found: list[int] = []
    below_lower = below_upper = 0
    for lower, upper in zip(weights.lower, weights.upper, strict=True):
        below_lower += lower
        below_upper += upper
        if below_upper == total_upper:
            return tuple(found)
        # F = below / (below + above) is least if above is greatest
        least = (below_lower << bits) // (below_lower + total_upper - below_upper)
        most = (below_upper << bits) // (below_upper + total_lower - below_lower)
        if least != min(most, highest):
            return None
        found.append(least)
        if weights.rest and least == highest:
            return tuple(found)
    return None


# ------------------------------------------------------------------ distributions
# Each distribution computes bounds on its weights with integers only, rounded outward.

Bound = tuple[int, int]
"""A lower and an upper bound on one weight."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """The distribution in which outcome k has probability ``parts[k] / sum(parts)``."""

    parts: tuple[int, ...]

    def weights(self, precision: int) -> Weights:
        """Return the parts as weights, which are exact at every precision."""
        del precision
        return Weights(self.parts, self.parts)


@dataclass(frozen=True, slots=True)
class LaplaceSign:
    """The sign of a discrete Laplace value: outcomes 0, 1, 2 for below, at and above zero.

    The weights are q, 1 - q and q, with q = exp(-1/scale).
    """

    scale: Fraction

    def weights(self, precision: int) -> Weights:
        """Return bounds on the three weights."""
        lower, upper = _exp_minus(1 / self.scale, precision)
        one = 1 << precision
        return Weights((lower, one - upper, lower), (upper, one - lower, upper))


@dataclass(frozen=True, slots=True)
class Decay:
    """The geometric distribution: weight exp(-k/scale) for all k, or for k below ``size``."""

    scale: Fraction
    size: int | None = None

    def weights(self, precision: int) -> Weights:
        """Return bounds on the weights of outcomes; negligible ones get one common bound."""
        ratio = _exp_minus(1 / self.scale, precision)
        if self.size is None:
            return _until_negligible(repeat(ratio), precision)
        listed = list(islice(_products(repeat(ratio), precision), self.size))
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed])


@dataclass(frozen=True, slots=True)
class Bell:
    """One side of the discrete Gaussian: weight exp(-k**2 / (2 * variance)) for k >= 0."""

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """Return bounds on the weights of outcomes; negligible ones get one common bound."""
        return _until_negligible(self.ratios(precision), precision)

    def ratios(self, precision: int) -> Iterator[Bound]:
        """Yield bounds on the ratio of each weight to the one before.

        The ratio exp(-(2k - 1)/(2 * variance)) is itself a product of earlier ratios.
        """
        first = _exp_minus(1 / (2 * self.variance), precision)
        return _products(repeat(_exp_minus(1 / self.variance, precision)), precision, first)


@dataclass(frozen=True, slots=True)
class TwoSidedBell:
    """The discrete Gaussian: outcomes 0, 1, 2, 3, 4, ... for 0, 1, -1, 2, -2, ..."""

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """Return the weights of `Bell`, each twice except for the first."""
        side = Bell(self.variance).weights(precision)
        lower, upper = list(side.lower), list(side.upper)
        twice = [weight for weight in lower[1:] for _ in range(2)]
        twice_upper = [weight for weight in upper[1:] for _ in range(2)]
        return Weights(lower[:1] + twice, upper[:1] + twice_upper, rest=2 * side.rest)


@dataclass(frozen=True, slots=True)
class TruncatedBell:
    """The discrete Gaussian on -reach, ..., reach: outcome k stands for k - reach."""

    variance: Fraction
    reach: int

    def weights(self, precision: int) -> Weights:
        """Return the weights of `Bell` from the lower end to the upper one."""
        ratios = Bell(self.variance).ratios(precision)
        side = list(islice(_products(ratios, precision), self.reach + 1))
        listed = [*reversed(side[1:]), *side]
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed])


def _until_negligible(ratios: Iterator[Bound], precision: int) -> Weights:
    """Return weights from ratios that never increase, until they fall below the precision."""
    lower: list[int] = []
    upper: list[int] = []
    one = 1 << precision
    weight = (one, one)
    for ratio in ratios:  # the ratio of the next weight to this one
        if weight[0] == 0:
            break
        lower.append(weight[0])
        upper.append(weight[1])
        weight = _times(weight, ratio, precision)
    # the weights that are left out decrease at least as fast as a geometric series
    return Weights(lower, upper, rest=-(-(weight[1] << precision) // (one - ratio[1])))


def _products(
    ratios: Iterator[Bound], precision: int, first: Bound | None = None
) -> Iterator[Bound]:
    """Yield the first weight, 1 by default, and its products with one ratio after another."""
    weight = first or (1 << precision, 1 << precision)
    yield weight
    for ratio in ratios:
        weight = _times(weight, ratio, precision)
        yield weight


def _times(left: Bound, right: Bound, precision: int) -> Bound:
    """Return the product of two weights, rounded outward."""
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def _exp_minus(value: Fraction, precision: int) -> Bound:
    """Return bounds on exp(-value), for value >= 0, in units of two to the ``-precision``."""
    # one decimal digit is worth more than three bits
    lower, upper = exp_bounds(-value, digits=precision // 3 + 5)
    one = 1 << precision
    return (lower * one).__floor__(), min((upper * one).__ceil__(), one)


# ------------------------------------------------------------------ threshold tables

GUIDE_BITS = 14
"""Number of leading bits that index the guide table.

The guide fits into a core's cache, and decides most words.
"""

GUIDED_FROM = 4096
"""The number of words from which the guide is faster than a plain search."""


class ThresholdTable:
    """A sorted table of thresholds; the place of a word is the number of those it reaches.

    Example:
        >>> table = ThresholdTable((3, 5), bits=4)
        >>> places, undecided = table.find(np.array([2, 3, 4, 9], dtype=np.uint64))
        >>> places.tolist(), undecided.tolist()
        ([0, 1, 1, 2], [1])
    """

    def __init__(self, thresholds: tuple[int, ...], bits: int) -> None:
        self._bits = bits
        self._thresholds = np.array(thresholds, dtype=np.uint64)

    def find(self, words: Words) -> tuple[Integers, Integers]:
        """Return the place of each word, and the words that equal a threshold.

        A word that equals a threshold needs more bits to decide.
        """
        if words.size < GUIDED_FROM or self._bits < GUIDE_BITS:
            return self._search(words)
        cells = words >> np.uint64(self._bits - GUIDE_BITS)
        places = self._guide[cells.view(np.int64)].astype(np.int64)
        unclear = np.flatnonzero(places < 0)
        found, equal = self._search(words[unclear])
        places[unclear] = found
        return places, unclear[equal]

    def _search(self, words: Words) -> tuple[Integers, Integers]:
        places = np.searchsorted(self._thresholds, words, side="right")
        if not self._thresholds.size:
            return places, places[:0]
        # for a word below all thresholds, index -1 is the last one, which it does not equal
        return places, np.flatnonzero(self._thresholds[places - 1] == words)

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """The place of all words with given leading bits, or -1 if their places differ."""
        starts = np.arange(2**GUIDE_BITS, dtype=np.uint64) << np.uint64(self._bits - GUIDE_BITS)
        before = np.searchsorted(self._thresholds, starts, side="left")
        after = np.append(before[1:], self._thresholds.size)
        return np.where(before == after, before, -1).astype(np.int32)


# ------------------------------------------------------------------ the sampler


@dataclass(frozen=True, slots=True)
class Inversion:
    """A sampler of the distribution ``law``, which draws by inversion.

    A draw takes one random word, and another one only if the first does not decide.

    Guarantee: the distribution of the draws is exactly ``law``. Let U be uniform with the word
    as its leading bits. A word below the threshold of k means U < F(k), a word above it means
    U > F(k), and a word equal to it is decided by more bits of the same U.
    Reference: Devroye 1986, chapter II.2 (inversion); Knuth, Yao 1976 (bits drawn as needed).

    Example:
        >>> from tacit.noise.inversion import Categorical
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> coin = Inversion(Categorical((1, 1)))
        >>> coin.draw(ScriptedEntropy([0, 2**63 - 1, 2**63 + 1]), 3).tolist()
        [0, 0, 1]
    """

    law: Law

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """Return ``count`` independent draws."""
        words = entropy.words(count)
        drawn, undecided = _table(self.law, entropy.word_bits).find(words)
        for position in undecided:
            drawn[position] = self._decide(entropy, int(words[position]))
        return drawn

    def _decide(self, entropy: Entropy, leading: int) -> int:
        """Draw more words of a uniform number that begins with ``leading``, until decided."""
        bits = entropy.word_bits
        while True:
            leading = leading << entropy.word_bits | int(entropy.words(1)[0])
            bits += entropy.word_bits
            longer = thresholds(self.law, bits)
            drawn = bisect_right(longer, leading)
            if drawn == 0 or longer[drawn - 1] != leading:
                return drawn


@lru_cache(maxsize=256)
def _table(law: Law, bits: int) -> ThresholdTable:
    return ThresholdTable(thresholds(law, bits), bits)
