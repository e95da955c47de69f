"""A number told by one bit: rounded to the least or the greatest at random, and then a coin."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.local.answers import valid_answers, valid_choices
from tacit.local.k_ary import KAry
from tacit.local.mean import Mean
from tacit.local.shares import USUAL, shares
from tacit.noise.integers import Integers
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class OneBit:
    """A number from 0 to ``steps``: 1 with probability number / steps, told truly or not.

    The share of true ones is the mean number in units of ``steps``, so that Warner's estimate
    and its interval are those of the mean.
    Reference: Duchi, Jordan, Wainwright 2018; Ding, Kulkarni, Yekhanin 2017.

    Example:
        >>> OneBit(steps=80, ratio=Fraction(3)).mean(np.array([1, 0, 1, 0])).value
        Fraction(40, 1)
    """

    steps: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.steps + 1)
        KAry(2, self.ratio)  # checks the ratio

    @property
    def variance(self) -> Fraction:
        """Of the estimate from one report of the middle, which is the worst of all numbers."""
        return self.steps**2 * KAry(2, self.ratio).odds.variance(Fraction(1, 2))

    def randomise(self, numbers: Integers, entropy: Entropy) -> Integers:
        """A bit for each number."""
        valid_answers(numbers, self.steps + 1)
        rounded = UniformBelow(self.steps).draw(entropy, numbers.size) < numbers
        return KAry(2, self.ratio).randomise(rounded.astype(np.int64), entropy)[:, 0]

    def mean(self, reports: Integers, confidence: Fraction = USUAL) -> Mean:
        """The mean number; the interval holds it as that of a share does."""
        coin = KAry(2, self.ratio)
        ones = int(coin.tally(reports[:, None])[1])
        (share,) = shares(coin.odds, [ones], reports.size, confidence)
        low, high = share.interval
        return Mean(share.value * self.steps, (low * self.steps, high * self.steps))
