"""One draw from a law whose weights are secret: exact, and nothing of it is kept.

`tacit.noise.inversion` keeps a table for each law, which is right for public laws. The weights
of a private choice are made of exact values: they are used once and forgotten.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise.integers import INT64_BITS, Integers
from tacit.noise.inversion import GUARD_BITS, Categorical, Decay, Law, Weights
from tacit.noise.laplace import DIGIT_BITS
from tacit.numeric.entropy import Entropy

Wide = NDArray[Any]
"""Integers in an array, where need be Python's own, of any size."""


@dataclass(frozen=True, slots=True)
class Exponentials:
    """Outcome k with weight ``base[k] * exp(rate * scores[k])``, where the scores are secret.

    Guarantee: the number of steps depends on public facts alone: how many scores there are, the
    rate, the base and the precision. Scores are not printed, and an array of them has no hash,
    so that no cache can take this law.
    """

    rate: Fraction
    scores: Integers = field(repr=False)
    base: tuple[int, ...] | None = None
    """Public weights of at least 1; all are 1 where none are given."""

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights, as shares of that of a best score with base 1."""
        largest = max(self.base) if self.base else 1
        unit = precision + largest.bit_length()
        base = np.array(self.base or [1] * self.scores.size, dtype=object) << unit
        lower, upper = exponential_bounds(self.rate, self.scores, base, unit, largest)
        return Weights(lower.tolist(), upper.tolist())


def choose(entropy: Entropy, law: Law) -> int:
    """One outcome of a finite ``law``, from one word; more only where that cannot decide.

    Guarantee: the law is exact. The words are the leading bits of a uniform number U, and the
    outcome is how many cumulative probabilities F(k) lie at or below U. Each F(k) is bounded by
    fractions, and U is read further until it lies outside all of these bounds. After b bits
    that fails with a probability near ``outcomes / 2**b``, whatever the weights.
    Reference: Devroye 1986, chapter II.2 (inversion); Knuth, Yao 1976 (bits revealed as they
    are needed).

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> law = Exponentials(Fraction(1), np.array([0, 3]))
        >>> choose(ScriptedEntropy([0]), law), choose(ScriptedEntropy([2**63]), law)
        (0, 1)
    """
    return chosen_further(entropy, law, 0, 0)


def chosen_further(entropy: Entropy, law: Law, leading: int, bits: int) -> int:
    """The outcome of a U that begins with ``leading``, which has so many bits."""
    while True:
        leading = leading << entropy.word_bits | int(entropy.words(1)[0])
        bits += entropy.word_bits
        outcome = _decided(law.weights(bits + GUARD_BITS), leading, bits)
        if outcome is not None:
            return outcome


def _decided(weights: Weights, leading: int, bits: int) -> int | None:
    """The outcome of every U that begins with ``leading``, or None where they differ.

    Unlike `tacit.noise.inversion.compute_thresholds`, this asks for no threshold to be
    certain. With two equal best scores and a third far below, floor(2**bits / (2 + tiny))
    would need as many digits as tiny has zeros, which is secret work without end.
    """
    total_lower, total_upper = sum(weights.lower), sum(weights.upper)
    reached = missed = 0
    for lower, upper in zip(accumulate(weights.lower), accumulate(weights.upper), strict=True):
        # F = below / (below + above), least where below is least and above is greatest
        missed += (leading + 1) * (lower + total_upper - upper) <= lower << bits
        reached += leading * (upper + total_lower - lower) >= upper << bits
    return reached if reached + missed == len(weights.lower) else None


def exponential_bounds(
    rate: Fraction, scores: Integers, base: Wide, unit: int, largest: int
) -> tuple[Wide, Wide]:
    """Bounds on ``base * exp(-rate * gap)``, the gap that to the best score of a row."""
    reach, tables = _powers(rate, unit, unit + largest.bit_length())
    gaps = _gaps(scores, reach)
    lower = upper = base
    for place, (least, most) in enumerate(tables):
        digit = (gaps >> place * DIGIT_BITS & 2**DIGIT_BITS - 1).astype(np.int64)
        lower = lower * least[digit] >> unit
        upper = -(-upper * most[digit] >> unit)
    return lower, upper


def _gaps(scores: Integers, reach: int) -> Wide:
    """How far each score lies below the best of its row, up to ``reach``."""
    best = scores.max(axis=-1, keepdims=True)
    if scores.dtype == object or reach.bit_length() > INT64_BITS:
        wide: Wide = scores.astype(object)
        gaps: Wide = np.minimum(best.astype(object) - wide, reach)
        return gaps
    # a difference that wraps around 64 signed bits is right again without the sign
    unsigned = (best - scores).view(np.uint64)
    near: Wide = np.minimum(unsigned, np.uint64(reach)).view(np.int64)
    return near


@lru_cache(maxsize=256)
def _powers(
    rate: Fraction, precision: int, negligible: int
) -> tuple[int, list[tuple[Wide, Wide]]]:
    """A gap whose weight is below two to the ``-negligible``, and tables of exp(-rate * gap).

    Writing a gap in groups of binary digits, its weight is a product of one factor a group. All
    of this is public, so it is kept.
    """
    # exp(-negligible) is small enough, since e is above 2. At this gap a lower bound on the
    # weight is 0, and an upper bound holds for all gaps beyond: they count as this one
    reach = (negligible / rate).__ceil__()
    tables = []
    for start in range(0, reach.bit_length(), DIGIT_BITS):
        found = Decay(1 / (rate * 2**start), 2**DIGIT_BITS).weights(precision)
        bounds = np.array(found.lower, dtype=object), np.array(found.upper, dtype=object)
        tables.append(bounds)
    return reach, tables


# ------------------------------------------------------------------ choices
# One draw from each of many laws whose weights are secret, all at once.
#
# As in `tacit.noise.choice`, the draws are exact, and nothing of the weights is kept.


@dataclass(frozen=True, slots=True)
class ManyExponentials:
    """A law for each row of ``scores``: outcome k with weight ``exp(rate * scores[row, k])``.

    Guarantee: that of `Exponentials`.
    """

    rate: Fraction
    scores: Integers = field(repr=False)

    def bounds(self, precision: int) -> tuple[Wide, Wide]:
        """Lower and upper bounds on the weights, as shares of that of a row's best score."""
        one = np.full(self.scores.shape, 1 << precision, dtype=object)
        return exponential_bounds(self.rate, self.scores, one, precision, 1)

    def row(self, place: int) -> Law:
        """The law of one row."""
        return Exponentials(self.rate, self.scores[place])


