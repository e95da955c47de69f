"""One bit for each answer, set or not by a coin of its own."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from tacit.errors import InvalidValue
from tacit.local.answers import valid_answers, valid_choices
from tacit.local.odds import Odds
from tacit.local.ratio import valid_ratio
from tacit.noise.bernoulli import Bernoulli
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Unary:
    """``choices`` bits: that of the true answer is 1 with odds ``true``, others with ``other``.

    Two answers differ in two bits, each of which is more likely under one of them.
    Reference: Wang, Blocki, Li, Jha 2017; Erlingsson, Pihur, Korolova 2014 (RAPPOR).

    Example:
        >>> Unary.optimised(choices=5, ratio=Fraction(3)).odds
        Odds(true=Fraction(1, 2), other=Fraction(1, 4))
        >>> Unary.symmetric(choices=5, root=Fraction(2)).ratio
        Fraction(4, 1)
    """

    choices: int
    odds: Odds

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        if self.odds.true == 1 or self.odds.other == 0:
            raise InvalidValue("A bit that is always or never set gives the answer away.")
        valid_ratio(self.ratio)

    @classmethod
    def symmetric(cls, choices: int, root: Fraction) -> Self:
        """Each bit is told truly or not, with the odds of ``root``; the ratio is its square."""
        return cls(choices, Odds(root / (1 + root), 1 / (1 + root)))

    @classmethod
    def optimised(cls, choices: int, ratio: Fraction) -> Self:
        """The true bit is a fair coin, and all of the ratio goes to the many others."""
        return cls(choices, Odds(Fraction(1, 2), 1 / (1 + ratio)))

    @property
    def ratio(self) -> Fraction:
        """That of the two bits together."""
        true, other = self.odds.true, self.odds.other
        return true * (1 - other) / ((1 - true) * other)

    @property
    def bits(self) -> int:
        """One for each answer."""
        return self.choices

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """A row of zeros and ones for each answer."""
        valid_answers(answers, self.choices)
        drawn = Bernoulli(self.odds.other).draw(entropy, answers.size * self.choices)
        reports: Integers = drawn.reshape(answers.size, self.choices)
        true = Bernoulli(self.odds.true).draw(entropy, answers.size)
        reports[np.arange(answers.size), answers] = true
        return reports

    def tally(self, reports: Integers) -> Integers:
        """How often each bit is 1."""
        total: Integers = valid_answers(reports, 2).sum(axis=0)
        return total
