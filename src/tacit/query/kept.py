"""What the number of units can be in a group that a selection released.

A small group is released only where its noise is great: of those that are, the noise is no
longer symmetric, and an interval has to know it.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.mechanisms.mechanism import Mechanism
from tacit.query.survival import NoiseTail, noise_tail

FINE = 10
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
        >>> from tacit.mechanisms.laplace_keys import LaplaceKeys
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
        return max(1, self._above // FINE)

    @cached_property
    def _least(self) -> list[int]:
        """The lower ends of some numbers from the threshold on; each holds up to the next."""
        found: list[int] = []
        for part in range(FINE * LONGEST):
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
