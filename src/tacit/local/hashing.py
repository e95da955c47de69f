"""A number that the answer hashes to, told truly or not, beside the hash that was drawn."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from tacit.errors import InvalidValue
from tacit.local.answers import valid_answers, valid_choices
from tacit.local.odds import Odds
from tacit.local.ratio import valid_ratio
from tacit.mechanisms.randomised_response import Respond
from tacit.noise.integers import Integers
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Hashing:
    """A hash with ``prime ** width`` values, drawn by each client for itself.

    The answer in digits to the base ``prime`` is multiplied by a random matrix, modulo
    ``prime``. Two answers differ in some digit, so they meet with probability exactly
    1 / buckets: the estimate has no bias that a hash of another kind would bring.
    Reference: Wang, Blocki, Li, Jha 2017 (local hashing); Carter, Wegman 1979 (the family).

    Example:
        >>> Hashing(choices=100, prime=2, width=2, ratio=Fraction(3)).odds
        Odds(true=Fraction(1, 2), other=Fraction(1, 4))
    """

    choices: int
    prime: int
    width: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        valid_ratio(self.ratio)
        if not is_prime(self.prime) or self.width < 1:
            raise InvalidValue(
                f"A hash has a prime number of values, or a power of one; {self.prime} to the "
                f"{self.width} was given."
            )

    @classmethod
    def best(cls, choices: int, ratio: Fraction) -> Self:
        """The number of values with the least variance: a prime power near 1 + ratio."""
        ideal = int(1 + ratio)
        sizes = [(p, width) for width in (1, 2, 3) for p in range(2, 2 * ideal + 1)]
        made = [
            cls(choices, p, width, ratio)
            for p, width in sizes
            if p**width <= 2 * ideal and is_prime(p)
        ]
        return min(made, key=lambda hashing: hashing.odds.variance())

    @property
    def buckets(self) -> int:
        """How many values a hash has."""
        values: int = self.prime**self.width
        return values

    @property
    def bits(self) -> int:
        """The matrix and the value."""
        digit = (self.prime - 1).bit_length()
        return self._digits * self.width * digit + (self.buckets - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """A report speaks for every answer that hashes to its value."""
        return Odds(self.ratio / (self.ratio + self.buckets - 1), Fraction(1, self.buckets))

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """A row for each answer: the entries of the matrix, and the value."""
        valid_answers(answers, self.choices)
        entries = self._digits * self.width
        drawn = UniformBelow(self.prime).draw(entropy, answers.size * entries)
        matrix: Integers = drawn.reshape(answers.size, entries)
        truth = self.ratio / (self.ratio + self.buckets - 1)
        told = Respond(truth, self.buckets)(self._hashed(matrix, answers), entropy)
        return np.column_stack([matrix, told])

    def tally(self, reports: Integers) -> Integers:
        """How many reports have the value that each answer hashes to."""
        matrix, told = reports[:, :-1], valid_answers(reports[:, -1], self.buckets)
        valid_answers(matrix, self.prime)
        every = np.arange(self.choices)
        counts = [int((self._hashed(matrix, every[a : a + 1]) == told).sum()) for a in every]
        return np.array(counts, dtype=np.int64)

    @property
    def _digits(self) -> int:
        """Digits that tell all answers apart."""
        digits = 1
        while self.prime**digits < self.choices:
            digits += 1
        return digits

    def _hashed(self, matrix: Integers, answers: Integers) -> Integers:
        """The value of each answer, or of the only one, under the matrix of each row."""
        places = self.prime ** np.arange(self._digits)
        digits = answers[:, None] // places % self.prime
        rows = matrix.reshape(len(matrix), self.width, self._digits)
        found = (rows * digits[:, None, :]).sum(axis=2) % self.prime
        value: Integers = (found * self.prime ** np.arange(self.width)).sum(axis=1)
        return value


def is_prime(number: int) -> bool:
    """Whether ``number`` is a prime; those asked about are small.

    Example:
        >>> [number for number in range(12) if is_prime(number)]
        [2, 3, 5, 7, 11]
    """
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))
