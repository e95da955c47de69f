"""Frequency oracles: randomisers of one answer out of several, and their tallies.

* `KAry`: randomised response, which reports one answer that is the true one or another.
* `Unary`: one randomised bit for each answer (RAPPOR, unary encoding).
* `Subset`: several answers, among which the true one is more likely.
* `Hadamard`: one randomised bit, an entry of a Hadamard matrix.
* `Hashing`: a randomised hash value of the answer (local hashing).

All probabilities are rational functions of the ratio, so that the samplers are exact. The
collector counts for each answer how many reports support it, and `tacit.local.oracle` estimates
shares from these counts.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from tacit.errors import InvalidValue
from tacit.local.oracle import STEP, Odds, Oracle, valid_answers, valid_choices, valid_ratio
from tacit.mechanisms import Respond
from tacit.noise import Bernoulli, Integers, UniformBelow
from tacit.numeric import floor_to, sqrt_bounds
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class KAry:
    """k-ary randomised response: the true answer is ``ratio`` times as likely as any other.

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
        """The length of a report: one number below ``choices``."""
        return (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """The odds of a report, which supports the answer that it contains."""
        all_ = self.ratio + self.choices - 1
        return Odds(self.ratio / all_, 1 / all_)

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return the reported answers, one row for each answer."""
        valid_answers(answers, self.choices)
        return Respond(self.odds.true, self.choices)(answers, entropy)[:, None]

    def tally(self, reports: Integers) -> Integers:
        """Return how often each answer was reported."""
        return np.bincount(valid_answers(reports[:, 0], self.choices), minlength=self.choices)


# ------------------------------------------------------------------ unary encoding


@dataclass(frozen=True, slots=True)
class Unary:
    """Unary encoding: one random bit for each answer.

    The bit of the true answer is 1 with probability ``odds.true``, and each other bit with
    probability ``odds.other``. Reports for two answers differ in the distribution of two bits.
    Reference: Wang, Blocki, Li, Jha 2017; Erlingsson, Pihur, Korolova 2014 (RAPPOR).

    Example:
        >>> Unary.optimal(choices=5, ratio=Fraction(3)).odds
        Odds(true=Fraction(1, 2), other=Fraction(1, 4))
        >>> Unary.symmetric(choices=5, root=Fraction(2)).ratio
        Fraction(4, 1)
    """

    choices: int
    odds: Odds

    def __post_init__(self) -> None:
        valid_choices(self.choices)
        if self.odds.true == 1 or self.odds.other == 0:
            raise InvalidValue(
                "A bit that is always or never set reveals the answer; use probabilities "
                "between 0 and 1."
            )
        valid_ratio(self.ratio)

    @classmethod
    def symmetric(cls, choices: int, root: Fraction) -> Self:
        """Return symmetric unary encoding: each bit is true with the odds ``root`` to 1.

        The ratio is the square of ``root``.
        """
        return cls(choices, Odds(root / (1 + root), 1 / (1 + root)))

    @classmethod
    def optimal(cls, choices: int, ratio: Fraction) -> Self:
        """Return optimised unary encoding: the true bit is a fair coin.

        The whole ratio is used for the other bits, of which there are many.
        """
        return cls(choices, Odds(Fraction(1, 2), 1 / (1 + ratio)))

    @property
    def ratio(self) -> Fraction:
        """The ratio of the two bits together in which two answers differ."""
        true, other = self.odds.true, self.odds.other
        return true * (1 - other) / ((1 - true) * other)

    @property
    def bits(self) -> int:
        """The length of a report: one bit for each answer."""
        return self.choices

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return a row of zeros and ones for each answer."""
        valid_answers(answers, self.choices)
        drawn = Bernoulli(self.odds.other).draw(entropy, answers.size * self.choices)
        reports: Integers = drawn.reshape(answers.size, self.choices)
        true = Bernoulli(self.odds.true).draw(entropy, answers.size)
        reports[np.arange(answers.size), answers] = true
        return reports

    def tally(self, reports: Integers) -> Integers:
        """Return how often each bit is 1."""
        total: Integers = valid_answers(reports, 2).sum(axis=0)
        return total


# ------------------------------------------------------------------ subset selection


@dataclass(frozen=True, slots=True)
class Subset:
    """Subset selection: a report is a set of ``size`` out of ``choices`` answers.

    A set that contains the true answer is ``ratio`` times as likely as a set that does not.
    With a size of 1, this is `KAry`. No randomiser has a smaller variance for rare answers,
    except for the rounding of the size.
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
                f"A report must have from 1 to {self.choices - 1} of {self.choices} answers, "
                f"but a size of {self.size} was given."
            )

    @classmethod
    def best(cls, choices: int, ratio: Fraction) -> Self:
        """Return the oracle of the best size, one of the two next to choices / (1 + ratio)."""
        near = int(valid_choices(choices) / (1 + ratio))
        sizes = {min(max(size, 1), choices - 1) for size in (near, near + 1)}
        made = (cls(choices, size, ratio) for size in sorted(sizes))
        return min(made, key=lambda subset: subset.odds.variance())

    @property
    def bits(self) -> int:
        """The length of a report: ``size`` numbers below ``choices``."""
        return self.size * (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """The odds of a report, which supports each answer that it contains."""
        size, rest = self.size, self.choices - 1
        true = self.ratio * size / (self.ratio * size + self.choices - size)
        return Odds(true, (true * (size - 1) + (1 - true) * size) / rest)

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return a row of ``size`` answers for each answer.

        A row is sorted, so that its order reveals nothing.
        """
        valid_answers(answers, self.choices)
        contains_truth = Bernoulli(self.odds.true).draw(entropy, answers.size)
        moves = self._others(entropy, answers.size)
        # a report that contains the true answer has it in place of the last of the others
        moves[:, -1] *= 1 - contains_truth
        reports: Integers = np.sort((answers[:, None] + moves) % self.choices, axis=1)
        return reports

    def _others(self, entropy: Entropy, count: int) -> Integers:
        """Return rows of ``size`` distinct numbers from 1 to choices - 1, in random order."""
        numbers = np.tile(np.arange(1, self.choices), (count, 1))
        rows = np.arange(count)
        for place in range(self.size):  # the first steps of a Fisher-Yates shuffle
            chosen = place + UniformBelow(self.choices - 1 - place).draw(entropy, count)
            taken = numbers[rows, chosen]
            numbers[rows, chosen] = numbers[:, place]
            numbers[:, place] = taken
        return numbers[:, : self.size].copy()

    def tally(self, reports: Integers) -> Integers:
        """Return the number of reports that contain each answer."""
        listed = valid_answers(reports, self.choices).ravel()
        return np.bincount(listed, minlength=self.choices)


# ------------------------------------------------------------------ Hadamard response


@dataclass(frozen=True, slots=True)
class Hadamard:
    """Hadamard response: a random row of a Hadamard matrix, and a randomised sign.

    The sign is the entry in that row and the answer's column, randomised by a coin. The entry
    in row r and column c is negative if r & c has an odd number of ones. Two columns agree in
    exactly half of the rows, so a report supports any other answer with probability 1/2.
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
        """The length of a report: the index of a row, and the sign."""
        return self.rows.bit_length()

    @property
    def rows(self) -> int:
        """The number of rows of the matrix: the least power of two of at least ``choices``."""
        return 1 << (self.choices - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """The odds of a report, which supports all answers that have its sign in its row."""
        return Odds(self.ratio / (1 + self.ratio), Fraction(1, 2))

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return rows of two numbers: the row of the matrix, and 1 for a negative sign."""
        valid_answers(answers, self.choices)
        rows = UniformBelow(self.rows).draw(entropy, answers.size)
        signs = Respond(self.odds.true, 2)(parity(rows & answers), entropy)
        return np.column_stack([rows, signs])

    def tally(self, reports: Integers) -> Integers:
        """Return the number of reports that support each answer."""
        rows = valid_answers(reports[:, 0], self.rows)
        minus = valid_answers(reports[:, 1], 2) == 1
        signs = np.bincount(rows[~minus], minlength=self.rows)
        signs -= np.bincount(rows[minus], minlength=self.rows)
        # one transform gives agreements minus disagreements for all columns
        agreed: Integers = (len(reports) + hadamard_transform(signs)[: self.choices]) // 2
        return agreed


def parity(numbers: Integers) -> Integers:
    """Return 1 for each number with an odd number of ones in binary, and otherwise 0.

    Example:
        >>> parity(np.array([0, 1, 2, 3, 7])).tolist()
        [0, 1, 1, 0, 1]
    """
    folded = numbers
    for half in (16, 8, 4, 2, 1):
        folded = folded ^ folded >> half
    return folded & 1


def hadamard_transform(values: Integers) -> Integers:
    """Return the Hadamard matrix times ``values``, whose size must be a power of two.

    Example:
        >>> hadamard_transform(np.array([1, 2, 3, 4])).tolist()
        [10, -2, -4, 0]
    """
    done, width = values.astype(np.int64), 1
    while width < done.size:
        pairs = done.reshape(-1, 2, width)
        done = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).ravel()
        width *= 2
    return done


