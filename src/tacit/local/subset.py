"""Several answers, of which the true one is more often one than not."""

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
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Subset:
    """``size`` of ``choices`` answers, each set with the true one ``ratio`` times as likely.

    With a size of 1 it is `KAry`. No randomiser estimates rare answers better, but for
    rounding of the size.
    Reference: Ye, Barg 2018; Wang et al. 2019.

    Example:
        >>> Subset(choices=4, size=2, ratio=Fraction(3)).odds
        Odds(true=Fraction(3, 4), other=Fraction(5, 12))
    """

    choices: int
    size: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        valid_ratio(self.ratio)
        if not 1 <= self.size < self.choices:
            raise InvalidValue(
                f"A report holds 1 to {self.choices - 1} of {self.choices} answers, and "
                f"{self.size} were asked for."
            )

    @classmethod
    def best(cls, choices: int, ratio: Fraction) -> Self:
        """The size with the least variance, one of the two beside choices / (1 + ratio)."""
        near = int(valid_choices(choices) / (1 + ratio))
        sizes = {min(max(size, 1), choices - 1) for size in (near, near + 1)}
        made = (cls(choices, size, ratio) for size in sorted(sizes))
        return min(made, key=lambda subset: subset.odds.variance())

    @property
    def bits(self) -> int:
        """That many numbers below ``choices``."""
        return self.size * (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """A report speaks for each answer in it."""
        size, rest = self.size, self.choices - 1
        true = self.ratio * size / (self.ratio * size + self.choices - size)
        return Odds(true, (true * (size - 1) + (1 - true) * size) / rest)

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """A row of ``size`` answers for each one, in order: their order must not tell."""
        valid_answers(answers, self.choices)
        kept = Bernoulli(self.odds.true).draw(entropy, answers.size)
        moves = self._others(entropy, answers.size)
        # where the true answer is kept it takes the place of the last of the others
        moves[:, -1] *= 1 - kept
        reports: Integers = np.sort((answers[:, None] + moves) % self.choices, axis=1)
        return reports

    def _others(self, entropy: Entropy, count: int) -> Integers:
        """Rows of ``size`` distinct numbers from 1 up below ``choices``, in random order."""
        numbers = np.tile(np.arange(1, self.choices), (count, 1))
        rows = np.arange(count)
        for place in range(self.size):  # the first steps of a Fisher-Yates shuffle
            chosen = place + UniformBelow(self.choices - 1 - place).draw(entropy, count)
            taken = numbers[rows, chosen]
            numbers[rows, chosen] = numbers[:, place]
            numbers[:, place] = taken
        return numbers[:, : self.size].copy()

    def tally(self, reports: Integers) -> Integers:
        """How often each answer is in a report."""
        listed = valid_answers(reports, self.choices).ravel()
        return np.bincount(listed, minlength=self.choices)
