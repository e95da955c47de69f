"""Permute-and-flip: one candidate, never worse than the exponential mechanism's."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.secret import Secret
from tacit.core.selection_event import PermuteAndFlipSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.mechanisms.exponential import check_choice, check_size, shortfall, spread
from tacit.mechanisms.gateway import Gateway
from tacit.noise.choice import choose
from tacit.noise.geometric import Geometric
from tacit.noise.integers import Integers
from tacit.noise.weights import Categorical
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """The place of the first candidate in random order whose coin exp(-rate * gap) falls heads.

    The gap is how far its score lies below the best. Under pure epsilon this is the better
    choice; under zCDP the exponential mechanism is, which costs a quarter there.

    Guarantee: scores that one unit moves by d at most lose pure epsilon 2 * rate * d, and half
    of it where they are ``monotone``: where one unit moves all of them the same way.
    Reference: McKenna, Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021 (it
    is report noisy max with exponential noise).

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> PermuteAndFlip(Fraction("0.25"), candidates=10).event(one)
        PermuteAndFlipSelection(epsilon=Fraction(1, 2))
    """

    rate: Fraction
    candidates: int
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, self.candidates)

    def event(self, sensitivity: Sensitivity) -> PermuteAndFlipSelection:
        """A selection of the same epsilon as the exponential mechanism."""
        return PermuteAndFlipSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen candidate, in an array of one."""
        draw = FlipAll(self.rate, self.candidates)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far the chosen score lies below the best at most.

        Half as likely to be passed as with the exponential mechanism: where H candidates so far
        below fall heads, one of them comes first with probability H / (H + 1) <= H / 2 at most.
        """
        return shortfall(self.rate, Fraction(self.candidates, 2), confidence)


@dataclass(frozen=True, slots=True)
class FlipAll:
    """Flips all coins, and takes one of those that fell heads, uniformly.

    That is the first heads in a random order, without the order. All steps are done whatever
    falls, so that their number says nothing.
    """

    rate: Fraction
    candidates: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of one of the scores."""
        check_size(values, self.candidates)
        scores = values.astype(object)  # Python integers: a gap may pass 64 bits
        # a geometric draw of scale 1 / rate reaches the gap with probability exp(-rate * gap)
        ticks = Geometric(1 / self.rate).draw(entropy, self.candidates)
        heads = Categorical(tuple(map(int, ticks >= scores.max() - scores)))
        return np.array([choose(entropy, heads)], dtype=np.int64)
