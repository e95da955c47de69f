"""The sparse vector technique: which queries of a stream pass a threshold."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import AboveThreshold, Norm, Secret, Sensitivity, above_zero
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise, Laplace
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import DiscreteLaplace, Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class SparseVector:
    """For each query of a stream 1 if it passes the threshold, 0 if not, 0 after the last pass.

    The secret holds the answers in order. Each is compared with a public ``threshold`` whose
    noise is drawn once; after so many ``passes`` no query is looked at. A stream is
    ``monotone`` where one unit moves all of its answers the same way, as it does counts.

    Guarantee: answers that one unit moves by the sensitivity each (LINF), of any number, lose
    pure threshold_epsilon + query_epsilon.
    Reference: Lyu, Su, Li 2017, algorithm 1, and their version for monotone queries. (Of the
    six algorithms that they compare, four do not keep their promise: copy only this one.)

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
            raise InvalidValue(f"A stream passes once or more, and {self.passes} was given.")

    def query_scale(self, step: int) -> Fraction:
        """Of the noise of each answer, where one unit moves it by ``step`` at most."""
        return (1 if self.monotone else 2) * self.passes * step / self.query_epsilon

    def event(self, sensitivity: Sensitivity) -> AboveThreshold:
        """A stream, with noise in proportion to that sensitivity."""
        sensitivity.in_norm(Norm.LINF)
        return AboveThreshold(self.threshold_epsilon, self.query_epsilon)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each query 1 or 0."""
        # the proof moves the noisy threshold by the sensitivity, so that is a whole number
        step = max(1, sensitivity.in_norm(Norm.LINF).amount.__ceil__())
        draw = PassThreshold(
            self.threshold, step / self.threshold_epsilon, self.query_scale(step), self.passes
        )
        return gateway.release(secret, sensitivity, draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far from the threshold an answer can lie on the wrong side, at sensitivity 1.

        Half of 1 - confidence is for the threshold's noise, and half for the answer's.
        """
        valid_confidence(confidence)
        each = (1 + confidence) / 2
        threshold = Laplace(1 / self.threshold_epsilon).error(each)
        return threshold + Laplace(self.query_scale(1)).error(each)


@dataclass(frozen=True, slots=True)
class PassThreshold:
    """The draw: one noisy threshold for the whole stream, and fresh noise for every answer."""

    threshold: int
    threshold_scale: Fraction
    query_scale: Fraction
    passes: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """1 for each of the first ``passes`` noisy answers that reach the noisy threshold."""
        noise = DiscreteLaplace(self.threshold_scale).draw(entropy, 1)
        reached = self.threshold + int(noise[0])
        # noise for the whole stream, so that the words do not tell where it stopped
        noisy = AddNoise(DiscreteLaplace(self.query_scale))(values, entropy)
        above = np.asarray(noisy >= reached, dtype=np.int64)
        return above * (np.cumsum(above) <= self.passes)
