"""Key selection by a threshold on noisy counts, with Laplace or Gaussian noise.

A key is released if its noisy number of units reaches a threshold. The threshold is so high
that a key with a single unit reaches it with a probability of at most delta. The first part
of the file is shared by all key selections: the random step, the checks and the error bound.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from tacit.core import Composed, GaussianNoise, KeySelectionV2, Norm, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise, Sampler
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import Bell, DiscreteGaussian, DiscreteLaplace, Integers
from tacit.numeric import exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy

LEAST_EPSILON = Fraction(1, 10**9)
"""Minimum epsilon for each key, far below any useful value.

The numeric bounds, of fifty digits, are still precise at this value.
"""


@dataclass(frozen=True, slots=True)
class KeepAbove:
    """The random step: noisy counts of at least ``threshold``, and 0 for all others."""

    sampler: Sampler
    threshold: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return each noisy count that reaches the threshold, and 0 for the others."""
        noisy = AddNoise(self.sampler)(values, entropy)
        # The proof covers keys with at least one unit. A key without units must not appear.
        selected: Integers = np.where((values >= 1) & (noisy >= self.threshold), noisy, 0)
        return selected


def shared_by_keys(
    epsilon: Fraction, delta: Fraction, max_keys: int, sensitivity: Sensitivity
) -> KeySelectionV2:
    """Return the event of a selection in which keys have equal parts of epsilon and delta."""
    counted_once(sensitivity, max_keys)
    return KeySelectionV2(epsilon / max_keys, delta / max_keys, max_keys)


def counted_once(sensitivity: Sensitivity, max_keys: int) -> Sensitivity:
    """Return the sensitivity; raise unless a unit adds 1 to at most ``max_keys`` counts."""
    if sensitivity.in_norm(Norm.L2).square > max_keys:
        raise InvalidValue(
            f"A unit with up to {max_keys} keys, counted once in each, has an L2 sensitivity "
            f"of at most the square root of {max_keys}, but the square root of "
            f"{sensitivity.square} was given."
        )
    return sensitivity


def valid_keys(epsilon: Fraction, delta: Fraction, max_keys: int) -> None:
    """Check the parameters of a key selection."""
    if not 0 < delta < 1:
        raise InvalidValue(
            f"Key selection needs a delta between 0 and 1, but {delta} was given."
        )
    if max_keys < 1:
        raise InvalidValue(f"max_keys must be 1 or more, but max_keys={max_keys} was given.")
    if epsilon / max_keys < LEAST_EPSILON:
        raise InvalidValue(
            f"Key selection needs an epsilon of at least {LEAST_EPSILON} for each key, but "
            f"{epsilon} for {max_keys} keys was given."
        )


def least_miss(
    tail: Callable[[int], Fraction], threshold: int, confidence: Fraction
) -> Fraction:
    """Return the least t >= threshold - 1 that bounds the error of a release at ``confidence``.

    ``tail(m)`` bounds P(noise >= m) for m >= 1. The worst count is t + 1. Its error is above t
    if the key is dropped, which means noise <= threshold - t - 2, or if its noise is above t.
    """
    valid_confidence(confidence)

    def bounds_error(size: int) -> bool:
        return tail(size + 2 - threshold) + tail(size + 1) <= 1 - confidence

    beyond = threshold
    while not bounds_error(beyond):
        beyond *= 2
    sizes = range(threshold - 1, beyond + 1)
    return Fraction(sizes[bisect_left(sizes, True, key=bounds_error)])


# ------------------------------------------------------------------ Laplace noise


@dataclass(frozen=True, slots=True)
class LaplaceKeys:
    """Key selection by a threshold on counts of units with Laplace noise.

    The release of a key is its noisy count if that reaches the threshold, else 0. The secret
    holds the number of units of each key that occurs. Publish only the keys whose release is
    above 0: even the number of the other keys is secret.

    Guarantee: if a unit has at most ``max_keys`` keys and counts once in each, keys and counts
    together satisfy (epsilon, delta). A key without units is never released.
    Reference: Korolova, Kenthapadi, Mishra, Ntoulas 2009 (noise and a threshold).

    Example:
        >>> LaplaceKeys(Fraction(1), Fraction(1, 10**6), max_keys=1).threshold
        15
        >>> LaplaceKeys(Fraction(1), Fraction(1, 10**6), max_keys=1).error(Fraction("0.95"))
        Fraction(16, 1)
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        valid_keys(self.epsilon, self.delta, self.max_keys)

    @property
    def threshold(self) -> int:
        """The least noisy count that is released.

        A key with one unit reaches it with a probability of at most delta / max_keys.
        """
        return _threshold(self.epsilon / self.max_keys, self.delta / self.max_keys)

    def event(self, sensitivity: Sensitivity) -> KeySelectionV2:
        """Return the event of a key selection, with equal parts of epsilon and delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the noisy count of each key, or 0 if the key is not selected."""
        draw = KeepAbove(DiscreteLaplace(self.max_keys / self.epsilon), self.threshold)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least t such that the release of any key is within t of its count."""
        epsilon = self.epsilon / self.max_keys
        return least_miss(lambda size: _tail(epsilon, size), self.threshold, confidence)


