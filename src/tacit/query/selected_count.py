"""How many units a group needs to be released, where its key is not public."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.errors import InternalError
from tacit.mechanisms import (
    GaussianKeys,
    GaussianTail,
    LaplaceKeys,
    Mechanism,
    OptimalKeys,
    TruncatedGeometricKeys,
)
from tacit.numeric import exp_bounds

SHOWN = (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20))
"""The probabilities that a quote shows sizes for."""

TAIL_PRECISION = Fraction(1, 10**12)
"""How far down the tail of a law is summed, when the group sizes of a quote are looked for."""


def survival(mechanism: Mechanism) -> tuple[tuple[Fraction, int], ...]:
    """The probabilities of `SHOWN`, each with the least units that survive so often.

    Guarantee: from the law of the selection alone; no data is read.

    Example:
        >>> keys = TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1)
        >>> [units for _, units in survival(keys)]
        [13, 15, 17]
    """
    probability = kept_with(mechanism)
    return tuple((wanted, _least(probability, wanted)) for wanted in SHOWN)


def kept_with(mechanism: Mechanism) -> Callable[[int], Fraction]:
    """With which probability ``mechanism`` releases a group of so many units.

    Example:
        >>> law = kept_with(TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1))
        >>> [round(float(law(units)), 3) for units in (0, 1, 14, 15)]
        [0.0, 0.0, 0.269, 0.731]
    """
    if isinstance(mechanism, OptimalKeys):
        return mechanism.probability
    law = noise_tail(mechanism)
    if law is None:
        raise InternalError(f"{type(mechanism).__name__} does not select groups.")
    return law.passes


@dataclass(frozen=True, slots=True)
class NoiseTail:
    """A threshold, and P(noise >= m) for m from 1 up, of symmetric noise that has to pass."""

    threshold: int
    tail: Callable[[int], Fraction]

    def passes(self, units: int) -> Fraction:
        """With which probability a group of so many units passes; one of none never does."""
        if units < 1:
            return Fraction(0)
        missing = self.threshold - units
        return self.tail(missing) if missing > 0 else 1 - self.tail(1 - missing)


def noise_tail(mechanism: Mechanism) -> NoiseTail | None:
    """The threshold and the noise of a selection; None where nothing is selected so."""
    match mechanism:
        case TruncatedGeometricKeys(epsilon, _, max_keys):
            reach = mechanism.reach
            return NoiseTail(reach + 1, lambda m: _cut_tail(epsilon / max_keys, reach, m))
        case LaplaceKeys(epsilon, _, max_keys):
            return NoiseTail(mechanism.threshold, lambda m: _tail(epsilon / max_keys, m))
        case GaussianKeys(variance, _, _):
            return NoiseTail(mechanism.threshold, GaussianTail(variance, TAIL_PRECISION).at)
    return None


def _tail(epsilon: Fraction, size: int) -> Fraction:
    """P(noise >= size) of the discrete Laplace law, to fifty digits."""
    return exp_bounds(-epsilon * size)[1] / (1 + exp_bounds(-epsilon)[1])


def _cut_tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """P(noise >= size) where that law is cut off beyond ``reach``, to fifty digits."""
    if size > reach:
        return Fraction(0)
    end = exp_bounds(-epsilon * (reach + 1))[1]
    whole = 1 + exp_bounds(-epsilon)[1] - 2 * end
    return (exp_bounds(-epsilon * size)[1] - end) / whole


def _least(probability: Callable[[int], Fraction], wanted: Fraction) -> int:
    most = 1
    while probability(most) < wanted:
        most *= 2
    sizes = range(1, most + 1)
    return sizes[bisect_left(sizes, wanted, key=probability)]


# ------------------------------------------------------------------ kept
# What the number of units can be in a group that a selection released.
#
# A small group is released only where its noise is great: of those that are, the noise is no
# longer symmetric, and an interval has to know it.

PARTS_OF_REACH = 10
"""Parts of the reach of noise, one after the other, whose lower ends are looked for."""

LONGEST = 40
"""Reaches of noise above the threshold, at most, in which it still hides something."""


@dataclass(frozen=True)
class KeptCount:
    """Intervals of counts that passed a threshold with noise of this tail.

    Guarantee: for every number of units, given that the group is released, the interval holds
    it with ``confidence`` at least. Its lower end is the least number of units of which so much
    is released with more than half of the doubt, among what is released of it at all; since the
    noise is log-concave, all greater numbers pass too. Above, the noise alone decides: to have
    passed a threshold makes too little the less likely.

    Example:
        >>> from tacit.mechanisms.threshold_keys import LaplaceKeys
        >>> law = noise_tail(LaplaceKeys(Fraction(1), Fraction(1, 10**6), max_keys=1))
        >>> kept = KeptCount(law, Fraction(19, 20))
        >>> kept.interval(15), kept.interval(19), kept.interval(100)
        ((1, 18), (16, 22), (97, 103))
    """

    law: NoiseTail
    confidence: Fraction

    def interval(self, released: int) -> tuple[int, int]:
        """The least and the greatest number of units that go with a released number."""
        part = max(released - self.law.threshold, 0) // self._stride
        last = len(self._least) - 1
        # beyond the last, a threshold hides even less: what is missing there is enough
        low = self._least[min(part, last)]
        if part > last:
            low += released - self.law.threshold - last * self._stride
        return low, released + self._above

    @cached_property
    def _above(self) -> int:
        tail, most = self.law.tail, (1 - self.confidence) / 2
        return next(reach for reach in range(10**9) if tail(reach + 1) <= most)

    @property
    def _stride(self) -> int:
        return max(1, self._above // PARTS_OF_REACH)

    @cached_property
    def _least(self) -> list[int]:
        """The lower ends of some numbers from the threshold on; each holds up to the next."""
        found: list[int] = []
        for part in range(PARTS_OF_REACH * LONGEST):
            released = self.law.threshold + part * self._stride
            sizes = range(1, released + 1)
            found.append(sizes[bisect_left(sizes, True, key=self._likely(released))])
            if released - found[-1] == self._above:
                break
        return found

    def _likely(self, released: int) -> Callable[[int], bool]:
        tail, passes, least = self.law.tail, self.law.passes, (1 - self.confidence) / 2

        def likely(units: int) -> bool:
            missing = released - units
            return missing <= 0 or tail(missing) > least * passes(units)

        return likely


def kept_count(mechanism: Mechanism, confidence: Fraction) -> KeptCount | None:
    """The intervals of what ``mechanism`` keeps; None where it selects nothing."""
    law = noise_tail(mechanism)
    return None if law is None else KeptCount(law, confidence)