# ------------------------------------------------------------------ local hashing


@dataclass(frozen=True, slots=True)
class Hashing:
    """Local hashing: a random hash function, and the randomised hash value of the answer.

    Each client draws its own hash function with ``prime ** width`` values. The function
    multiplies the digits of the answer, in base ``prime``, by a random matrix modulo ``prime``.
    Two answers differ in some digit, so they collide with probability exactly 1 / buckets.
    Therefore the estimate is unbiased, which it would not be for an arbitrary hash function.
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
                "The number of hash values must be a power of a prime, with an exponent of at "
                f"least 1, but {self.prime} to the power {self.width} was given."
            )

    @classmethod
    def best(cls, choices: int, ratio: Fraction) -> Self:
        """Return the oracle with the best number of values, a prime power near 1 + ratio."""
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
        """The number of hash values."""
        values: int = self.prime**self.width
        return values

    @property
    def bits(self) -> int:
        """The length of a report: the matrix, and the hash value."""
        digit = (self.prime - 1).bit_length()
        return self._digits * self.width * digit + (self.buckets - 1).bit_length()

    @property
    def odds(self) -> Odds:
        """The odds of a report, which supports all answers with its hash value."""
        return Odds(self.ratio / (self.ratio + self.buckets - 1), Fraction(1, self.buckets))

    def randomise(self, answers: Integers, entropy: Entropy) -> Integers:
        """Return a row for each answer: the entries of the matrix, and the hash value."""
        valid_answers(answers, self.choices)
        entries = self._digits * self.width
        drawn = UniformBelow(self.prime).draw(entropy, answers.size * entries)
        matrix: Integers = drawn.reshape(answers.size, entries)
        truth = self.ratio / (self.ratio + self.buckets - 1)
        values = Respond(truth, self.buckets)(self._hash(matrix, answers), entropy)
        return np.column_stack([matrix, values])

    def tally(self, reports: Integers) -> Integers:
        """Return the number of reports whose value is the hash value of each answer."""
        matrix, values = reports[:, :-1], valid_answers(reports[:, -1], self.buckets)
        valid_answers(matrix, self.prime)
        every = np.arange(self.choices)
        counts = [int((self._hash(matrix, every[a : a + 1]) == values).sum()) for a in every]
        return np.array(counts, dtype=np.int64)

    @property
    def _digits(self) -> int:
        """The number of digits of an answer in base ``prime``."""
        digits = 1
        while self.prime**digits < self.choices:
            digits += 1
        return digits

    def _hash(self, matrix: Integers, answers: Integers) -> Integers:
        """Return the hash value of each answer, or of one answer, by the matrix of each row."""
        places = self.prime ** np.arange(self._digits)
        digits = answers[:, None] // places % self.prime
        rows = matrix.reshape(len(matrix), self.width, self._digits)
        found = (rows * digits[:, None, :]).sum(axis=2) % self.prime
        value: Integers = (found * self.prime ** np.arange(self.width)).sum(axis=1)
        return value


def is_prime(number: int) -> bool:
    """Return whether ``number`` is a prime, by trial division, since it is small.

    Example:
        >>> [number for number in range(12) if is_prime(number)]
        [2, 3, 5, 7, 11]
    """
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


# ------------------------------------------------------------------ choice
# The choice of the oracle with the smallest variance.


def oracles(choices: int, ratio: Fraction) -> tuple[Oracle, ...]:
    """Return all frequency oracles for ``choices`` answers, with their best parameters.

    The ratio of each is at most ``ratio``.
    """
    found: list[Oracle] = [
        KAry(choices, ratio),
        Subset.best(choices, ratio),
        Unary.optimal(choices, ratio),
        Hashing.best(choices, ratio),
        Hadamard(choices, ratio),
    ]
    root = floor_to(sqrt_bounds(ratio)[0], STEP)
    if root > 1:
        found.append(Unary.symmetric(choices, root))
    return tuple(found)


def best_oracle(choices: int, ratio: Fraction, most_bits: int | None = None) -> Oracle:
    """Return the oracle with the smallest variance for rare answers.

    Only oracles with reports of at most ``most_bits`` bits are considered.

    Example:
        >>> best_oracle(2, Fraction(2))
        KAry(choices=2, ratio=Fraction(2, 1))
        >>> best_oracle(1000, Fraction(2), most_bits=12)
        Hadamard(choices=1000, ratio=Fraction(2, 1))
    """
    short = [
        oracle
        for oracle in oracles(choices, ratio)
        if most_bits is None or oracle.bits <= most_bits
    ]
    if not short:
        least = min(oracle.bits for oracle in oracles(choices, ratio))
        raise InvalidValue(
            f"A report needs at least {least} bits, but only {most_bits} are allowed; allow "
            "more bits."
        )
    return min(short, key=lambda oracle: (oracle.odds.variance(), oracle.bits))