@lru_cache(maxsize=256)
def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    """Return the least t >= 2 with P(1 + noise >= t) <= delta."""
    ratio = exp_bounds(-epsilon)[1]
    # Solve q**m / (1 + q) <= delta for m. The bounds of the logarithm may be one too low, so
    # the loop checks the tail itself.
    size = max(1, (-log_bounds(delta * (1 + ratio))[1] / epsilon).__ceil__())
    while _tail(epsilon, size) > delta:
        size += 1
    return 1 + size


def _tail(epsilon: Fraction, size: int) -> Fraction:
    """Return an upper bound on P(noise >= size), for size >= 1.

    The probability is q**size / (1 + q) with q = exp(-epsilon).
    """
    return exp_bounds(-epsilon * size)[1] / (1 + exp_bounds(-epsilon)[0])


# ------------------------------------------------------------------ Gaussian noise
# With Gaussian noise, the noise grows with the square root of the number of keys of a unit
# and not with the number itself. It is better where units have many keys.

GREATEST_VARIANCE = 2**30
"""Maximum variance: above it, the tail is not summed, and thresholds would exceed 10**5."""

GUARD_BITS = 64
"""Extra bits of precision of a tail probability, beyond those of the compared delta."""


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """Key selection by a threshold on counts of units with Gaussian noise.

    The release of a key is its noisy count if that reaches the threshold, else 0. The secret
    holds the number of units of each key that occurs. Publish only the keys whose release is
    above 0: even the number of the other keys is secret.

    Guarantee: if a unit has at most ``max_keys`` keys and counts once in each, keys and counts
    have the loss of Gaussian noise on ``max_keys`` counts, plus delta. A key without units is
    never released.
    Reference: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin 2020 (weighted Gaussian), with
    weights of 1 and the tail of the discrete distribution that is drawn.

    Example:
        >>> GaussianKeys(Fraction(16), Fraction(1, 10**6), max_keys=1).threshold
        21
    """

    variance: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        if not 0 < self.variance <= GREATEST_VARIANCE:
            raise InvalidValue(
                "Key selection with Gaussian noise needs a variance above 0 and at most "
                f"{GREATEST_VARIANCE}, but {self.variance} was given."
            )
        if not 0 < self.delta < 1:
            raise InvalidValue(
                f"Key selection needs a delta between 0 and 1, but {self.delta} was given."
            )
        if self.max_keys < 1:
            raise InvalidValue(
                f"max_keys must be 1 or more, but max_keys={self.max_keys} was given."
            )

    @property
    def threshold(self) -> int:
        """The least noisy count that is released.

        If ``max_keys`` keys have the same single unit, the probability that any of them reaches
        the threshold is at most delta.
        """
        return 1 + max(1, GaussianTail(self.variance, self._share).least())

    def event(self, sensitivity: Sensitivity) -> Composed:
        """Return the event: Gaussian noise on a unit's keys, and delta for revealing a key."""
        counted_once(sensitivity, self.max_keys)
        noise = GaussianNoise(Fraction(self.max_keys), self.variance)
        return Composed((noise, KeySelectionV2(Fraction(0), self.delta, max_keys=1)))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the noisy count of each key, or 0 if the key is not selected."""
        draw = KeepAbove(DiscreteGaussian(self.variance), self.threshold)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least t such that the release of any key is within t of its count."""
        valid_confidence(confidence)
        tail = GaussianTail(self.variance, (1 - confidence) / 2)
        return least_miss(tail.at, self.threshold, confidence)

    @property
    def _share(self) -> Fraction:
        """The largest probability p for one key with 1 - (1 - p)**max_keys <= delta."""
        root = exp_bounds(log_bounds(1 - self.delta)[1] / self.max_keys)[1]
        # delta / max_keys is always allowed (union bound), and it is larger than 1 - root
        # where the digits of the bounds are not enough
        return max(1 - root, self.delta / self.max_keys)


@dataclass(frozen=True, slots=True)
class GaussianTail:
    """Upper bounds on P(y >= size) for a discrete Gaussian y, by summing its weights.

    The bounds are tight for tails down to ``probability``.
    """

    variance: Fraction
    probability: Fraction

    def at(self, size: int) -> Fraction:
        """Return the bound on P(y >= size), for size >= 0; beyond the list, its last bound."""
        sums, total = self._sums()
        return Fraction(sums[max(0, len(sums) - 1 - size)], total)

    def least(self) -> int:
        """Return the least size >= 0 whose tail is at most ``probability``."""
        sums, total = self._sums()
        # sums[i] bounds the weight of all sizes from len(sums) - 1 - i on
        return len(sums) - bisect_right(sums, (self.probability * total).__floor__())

    def _sums(self) -> tuple[list[int], int]:
        bits = (1 / self.probability).__ceil__().bit_length()
        return _sums(self.variance, -(-bits // GUARD_BITS) * GUARD_BITS + GUARD_BITS)


@lru_cache(maxsize=16)
def _sums(variance: Fraction, precision: int) -> tuple[list[int], int]:
    """Return the tail weights and the total weight of the discrete Gaussian distribution.

    Tail weights are rounded up and listed from the largest size to 0; the total is rounded
    down.
    """
    side = Bell(variance).weights(precision)
    sums = list(accumulate(reversed(side.upper), initial=side.rest))
    return sums, 2 * sum(side.lower) - side.lower[0]
