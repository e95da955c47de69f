"""One bit: the sign of a Hadamard matrix in the answer's column and a random row."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.local.answers import valid_answers, valid_choices
from tacit.local.odds import Odds
from tacit.local.ratio import valid_ratio
from tacit.mechanisms.randomised_response import Respond
from tacit.noise.integers import Integers
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Hadamard:
    """A random row's number, and the sign in it at the answer's column, told truly or not.

    The sign at row r and column c is that of the parity of r & c. Two columns agree in exactly
    half of the rows, so a report speaks for another answer with probability 1/2.
    Reference: Acharya, Sun, Zhang 2019; Bassily, Nissim, Stemmer, Thakurta 2017.

    Example:
        >>> Hadamard(choices=100, ratio=Fraction(3)).odds
        Odds(true=Fraction(3, 4), other=Fraction(1, 2))
    """

    choices: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        valid_ratio(self.ratio)

    @property
    def bits(self) -> int:
        """A row's number, and the sign."""
        return self.rows.bit_length()

    @property
    def rows(self) -> int:
        """Of the matrix: the least power of two that holds all answers."""
        return 1 << (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """A report speaks for the answers whose sign it tells."""
        return Odds(self.ratio / (1 + self.ratio), Fraction(1, 2))

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Rows of two numbers: which row of the matrix, and 1 for a sign of minus."""
        valid_answers(answers, self.choices)
        rows = UniformBelow(self.rows).draw(entropy, answers.size)
        told = Respond(self.odds.true, 2)(parity(rows & answers), entropy)
        return np.column_stack([rows, told])

    def tally(self, reports: Integers) -> Integers:
        """How many reports tell the sign of each answer."""
        rows = valid_answers(reports[:, 0], self.rows)
        minus = valid_answers(reports[:, 1], 2) == 1
        signs = np.bincount(rows[~minus], minlength=self.rows)
        signs -= np.bincount(rows[minus], minlength=self.rows)
        # agreements less disagreements, for all columns at once
        agreed: Integers = (len(reports) + transformed(signs)[: self.choices]) // 2
        return agreed


def parity(numbers: Integers) -> Integers:
    """1 where a number has an odd number of ones in binary.

    Example:
        >>> parity(np.array([0, 1, 2, 3, 7])).tolist()
        [0, 1, 1, 0, 1]
    """
    folded = numbers
    for half in (16, 8, 4, 2, 1):
        folded = folded ^ folded >> half
    return folded & 1


def transformed(values: Integers) -> Integers:
    """The Hadamard matrix times ``values``, a power of two of them.

    Example:
        >>> transformed(np.array([1, 2, 3, 4])).tolist()
        [10, -2, -4, 0]
    """
    done, width = values.astype(np.int64), 1
    while width < done.size:
        pairs = done.reshape(-1, 2, width)
        done = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).ravel()
        width *= 2
    return done
