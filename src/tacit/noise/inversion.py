"""A law on 0, 1, 2, ...

as weights known to any precision, and the thresholds that draw from it exactly.

A uniform number U in [0, 1) falls below the cumulative probability F(k) or not. Comparing the
first 64 bits of U with the integer ``floor(2**64 * F(k))`` decides this, unless the two are
equal. So a table of such integers draws from the law exactly, once each is *certainly* the
right one: it is computed from a lower and an upper bound, with more precision until both give
the same integer.
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
"""Bits beyond the threshold's own with which a table is first tried; nearly always enough."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bounds on the weights of the outcomes 0, 1, 2, ...

    in one common unit, and on all that is not listed.
    """

    lower: Sequence[int]
    upper: Sequence[int]
    rest: int = 0
    """An upper bound on the weight of all outcomes beyond the list; 0 where there are none."""


class Law(Protocol):
    """A law on the integers from 0 up, in terms of weights that need not add up to 1."""

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights in units of two to the ``-precision``."""
        ...

    def __hash__(self) -> int: ...


@lru_cache(maxsize=256)
def thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """The same as `compute_thresholds`, kept for the next time."""
    return compute_thresholds(law, bits)


def compute_thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """The integers ``floor(2**bits * F(k))`` for k = 0, 1, 2, ...

    For laws of public facts: how much precision a law needs can tell what it is made of, and
    one whose cumulative probability is rational but for a negligible weight needs it without
    end. A law of secret weights is drawn by `tacit.noise.choice`.

    Guarantee: each is exact. The list ends before the last outcome of a finite law, and at the
    first ``2**bits - 1`` of an infinite one, where longer words must decide.
    Reference: Ziv 1991: raise the precision until both bounds round to the same number.
    """
    precision = bits + GUARD_BITS
    while (found := _certain(law.weights(precision), bits)) is None:
        precision += precision // 2
    return found


def _certain(weights: Weights, bits: int) -> tuple[int, ...] | None:
    """The thresholds, or None where the bounds are too wide to tell one of them."""
    total_lower = sum(weights.lower)
    total_upper = sum(weights.upper) + weights.rest
    highest = (1 << bits) - 1  # F(k) < 1 for every k but the last, which has no threshold
    found: list[int] = []
    below_lower = below_upper = 0
    for lower, upper in zip(weights.lower, weights.upper, strict=True):
        below_lower += lower
        below_upper += upper
        if below_upper == total_upper:
            return tuple(found)
        # F = below / (below + above), least where above is greatest
        least = (below_lower << bits) // (below_lower + total_upper - below_upper)
        most = (below_upper << bits) // (below_upper + total_lower - below_lower)
        if least != min(most, highest):
            return None
        found.append(least)
        if weights.rest and least == highest:
            return tuple(found)
    return None


# ------------------------------------------------------------------ weights
# The laws that Tacit draws from, each as its weights: integers only, rounded outward.

Bound = tuple[int, int]
"""A lower and an upper bound on one weight."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """Outcome k with probability ``parts[k] / sum(parts)``."""

    parts: tuple[int, ...]

    def weights(self, precision: int) -> Weights:
        """The parts themselves, exact at every precision."""
        del precision
        return Weights(self.parts, self.parts)


@dataclass(frozen=True, slots=True)
class LaplaceSign:
    """Outcomes 0, 1, 2 for a discrete Laplace value below, at and above zero.

    Their weights are q, 1 - q and q, with q = exp(-1/scale).
    """

    scale: Fraction

    def weights(self, precision: int) -> Weights:
        """Bounds on the three weights."""
        lower, upper = _exp_minus(1 / self.scale, precision)
        one = 1 << precision
        return Weights((lower, one - upper, lower), (upper, one - lower, upper))


@dataclass(frozen=True, slots=True)
class Decay:
    """Outcome k with weight exp(-k/scale): for all k, or for those below ``size``."""

    scale: Fraction
    size: int | None = None

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights; those too small for the precision are bounded together."""
        ratio = _exp_minus(1 / self.scale, precision)
        if self.size is None:
            return _until_negligible(repeat(ratio), precision)
        listed = list(islice(_products(repeat(ratio), precision), self.size))
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed])


