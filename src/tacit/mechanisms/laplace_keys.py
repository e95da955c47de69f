"""Keys whose noisy counts reach a threshold, by Laplace noise."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core.secret import Secret
from tacit.core.selection_event import KeySelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_noise import AddNoise, Sampler
from tacit.mechanisms.gateway import Gateway
from tacit.noise.laplace import DiscreteLaplace
from tacit.noise.table import Integers
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import exp_bounds, log_bounds

LEAST_EPSILON = Fraction(1, 10**9)
"""The least epsilon a key, far below any use: bounds of fifty digits tell it well from 0."""


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
        counted_once(sensitivity, self.max_keys)
        return KeySelection(
            self.epsilon / self.max_keys, self.delta / self.max_keys, self.max_keys
        )

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
    if not 0 <= confidence < 1:
        raise InvalidValue(f"A confidence lies in [0, 1), and {confidence} does not.")

    def held(size: int) -> bool:
        return tail(size + 2 - threshold) + tail(size + 1) <= 1 - confidence

    beyond = threshold
    while not held(beyond):
        beyond *= 2
    sizes = range(threshold - 1, beyond + 1)
    return Fraction(sizes[bisect_left(sizes, True, key=held)])


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
