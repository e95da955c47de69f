"""A quantile on a public grid, by the exponential mechanism on ranks."""

from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np

from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import check_choice, check_size, shortfall
from tacit.mechanisms.gateway import Gateway
from tacit.noise.choice import Exponentials, choose
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Quantile:
    """The place of a grid point near the quantile ``probability`` of values on the grid.

    The secret is how many values lie at each of ``points`` public grid points. A point t has
    weight exp(-rate * distance), the distance from probability * size to the ranks that t has,
    from #(values < t) to #(values <= t).

    Guarantee: counts of L1 sensitivity d lose pure epsilon 2 * rate * d * max(probability, 1 -
    probability) where one unit adds or removes rows. Where it replaces them, d / 2 at most that
    leave by d / 2 at most that come, they lose rate * d. The range is bounded.
    Reference: Smith 2011 (on intervals between values); the distance to all ranks of a point,
    so that ties do no harm, is proved in docs/privacy/mechanisms/quantile.md.

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person has one value"))
        >>> Quantile(Fraction(1, 2), rate=Fraction(1), points=1001).event(one)
        ExponentialSelection(epsilon=Fraction(1, 1))
    """

    probability: Fraction
    rate: Fraction
    points: int
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        check_choice(self.rate, self.points)
        if not 0 < self.probability < 1:  # the extremes are not for private eyes
            raise InvalidValue(
                f"A quantile lies between 0 and 1, and {self.probability} does not."
            )

    def event(self, sensitivity: Sensitivity) -> ExponentialSelection:
        """A selection by ranks that move as far as ``neighbours`` lets them."""
        moved = sensitivity.in_norm(Norm.L1).amount * self._per_row()
        return ExponentialSelection(2 * self.rate * moved)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen grid point, in an array of one."""
        draw = ChooseRank(self.probability, self.rate, self.points)
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How many ranks the chosen point lies from the quantile at most."""
        return shortfall(self.rate, Fraction(self.points), confidence)

    def _per_row(self) -> Fraction:
        """How far a row that comes or leaves moves a distance at most."""
        match self.neighbours:
            case Neighbours.ADD_REMOVE:
                return max(self.probability, 1 - self.probability)
            case Neighbours.REPLACE_ONE:  # one that comes and one that leaves: 1 together
                return Fraction(1, 2)
            case _:
                assert_never(self.neighbours)


@dataclass(frozen=True, slots=True)
class ChooseRank:
    """The draw of a quantile: scores from counts, and a choice by them."""

    probability: Fraction
    rate: Fraction
    points: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of a grid point."""
        check_size(values, self.points)
        scores = rank_scores(values, self.probability)
        law = Exponentials(self.rate / self.probability.denominator, scores)
        return np.array([choose(entropy, law)], dtype=np.int64)


def rank_scores(counts: Integers, probability: Fraction) -> Integers:
    """Minus each point's distance to the wanted rank, times the probability's denominator.

    Example:
        >>> rank_scores(np.array([1, 0, 2, 0]), Fraction(1, 2)).tolist()
        [-1, -1, 0, -3]
    """
    up_to = np.cumsum(counts.astype(object))  # Python integers: no count is too large
    wanted = up_to[-1] * probability.numerator
    most = up_to * probability.denominator
    least = most - counts.astype(object) * probability.denominator
    scores: Integers = -np.maximum(np.maximum(least - wanted, wanted - most), 0)
    return scores
