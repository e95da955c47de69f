"""What all ways to select keys share: who counts, what is kept, and how far it is off."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from tacit.core import Composed, GaussianNoise, KeySelection, Norm, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise, Sampler
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise import Bell, DiscreteGaussian, DiscreteLaplace, Integers
from tacit.numeric import exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy

LEAST_EPSILON = Fraction(1, 10**9)
"""The least epsilon a key, far below any use: bounds of fifty digits tell it well from 0."""


@dataclass(frozen=True, slots=True)
class KeepAbove:
    """The draw of a threshold: noisy counts of at least ``threshold``, and 0 for all others."""

    sampler: Sampler
    threshold: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The noisy counts that reach the threshold."""
        noisy = AddNoise(self.sampler)(values, entropy)
        # a key without units has no neighbour that would excuse it
        kept: Integers = np.where((values >= 1) & (noisy >= self.threshold), noisy, 0)
        return kept


def shared_by_keys(
    epsilon: Fraction, delta: Fraction, max_keys: int, sensitivity: Sensitivity
) -> KeySelection:
    """The event of a selection in which each key has an equal share of epsilon and of delta."""
    counted_once(sensitivity, max_keys)
    return KeySelection(epsilon / max_keys, delta / max_keys, max_keys)


def counted_once(sensitivity: Sensitivity, max_keys: int) -> Sensitivity:
    """The sensitivity, refused unless a unit moves at most ``max_keys`` counts by one each."""
    if sensitivity.in_norm(Norm.L2).square > max_keys:
        raise InvalidValue(
            f"Up to {max_keys} keys of a unit, counted once each, move the counts by the root "
            f"of {max_keys}, and the root of {sensitivity.square} was given."
        )
    return sensitivity


def valid_keys(epsilon: Fraction, delta: Fraction, max_keys: int) -> None:
    """Refuse what no selection of keys can be made of."""
    if not 0 < delta < 1:
        raise InvalidValue(f"Keys need a delta between 0 and 1, and {delta} was given.")
    if max_keys < 1:
        raise InvalidValue(f"A unit has at least 1 key, and max_keys={max_keys} was given.")
    if epsilon / max_keys < LEAST_EPSILON:
        raise InvalidValue(
            f"Keys need an epsilon of at least {LEAST_EPSILON} each, and {epsilon} for "
            f"{max_keys} was given."
        )


def least_miss(
    tail: Callable[[int], Fraction], threshold: int, confidence: Fraction
) -> Fraction:
    """The least t, from threshold - 1 up, that a release is off by with 1 - confidence at most.

    ``tail(m)`` bounds P(noise >= m) for m >= 1. The worst count is t + 1: it is off by more
    than t if dropped, noise <= threshold - t - 2, or if its noise is above t.
    """
    valid_confidence(confidence)

    def held(size: int) -> bool:
        return tail(size + 2 - threshold) + tail(size + 1) <= 1 - confidence

    beyond = threshold
    while not held(beyond):
        beyond *= 2
    sizes = range(threshold - 1, beyond + 1)
    return Fraction(sizes[bisect_left(sizes, True, key=held)])


# ------------------------------------------------------------------ laplace keys
# Keys whose noisy counts reach a threshold, by Laplace noise.


@dataclass(frozen=True, slots=True)
class LaplaceKeys:
    """The noisy counts of units of those keys whose noisy count reaches a threshold; else 0.

    The secret holds the number of units of each key that occurs. Publish the keys whose release
    is above 0 and no others: even how many there are is secret.

    Guarantee: where a unit has at most ``max_keys`` keys and counts once in each, keys and
    counts together lose (epsilon, delta). A key without units is never released.
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
        """The least count released: one unit reaches it with delta / max_keys or less."""
        return _threshold(self.epsilon / self.max_keys, self.delta / self.max_keys)

    def event(self, sensitivity: Sensitivity) -> KeySelection:
        """A selection of keys, each with its share of epsilon and of delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each key its noisy count, or 0."""
        draw = KeepAbove(DiscreteLaplace(self.max_keys / self.epsilon), self.threshold)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least t such that any key's release, 0 included, is within t of its count."""
        epsilon = self.epsilon / self.max_keys
        return least_miss(lambda size: _tail(epsilon, size), self.threshold, confidence)


