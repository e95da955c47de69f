"""One draw from each of many laws whose weights are secret, all at once.

As in `tacit.noise.choice`, the draws are exact, and nothing of the weights is kept.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise.choice import Exponentials, Wide, chosen_further, exponential_bounds
from tacit.noise.integers import Integers
from tacit.noise.law import GUARD_BITS, Law
from tacit.noise.weights import Categorical
from tacit.numeric.entropy import Entropy


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
