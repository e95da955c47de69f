"""The sparse vector technique: find the queries whose answers are above a threshold.

Only the queries above the threshold cost privacy budget, however many queries there are.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import AboveThresholdV2, Norm, Secret, Sensitivity, above_zero
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise, Laplace
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import DiscreteLaplace, Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class SparseVector:
    """The sparse vector technique: for each query, 1 if its answer reaches a threshold, else 0.

    The secret holds the answers in order. Each is compared with a public ``threshold``, whose
    noise is drawn once. After ``passes`` answers have reached it, the result is 0 for all
    further queries. Queries are ``monotone`` if one unit changes all answers in the same
    direction, as it does with counts.

    Guarantee: if one unit changes each answer by at most the sensitivity (LINF), the release
    has pure epsilon threshold_epsilon + query_epsilon, for any number of queries.
    Reference: Lyu, Su, Li 2017, algorithm 1, and their version for monotone queries. (Four of
    the six algorithms that they compare are not private as claimed: use only this one.)

    Example:
        >>> sparse = SparseVector(Fraction(1, 2), Fraction(1, 2), passes=1, monotone=True)
        >>> sparse.query_scale(1), sparse.error(Fraction("0.95"))
        (Fraction(2, 1), Fraction(14, 1))
    """

    threshold_epsilon: Fraction
    query_epsilon: Fraction
    passes: int
    monotone: bool
    threshold: int = 0

    def __post_init__(self) -> None:
        above_zero(threshold_epsilon=self.threshold_epsilon, query_epsilon=self.query_epsilon)
        if self.passes < 1:
            raise InvalidValue(f"passes must be 1 or more, but {self.passes} was given.")

    def query_scale(self, step: int) -> Fraction:
        """Return the noise scale of each answer, whose sensitivity is ``step``."""
        return (1 if self.monotone else 2) * self.passes * step / self.query_epsilon

    def event(self, sensitivity: Sensitivity) -> AboveThresholdV2:
        """Return the event, whose noise is scaled to the LINF sensitivity."""
        sensitivity.in_norm(Norm.LINF)
        return AboveThresholdV2(self.threshold_epsilon, self.query_epsilon)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return 1 or 0 for each query."""
        # the proof shifts the noisy threshold by the sensitivity, so this must be an integer
        step = max(1, sensitivity.in_norm(Norm.LINF).amount.__ceil__())
        draw = PassThreshold(
            self.threshold, step / self.threshold_epsilon, self.query_scale(step), self.passes
        )
        return gateway.release(secret, sensitivity, draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin around the threshold in which an answer may be misclassified.

        It is stated for sensitivity 1. Half of 1 - confidence is for the noise of the
        threshold, and half for the noise of the answer.
        """
        valid_confidence(confidence)
        each = (1 + confidence) / 2
        threshold = Laplace(1 / self.threshold_epsilon).error(each)
        return threshold + Laplace(self.query_scale(1)).error(each)


@dataclass(frozen=True, slots=True)
class PassThreshold:
    """The random step: one noisy threshold for all queries, and fresh noise for each answer."""

    threshold: int
    threshold_scale: Fraction
    query_scale: Fraction
    passes: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return 1 for each of the first ``passes`` noisy answers at or above the threshold."""
        noise = DiscreteLaplace(self.threshold_scale).draw(entropy, 1)
        reached = self.threshold + int(noise[0])
        # draw noise for all answers, so that the entropy used does not reveal the last pass
        noisy = AddNoise(DiscreteLaplace(self.query_scale))(values, entropy)
        above = np.asarray(noisy >= reached, dtype=np.int64)
        return above * (np.cumsum(above) <= self.passes)
