"""Randomised response: each person's answer is replaced by a random one with some probability.

`RandomisedResponse` is the mechanism, and its method `estimate` computes unbiased counts of
the true answers from the randomised ones.
"""

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
    """Estimated number of people with each true answer, and the standard errors."""

    counts: tuple[Fraction, ...]
    """Unbiased estimates; some of them may be below 0."""
    standard_errors: tuple[float, ...]
    """Standard errors of the counts, from the randomisation alone, at the estimated counts."""


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """Randomised response: an answer stays with probability ``truth``, else another is drawn.

    Answers are integers from 0 to ``choices`` - 1. The secret is a batch of answers, one for
    each person. The number of answers is public.

    Guarantee: where neighbours differ in the answer of one person, the release has pure epsilon
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
        event.RandomisedResponseEventV2(self.truth, self.choices)  # checks both

    def event(self, sensitivity: Sensitivity) -> event.RandomisedResponseEventV2:
        """Return the event of one randomised answer, which may change to any other answer."""
        sensitivity.in_norm(Norm.LINF)
        return event.RandomisedResponseEventV2(self.truth, self.choices)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the randomised answers."""
        draw = Respond(self.truth, self.choices)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least t such that a randomised answer is within t of the true answer.

        The probability of this is truth + (1 - truth) * t / (choices - 1) where the true answer
        is 0, and at least as large for every other answer.
        """
        valid_confidence(confidence)
        lies = max(Fraction(0), confidence - self.truth) / (1 - self.truth)
        return Fraction((lies * (self.choices - 1)).__ceil__())

    def estimate(self, answers: Integers) -> ResponseEstimate:
        """Return unbiased estimates of the number of people with each true answer.

        They are post-processing of the randomised answers. For two choices and truth 2/3, the
        estimated share of ones is 3 * mean - 1.
        """
        if self.truth * self.choices == 1:
            raise InvalidValue(
                "All answers were randomised with equal probabilities, so that counts cannot "
                "be estimated. Choose another truth."
            )
        if answers.size and not 0 <= int(answers.min()) <= int(answers.max()) < self.choices:
            raise InvalidValue(
                f"Answers must be integers from 0 to below {self.choices}, and one is not."
            )
        lie = (1 - self.truth) / (self.choices - 1)
        reported = np.bincount(answers.astype(np.int64), minlength=self.choices).tolist()
        counts = tuple((seen - answers.size * lie) / (self.truth - lie) for seen in reported)
        return ResponseEstimate(
            counts, tuple(self._standard_error(c, answers.size) for c in counts)
        )

    def _standard_error(self, count: Fraction, answers: int) -> float:
        """Return the standard error of a count: a sum of two binomial variances.

        A person with this true answer reports it with probability ``truth``, and each other
        person reports it with the probability ``lie``.
        """
        lie = (1 - self.truth) / (self.choices - 1)
        true = min(max(count, Fraction(0)), Fraction(answers))
        variance = true * self.truth * (1 - self.truth) + (answers - true) * lie * (1 - lie)
        return sqrt(variance) / float(self.truth - lie)


@dataclass(frozen=True, slots=True)
class Respond:
    """The random step: some answers are shifted by a random amount, modulo ``choices``."""

    truth: Fraction
    choices: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the randomised answers; an answer out of range is reduced modulo choices."""
        lies = Bernoulli(1 - self.truth).draw(entropy, values.size)
        moves = UniformBelow(self.choices - 1).draw(entropy, values.size) + 1
        reported: Integers = (values % self.choices + lies * moves) % self.choices
        return reported