@dataclass(frozen=True, slots=True)
class ManyEqual:
    """A law for each row of ``marks``: one of those outcomes that are marked, uniformly."""

    marks: NDArray[np.bool_] = field(repr=False)

    def bounds(self, precision: int) -> tuple[Wide, Wide]:
        """The marks themselves, exact at every precision."""
        del precision
        parts = self.marks.astype(np.int64).astype(object)
        return parts, parts

    def row(self, place: int) -> Law:
        """The law of one row."""
        return Categorical(tuple(self.marks[place].astype(np.int64).tolist()))


def choose_each(entropy: Entropy, law: ManyExponentials | ManyEqual) -> Integers:
    """One outcome of each row, as `choose` makes it, for many rows at once.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> law = ManyExponentials(Fraction(1), np.array([[0, 3], [0, 3]]))
        >>> choose_each(ScriptedEntropy([0, 2**63]), law).tolist()
        [0, 1]
    """
    bits = entropy.word_bits
    lower, upper = law.bounds(bits + GUARD_BITS)
    words = entropy.words(len(lower)).astype(object)
    reached = _decided_each(lower, upper, words[:, None], bits)
    for place in np.flatnonzero(reached < 0).tolist():
        reached[place] = chosen_further(entropy, law.row(place), int(words[place]), bits)
    return reached


def _decided_each(lower: Wide, upper: Wide, leading: Wide, bits: int) -> Integers:
    """The outcome of every U of a row that begins so, or -1 where they differ."""
    lower, upper = np.cumsum(lower, axis=1), np.cumsum(upper, axis=1)
    above, least = upper[:, -1:] - upper, lower[:, -1:] - lower
    missed = ((leading + 1) * (lower + above) <= lower << bits).sum(axis=1)
    reached = (leading * (upper + least) >= upper << bits).sum(axis=1)
    decided: Integers = np.where(reached + missed == lower.shape[1], reached, -1)
    return decided