@lru_cache(maxsize=256)
def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    """The least t from 2 up with P(1 + noise >= t) <= delta."""
    ratio = exp_bounds(-epsilon)[1]
    # q**m / (1 + q) <= delta; where the logarithm cannot tell, the tail itself decides
    size = max(1, (-log_bounds(delta * (1 + ratio))[1] / epsilon).__ceil__())
    while _tail(epsilon, size) > delta:
        size += 1
    return 1 + size


def _tail(epsilon: Fraction, size: int) -> Fraction:
    """An upper bound on P(noise >= size) = q**size / (1 + q), q = exp(-epsilon), size >= 1."""
    return exp_bounds(-epsilon * size)[1] / (1 + exp_bounds(-epsilon)[0])


# ------------------------------------------------------------------ gaussian keys
# Keys whose noisy counts reach a threshold, by Gaussian noise: for units with many keys.

GREATEST_VARIANCE = 2**30
"""Above this the law's tail is not summed, and thresholds would lie beyond 10**5 units."""

GUARD_BITS = 64
"""Bits of a tail beyond those of the delta that it is compared with."""


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """The noisy counts of units of those keys whose noisy count reaches a threshold; else 0.

    The secret holds the number of units of each key that occurs. Publish the keys whose release
    is above 0 and no others: even how many there are is secret.

    Guarantee: where a unit has at most ``max_keys`` keys and counts once in each, keys and
    counts lose what Gaussian noise on ``max_keys`` counts does, and delta. A key without units
    is never released.
    Reference: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin 2020 (weighted Gaussian), with
    weights of 1 and the tail of the discrete law that is drawn.

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
                f"Keys by Gaussian noise need a variance above 0, of {GREATEST_VARIANCE} at "
                f"most, and {self.variance} was given."
            )
        if not 0 < self.delta < 1:
            raise InvalidValue(
                f"Keys need a delta between 0 and 1, and {self.delta} was given."
            )
        if self.max_keys < 1:
            raise InvalidValue(
                f"A unit has at least 1 key, and max_keys={self.max_keys} was given."
            )

    @property
    def threshold(self) -> int:
        """The least count that is released.

        With delta at most, any of ``max_keys`` keys of one unit alone reaches it.
        """
        return 1 + max(1, GaussianTail(self.variance, self._share).least())

    def event(self, sensitivity: Sensitivity) -> Composed:
        """Gaussian noise on all of a unit's keys, and a chance that it shows a new one."""
        counted_once(sensitivity, self.max_keys)
        noise = GaussianNoise(Fraction(self.max_keys), self.variance)
        return Composed((noise, KeySelection(Fraction(0), self.delta, max_keys=1)))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each key its noisy count, or 0."""
        draw = KeepAbove(DiscreteGaussian(self.variance), self.threshold)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least t such that any key's release, 0 included, is within t of its count."""
        valid_confidence(confidence)
        tail = GaussianTail(self.variance, (1 - confidence) / 2)
        return least_miss(tail.at, self.threshold, confidence)

    @property
    def _share(self) -> Fraction:
        """A key's probability p: 1 - (1 - p)**max_keys <= delta."""
        root = exp_bounds(log_bounds(1 - self.delta)[1] / self.max_keys)[1]
        # the sum of probabilities bounds that of any, where the digits do not reach further
        return max(1 - root, self.delta / self.max_keys)


@dataclass(frozen=True, slots=True)
class GaussianTail:
    """Upper bounds on P(y >= size) for the discrete Gaussian law, by summing its own weights.

    They are near the truth down to ``probability``.
    """

    variance: Fraction
    probability: Fraction

    def at(self, size: int) -> Fraction:
        """The bound, for a size of at least 0; beyond the list it is that of its end."""
        sums, total = self._sums()
        return Fraction(sums[max(0, len(sums) - 1 - size)], total)

    def least(self) -> int:
        """The least size, from 0 up, that is reached with at most this probability."""
        sums, total = self._sums()
        # sums[i] bounds the weight of all sizes from len(sums) - 1 - i on
        return len(sums) - bisect_right(sums, (self.probability * total).__floor__())

    def _sums(self) -> tuple[list[int], int]:
        bits = (1 / self.probability).__ceil__().bit_length()
        return _sums(self.variance, -(-bits // GUARD_BITS) * GUARD_BITS + GUARD_BITS)


@lru_cache(maxsize=16)
def _sums(variance: Fraction, precision: int) -> tuple[list[int], int]:
    """The weight from each size on, rounded up and the last size first; and of all, down."""
    side = Bell(variance).weights(precision)
    sums = list(accumulate(reversed(side.upper), initial=side.rest))
    return sums, 2 * sum(side.lower) - side.lower[0]
