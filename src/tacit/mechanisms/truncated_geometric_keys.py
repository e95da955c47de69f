"""Keys and their counts at one price, by geometric noise that is cut off at both sides."""

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
from tacit.noise.truncated import TruncatedDiscreteLaplace
from tacit.numeric.exact import exp_bounds, log_bounds


@dataclass(frozen=True, slots=True)
class TruncatedGeometricKeys:
    """The noisy counts of units of those keys whose noisy count passes the reach of the noise.

    All other keys give 0. The secret holds the number of units of each key that occurs. Publish
    the keys whose release is above 0 and no others: even how many there are is secret.

    Guarantee: where a unit has at most ``max_keys`` keys and counts once in each, keys and
    counts together lose (epsilon, delta). A key without units cannot pass: noise never passes
    its reach.
    Reference: Desfontaines, Voss, Gipson, Mandayam 2022 (k-TSGD).

    Example:
        >>> TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1).reach
        14
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        valid_keys(self.epsilon, self.delta, self.max_keys)

    @property
    def reach(self) -> int:
        """The greatest noise: it is drawn with probability delta / max_keys at most."""
        return _reach(self.epsilon / self.max_keys, self.delta / self.max_keys)

    def event(self, sensitivity: Sensitivity) -> KeySelection:
        """A selection of keys, each with its share of epsilon and of delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each key its noisy count, or 0."""
        noise = TruncatedDiscreteLaplace(self.max_keys / self.epsilon, self.reach)
        # to pass the reach is to reach one more
        draw = KeepAbove(noise, self.reach + 1)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least t such that any key's release, 0 included, is within t of its count."""
        epsilon, reach = self.epsilon / self.max_keys, self.reach
        return least_miss(lambda size: _tail(epsilon, reach, size), reach + 1, confidence)


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, delta: Fraction) -> int:
    """The least k with P(noise = k) <= delta.

    It is ceil(log((e - 1 + 2 * delta) / (delta * (e + 1))) / epsilon), e = exp(epsilon).
    """
    lower, upper = exp_bounds(epsilon)
    ratio = (lower - 1 + 2 * delta) / (delta * (upper + 1))
    reach = max(0, (log_bounds(ratio)[0] / epsilon).__ceil__())
    # where the logarithm cannot tell, the probability itself decides
    while _tail(epsilon, reach, reach) > delta:
        reach += 1
    return reach


def _tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """An upper bound on P(noise >= size), size >= 0.

    It is (q**size - q**(reach + 1)) / (1 + q - 2 * q**(reach + 1)) with q = exp(-epsilon).
    """
    if size > reach:
        return Fraction(0)
    end = exp_bounds(-epsilon * (reach + 1))
    whole = 1 + exp_bounds(-epsilon)[0] - 2 * end[1]
    return (exp_bounds(-epsilon * size)[1] - end[0]) / whole
