"""Randomised response: each person's own answer, told truly only sometimes."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from tacit.core import Norm, Secret, Sensitivity, event
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import Bernoulli, Integers, UniformBelow
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class ResponseEstimate:
    """How many gave each answer truly, as far as the answers tell, and how sure that is."""

    counts: tuple[Fraction, ...]
    """Unbiased; single ones may lie below 0."""
    standard_errors: tuple[float, ...]
    """Of the counts, from the randomness of the answers alone, at the estimated counts."""


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """Answers below ``choices``, each kept with probability ``truth``, else any other.

    The secret is a batch of answers, one person each. How many there are is public.

    Guarantee: a person whose answer changes to any other loses pure epsilon
    log(truth * (choices - 1) / (1 - truth)).
    Reference: Warner 1965; Kairouz, Oh, Viswanath 2014 (more choices than two).

    Example:
        >>> coin = RandomisedResponse(truth=Fraction(2, 3), choices=2)
        >>> coin.estimate(np.array([1, 0, 1, 0, 1, 1])).counts
        (Fraction(0, 1), Fraction(6, 1))
    """

    truth: Fraction
    choices: int

    def __post_init__(self) -> None:
        event.RandomisedResponseEvent(self.truth, self.choices)  # checks both

    def event(self, sensitivity: Sensitivity) -> event.RandomisedResponseEvent:
        """One answer, however far a person may change it."""
        sensitivity.in_norm(Norm.LINF)
        return event.RandomisedResponseEvent(self.truth, self.choices)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The answers as told."""
        draw = Respond(self.truth, self.choices)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least t such that a told answer is within t of the true one, whichever that is.

        P(at most t off) = truth + (1 - truth) * t / (choices - 1) where the true answer is 0,
        and at least that for any other.
        """
        valid_confidence(confidence)
        lies = max(Fraction(0), confidence - self.truth) / (1 - self.truth)
        return Fraction((lies * (self.choices - 1)).__ceil__())

    def estimate(self, answers: Integers) -> ResponseEstimate:
        """How many gave each answer truly, free of bias: a function of what was told alone.

        For two choices and truth 2/3, the share of ones is 3 * mean - 1.
        """
        if self.truth * self.choices == 1:
            raise InvalidValue("Answers told at random with equal odds say nothing.")
        if answers.size and not 0 <= int(answers.min()) <= int(answers.max()) < self.choices:
            raise InvalidValue(f"Answers lie below {self.choices}, and one does not.")
        lie = (1 - self.truth) / (self.choices - 1)
        told = np.bincount(answers.astype(np.int64), minlength=self.choices).tolist()
        counts = tuple((seen - answers.size * lie) / (self.truth - lie) for seen in told)
        return ResponseEstimate(
            counts, tuple(self._standard_error(c, answers.size) for c in counts)
        )

    def _standard_error(self, count: Fraction, answers: int) -> float:
        """Of a count: each true answer is told or not, each other one is or is not by a lie."""
        lie = (1 - self.truth) / (self.choices - 1)
        true = min(max(count, Fraction(0)), Fraction(answers))
        variance = true * self.truth * (1 - self.truth) + (answers - true) * lie * (1 - lie)
        return sqrt(variance) / float(self.truth - lie)


@dataclass(frozen=True, slots=True)
class Respond:
    """Moves some answers on by a random number of places, around the circle of choices."""

    truth: Fraction
    choices: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The answers as told; one outside the choices counts as what it is modulo them."""
        lies = Bernoulli(1 - self.truth).draw(entropy, values.size)
        moves = UniformBelow(self.choices - 1).draw(entropy, values.size) + 1
        told: Integers = (values % self.choices + lies * moves) % self.choices
        return told
