"""One answer, told truly or not: Warner's coin, and its form for more answers than two."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.local.answers import valid_answers, valid_choices
from tacit.local.odds import Odds
from tacit.local.ratio import valid_ratio
from tacit.mechanisms.randomised_response import Respond
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class KAry:
    """An answer below ``choices``: the true one ``ratio`` times as often as any other.

    Reference: Warner 1965; Kairouz, Oh, Viswanath 2014.

    Example:
        >>> KAry(choices=2, ratio=Fraction(2)).odds
        Odds(true=Fraction(2, 3), other=Fraction(1, 3))
    """

    choices: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        valid_ratio(self.ratio)

    @property
    def bits(self) -> int:
        """One number below ``choices``."""
        return (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """A report speaks for the answer in it."""
        all_ = self.ratio + self.choices - 1
        return Odds(self.ratio / all_, 1 / all_)

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """The answers as told, a row each."""
        valid_answers(answers, self.choices)
        return Respond(self.odds.true, self.choices)(answers, entropy)[:, None]

    def tally(self, reports: Integers) -> Integers:
        """How often each answer was told."""
        return np.bincount(valid_answers(reports[:, 0], self.choices), minlength=self.choices)
