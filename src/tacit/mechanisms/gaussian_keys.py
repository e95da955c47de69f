"""Keys whose noisy counts reach a threshold, by Gaussian noise: for units with many keys."""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from tacit.core.event import Composed
from tacit.core.noise_event import GaussianNoise
from tacit.core.secret import Secret
from tacit.core.selection_event import KeySelection
from tacit.core.sensitivity import Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.keys import KeepAbove, counted_once, least_miss
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.noise.weights import Bell
from tacit.numeric.exact import exp_bounds, log_bounds

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