@dataclass(frozen=True, slots=True)
class Bell:
    """Outcome k with weight exp(-k**2 / (2 * variance)), for all k from 0 up."""

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights; those too small for the precision are bounded together."""
        return _until_negligible(self._ratios(precision), precision)

    def _ratios(self, precision: int) -> Iterator[Bound]:
        """Of each weight to the one before, exp(-(2k - 1)/(2 * variance)): itself a product."""
        first = _exp_minus(1 / (2 * self.variance), precision)
        return _products(repeat(_exp_minus(1 / self.variance, precision)), precision, first)


@dataclass(frozen=True, slots=True)
class TwoSidedBell:
    """Outcomes 0, 1, 2, 3, 4, ...

    for the integers 0, 1, -1, 2, -2, ..., weighted as by `Bell`.
    """

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """The weights of `Bell`, all but the first of them twice."""
        side = Bell(self.variance).weights(precision)
        lower, upper = list(side.lower), list(side.upper)
        twice = [weight for weight in lower[1:] for _ in range(2)]
        twice_upper = [weight for weight in upper[1:] for _ in range(2)]
        return Weights(lower[:1] + twice, upper[:1] + twice_upper, rest=2 * side.rest)


def _until_negligible(ratios: Iterator[Bound], precision: int) -> Weights:
    """Weights whose ratios never rise, listed while they are above the precision."""
    lower: list[int] = []
    upper: list[int] = []
    one = 1 << precision
    weight = (one, one)
    for ratio in ratios:  # of the next weight to this one
        if weight[0] == 0:
            break
        lower.append(weight[0])
        upper.append(weight[1])
        weight = _times(weight, ratio, precision)
    # the first weight left out starts a series that falls at least as fast as a geometric one
    return Weights(lower, upper, rest=-(-(weight[1] << precision) // (one - ratio[1])))


def _products(
    ratios: Iterator[Bound], precision: int, first: Bound | None = None
) -> Iterator[Bound]:
    """The first weight, 1 unless given, and its products with one ratio after the other."""
    weight = first or (1 << precision, 1 << precision)
    yield weight
    for ratio in ratios:
        weight = _times(weight, ratio, precision)
        yield weight


def _times(left: Bound, right: Bound, precision: int) -> Bound:
    """The product of two weights, rounded outward."""
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def _exp_minus(value: Fraction, precision: int) -> Bound:
    """Bounds on exp(-value), value >= 0, in units of two to the ``-precision``."""
    # three bits need less than one decimal digit
    lower, upper = exp_bounds(-value, digits=precision // 3 + 5)
    one = 1 << precision
    return (lower * one).__floor__(), min((upper * one).__ceil__(), one)


# ------------------------------------------------------------------ table
# A sorted table of thresholds that can be searched for many words at once.

GUIDE_BITS = 14
"""Leading bits that the guide is indexed by: it fits a core's cache, and tells most words."""

GUIDED_FROM = 4096
"""Words from which the guide pays; below, the plain search takes equal time for each."""


class ThresholdTable:
    """Thresholds in order; a word's place is how many of them it has reached.

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
        """The place of each word, and which words equal a threshold: more bits decide those."""
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
        # a word below all thresholds looks at the last one, which it does not equal
        return places, np.flatnonzero(self._thresholds[places - 1] == words)

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """The place of all words with given leading bits, or -1 where their places differ."""
        starts = np.arange(2**GUIDE_BITS, dtype=np.uint64) << np.uint64(self._bits - GUIDE_BITS)
        before = np.searchsorted(self._thresholds, starts, side="left")
        after = np.append(before[1:], self._thresholds.size)
        return np.where(before == after, before, -1).astype(np.int32)


# ------------------------------------------------------------------ inversion
# Draws from a law by comparing uniform words with its thresholds.
#
# Exact, in bulk, in one pass.


@dataclass(frozen=True, slots=True)
class Inversion:
    """A sampler of ``law``: one word a draw, and another only where the first cannot decide.

    Guarantee: the law of the draws is exactly ``law``. Let U be uniform with the word as its
    leading bits. A word below the threshold of k means U < F(k), a word above it U > F(k), and
    a word equal to it is decided by more bits of the same U.
    Reference: Devroye 1986, chapter II.2 (inversion); Knuth, Yao 1976 (bits revealed as they
    are needed).

    Example:
        >>> from tacit.noise.inversion import Categorical
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> coin = Inversion(Categorical((1, 1)))
        >>> coin.draw(ScriptedEntropy([0, 2**63 - 1, 2**63 + 1]), 3).tolist()
        [0, 0, 1]
    """

    law: Law

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        words = entropy.words(count)
        drawn, undecided = _table(self.law, entropy.word_bits).find(words)
        for position in undecided:
            drawn[position] = self._decide(entropy, int(words[position]))
        return drawn

    def _decide(self, entropy: Entropy, leading: int) -> int:
        """The draw of a uniform number that begins with ``leading``, from more words of it."""
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
