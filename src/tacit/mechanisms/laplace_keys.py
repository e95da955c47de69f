"""Keys whose noisy counts reach a threshold, by Laplace noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.core.secret import Secret
from tacit.core.selection_event import KeySelection
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.keys import (
    KeepAbove,
    counted_once,
    least_miss,
    shared_by_keys,
    valid_keys,
)
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.exact import exp_bounds, log_bounds


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
