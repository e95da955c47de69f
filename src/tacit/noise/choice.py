"""Exact draws from distributions whose weights are secret, as in the exponential mechanism.

`tacit.noise.inversion` caches a table for each distribution, which is right if the distribution
is public. The weights of a private choice depend on exact values of the data, so here they are
used once and never cached. `choose` draws one outcome, and `choose_each` draws one outcome for
each of many rows.
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
"""An array of integers; where they exceed 64 bits, of Python integers."""


@dataclass(frozen=True, slots=True)
class Exponentials:
    """The distribution with weights ``base[k] * exp(rate * scores[k])`` and secret scores.

    Guarantee: the number of computation steps depends on public facts only: the number of
    scores, the rate, the base and the precision. Scores are not printed, and an array of them
    has no hash, so that no cache can store this distribution.
    """

    rate: Fraction
    scores: Integers = field(repr=False)
    base: tuple[int, ...] | None = None
    """Public weights of at least 1; None means that all are 1."""

    def weights(self, precision: int) -> Weights:
        """Return bounds on the weights, relative to the best score with base 1."""
        largest = max(self.base) if self.base else 1
        unit = precision + largest.bit_length()
        base = np.array(self.base or [1] * self.scores.size, dtype=object) << unit
        lower, upper = exponential_bounds(self.rate, self.scores, base, unit, largest)
        return Weights(lower.tolist(), upper.tolist())


def choose(entropy: Entropy, law: Law) -> int:
    """Draw one outcome of a finite distribution ``law``.

    One random word usually decides; more words are drawn only if it does not.

    Guarantee: the distribution is exact. The words are the leading bits of a uniform number U,
    and the outcome is the number of cumulative probabilities F(k) at or below U. Each F(k) has
    rational bounds, and more bits of U are drawn until U lies outside all of these bounds.
    After b bits, U is still undecided with a probability of about ``outcomes / 2**b``, for all
    weights.
    Reference: Devroye 1986, chapter II.2 (inversion); Knuth, Yao 1976 (bits drawn as needed).

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> law = Exponentials(Fraction(1), np.array([0, 3]))
        >>> choose(ScriptedEntropy([0]), law), choose(ScriptedEntropy([2**63]), law)
        (0, 1)
    """
    return chosen_further(entropy, law, 0, 0)


def chosen_further(entropy: Entropy, law: Law, leading: int, bits: int) -> int:
    """Return the outcome of a uniform number U, given its leading bits; draw more as needed."""
    while True:
        leading = leading << entropy.word_bits | int(entropy.words(1)[0])
        bits += entropy.word_bits
        outcome = _decide(law.weights(bits + GUARD_BITS), leading, bits)
        if outcome is not None:
            return outcome


def _decide(weights: Weights, leading: int, bits: int) -> int | None:
    """Return the outcome of all uniform numbers U with these leading bits, or None.

    It is None if two such numbers have different outcomes.

    Unlike `tacit.noise.inversion.compute_thresholds`, this does not compute exact thresholds.
    With two equal best scores and a third far below, the threshold floor(2**bits / (2 + tiny))
    would need as many digits as tiny has zeros. This work would depend on secret scores, and it
    would be unbounded.
    """
    total_lower, total_upper = sum(weights.lower), sum(weights.upper)
    reached = missed = 0
    for lower, upper in zip(accumulate(weights.lower), accumulate(weights.upper), strict=True):
        # F = below / (below + above) is least if below is least and above is greatest
        missed += (leading + 1) * (lower + total_upper - upper) <= lower << bits
        reached += leading * (upper + total_lower - lower) >= upper << bits
    return reached if reached + missed == len(weights.lower) else None


def exponential_bounds(
    rate: Fraction, scores: Integers, base: Wide, unit: int, largest: int
) -> tuple[Wide, Wide]:
    """Return bounds on ``base * exp(-rate * gap)``; the gap is to the best score of a row."""
    reach, tables = _powers(rate, unit, unit + largest.bit_length())
    gaps = _gaps(scores, reach)
    lower = upper = base
    for place, (least, most) in enumerate(tables):
        digit = (gaps >> place * DIGIT_BITS & 2**DIGIT_BITS - 1).astype(np.int64)
        lower = lower * least[digit] >> unit
        upper = -(-upper * most[digit] >> unit)
    return lower, upper


def _gaps(scores: Integers, reach: int) -> Wide:
    """Return how far each score is below the best of its row, at most ``reach``."""
    best = scores.max(axis=-1, keepdims=True)
    if scores.dtype == object or reach.bit_length() > INT64_BITS:
        wide: Wide = scores.astype(object)
        gaps: Wide = np.minimum(best.astype(object) - wide, reach)
        return gaps
    # a difference that overflows 64 signed bits is correct as an unsigned number
    unsigned = (best - scores).view(np.uint64)
    near: Wide = np.minimum(unsigned, np.uint64(reach)).view(np.int64)
    return near


@lru_cache(maxsize=256)
def _powers(
    rate: Fraction, precision: int, negligible: int
) -> tuple[int, list[tuple[Wide, Wide]]]:
    """Return the gap from which on weights are negligible, and tables of smaller weights.

    A weight is negligible below two to the ``-negligible``.

    If a gap is written in groups of binary digits, then exp(-rate * gap) is a product with one
    factor per group, and each table has the factors of one group. All of this is public, so it
    is cached.
    """
    # exp(-negligible) is small enough, since e is above 2. At this gap, the lower bound on the
    # weight is 0, and the upper bound holds for all larger gaps, so they count as this gap
    reach = (negligible / rate).__ceil__()
    tables = []
    for start in range(0, reach.bit_length(), DIGIT_BITS):
        found = Decay(1 / (rate * 2**start), 2**DIGIT_BITS).weights(precision)
        bounds = np.array(found.lower, dtype=object), np.array(found.upper, dtype=object)
        tables.append(bounds)
    return reach, tables


# ------------------------------------------------------------------ many draws at once


@dataclass(frozen=True, slots=True)
class ManyExponentials:
    """One distribution per row of ``scores``, with weights ``exp(rate * scores[row, k])``.

    Guarantee: the same as for `Exponentials`.
    """

    rate: Fraction
    scores: Integers = field(repr=False)

    def bounds(self, precision: int) -> tuple[Wide, Wide]:
        """Return lower and upper bounds on the weights, relative to a row's best score."""
        one = np.full(self.scores.shape, 1 << precision, dtype=object)
        return exponential_bounds(self.rate, self.scores, one, precision, 1)

    def row(self, place: int) -> Law:
        """Return the distribution of one row."""
        return Exponentials(self.rate, self.scores[place])


