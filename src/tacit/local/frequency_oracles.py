"""One answer, told truly or not: Warner's coin, and its form for more answers than two."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from tacit.errors import InvalidValue
from tacit.local.oracle import Odds, valid_answers, valid_choices, valid_ratio
from tacit.mechanisms import Respond
from tacit.noise import Bernoulli, Integers, UniformBelow
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


# ------------------------------------------------------------------ unary
# One bit for each answer, set or not by a coin of its own.


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


# ------------------------------------------------------------------ subset
# Several answers, of which the true one is more often one than not.


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


# ------------------------------------------------------------------ hadamard
# One bit: the sign of a Hadamard matrix in the answer's column and a random row.


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


# ------------------------------------------------------------------ hashing
# A number that the answer hashes to, told truly or not, beside the hash that was drawn.


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
