"""Key selection: which group sizes are released, and intervals of counts of released groups.

`survival` computes how many units a group needs in order to be released with a given
probability. `SelectedCountInterval` computes intervals of counts, given that the group was
released. A small group is released only if its noise is large and positive, so that the noise
of released groups is not symmetric, and an interval has to take this into account.
"""

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

# Group sizes that are released ---------------------------------------------------------------

SHOWN = (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20))
"""The probabilities for which a quote shows group sizes."""

TAIL_PRECISION = Fraction(1, 10**12)
"""Probability below which the tail of a Gaussian distribution is not summed any further."""


def survival(mechanism: Mechanism) -> tuple[tuple[Fraction, int], ...]:
    """Return each probability of `SHOWN` with the least group size released that often.

    Guarantee: the result follows from the distribution of the mechanism; no data is read.

    Example:
        >>> keys = TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1)
        >>> [units for _, units in survival(keys)]
        [13, 15, 17]
    """
    probability = kept_with(mechanism)
    return tuple((wanted, _least(probability, wanted)) for wanted in SHOWN)


def kept_with(mechanism: Mechanism) -> Callable[[int], Fraction]:
    """Return the function from a group's size to the probability that it is released.

    Example:
        >>> law = kept_with(TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1))
        >>> [round(float(law(units)), 3) for units in (0, 1, 14, 15)]
        [0.0, 0.0, 0.269, 0.731]
    """
    if isinstance(mechanism, OptimalKeys):
        return mechanism.probability
    law = noise_tail(mechanism)
    if law is None:
        raise InternalError(f"The mechanism {type(mechanism).__name__} does not select groups.")
    return law.passes


@dataclass(frozen=True, slots=True)
class NoiseTail:
    """The threshold of a key selection, and the tail P(noise >= m) of its noise, m >= 1."""

    threshold: int
    tail: Callable[[int], Fraction]

    def passes(self, units: int) -> Fraction:
        """Return the probability that a group passes the threshold; 0 for an empty group."""
        if units < 1:
            return Fraction(0)
        missing = self.threshold - units
        return self.tail(missing) if missing > 0 else 1 - self.tail(1 - missing)


def noise_tail(mechanism: Mechanism) -> NoiseTail | None:
    """Return the threshold and the noise of a selection; None for any other mechanism."""
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
    """Return P(noise >= size) of the discrete Laplace distribution, to fifty digits."""
    return exp_bounds(-epsilon * size)[1] / (1 + exp_bounds(-epsilon)[1])


def _cut_tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """Return P(noise >= size) of the discrete Laplace distribution truncated at ``reach``."""
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


# Intervals of released counts ----------------------------------------------------------------

PARTS_OF_REACH = 10
"""Number of points per margin of error at which the lower ends of intervals are computed."""

LONGEST = 40
"""Distance above the threshold, in margins of error, up to which lower ends are computed."""


@dataclass(frozen=True)
class SelectedCountInterval:
    """Confidence intervals of counts that passed a threshold with noise of a known tail.

    Guarantee: for every group size, given that the group is released, the interval contains the
    size with probability at least ``confidence``. Let alpha = 1 - ``confidence``. The lower end
    is the least size for which a count at least as large as the released one has a conditional
    probability, given release, of more than alpha / 2; because the noise is log-concave, all
    larger sizes have it too. The upper end follows from the noise alone: given release, a count
    that is too small is even less likely than without selection.

    Example:
        >>> from tacit.mechanisms.threshold_keys import LaplaceKeys
        >>> law = noise_tail(LaplaceKeys(Fraction(1), Fraction(1, 10**6), max_keys=1))
        >>> kept = SelectedCountInterval(law, Fraction(19, 20))
        >>> kept.interval(15), kept.interval(19), kept.interval(100)
        ((1, 18), (16, 22), (97, 103))
    """

    law: NoiseTail
    confidence: Fraction

    def interval(self, released: int) -> tuple[int, int]:
        """Return the interval of the group size for a released count."""
        part = max(released - self.law.threshold, 0) // self._stride
        last = len(self._least) - 1
        # far above the threshold the selection has less effect, so the last distance suffices
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
        """The lower ends for released counts from the threshold on, one for each stride."""
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


def selected_count_interval(
    mechanism: Mechanism, confidence: Fraction
) -> SelectedCountInterval | None:
    """Return the intervals of counts that ``mechanism`` selects; None if it selects nothing."""
    law = noise_tail(mechanism)
    return None if law is None else SelectedCountInterval(law, confidence)