@dataclass(frozen=True, slots=True)
class ManyEqual:
    """One distribution per row of ``marks``: uniform over the outcomes that are marked."""

    marks: NDArray[np.bool_] = field(repr=False)

    def bounds(self, precision: int) -> tuple[Wide, Wide]:
        """Return the marks as weights, which are exact at every precision."""
        del precision
        parts = self.marks.astype(np.int64).astype(object)
        return parts, parts

    def row(self, place: int) -> Law:
        """Return the distribution of one row."""
        return Categorical(tuple(self.marks[place].astype(np.int64).tolist()))


def choose_each(entropy: Entropy, law: ManyExponentials | ManyEqual) -> Integers:
    """Draw one outcome of each row, with the distribution of `choose`.

    Example:
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> law = ManyExponentials(Fraction(1), np.array([[0, 3], [0, 3]]))
        >>> choose_each(ScriptedEntropy([0, 2**63]), law).tolist()
        [0, 1]
    """
    bits = entropy.word_bits
    lower, upper = law.bounds(bits + GUARD_BITS)
    words = entropy.words(len(lower)).astype(object)
    reached = _decide_each(lower, upper, words[:, None], bits)
    for place in np.flatnonzero(reached < 0).tolist():
        reached[place] = chosen_further(entropy, law.row(place), int(words[place]), bits)
    return reached


def _decide_each(lower: Wide, upper: Wide, leading: Wide, bits: int) -> Integers:
    """Return, for each row, the outcome that its leading bits decide, or -1 if they do not."""
    lower, upper = np.cumsum(lower, axis=1), np.cumsum(upper, axis=1)
    above, least = upper[:, -1:] - upper, lower[:, -1:] - lower
    missed = ((leading + 1) * (lower + above) <= lower << bits).sum(axis=1)
    reached = (leading * (upper + least) >= upper << bits).sum(axis=1)
    decided: Integers = np.where(reached + missed == lower.shape[1], reached, -1)
    return decided
