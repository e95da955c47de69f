"""The smooth sensitivity of sums of the middle values: of trimmed means, and of the median.

Neighbours replace one value, and the number of values is public. Values are whole steps of a
public grid between public bounds. Of the values in order, those at the places ``first`` to
``last`` are kept.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting import calibrate
from tacit.core import Bounds, Event, LomaxNoise, Loss, Norm, Rule, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.noise import Integers
from tacit.numeric import Interval, exp_bounds
from tacit.robust.estimate import RobustEstimate, steps_from
from tacit.robust.smooth_noise import Lomax

ROUNDING_SHARE = Fraction(1, 100)
"""The share of a mechanism's smoothing that pays for rounding up to whole steps."""


@dataclass(frozen=True, slots=True)
class MiddleSum:
    """The sum of the values from place ``first`` to ``last``, of ``size`` between the bounds.

    Example:
        >>> MiddleSum.trimmed(7, 2, lower=0, upper=10)
        MiddleSum(first=2, last=4, size=7, lower=0, upper=10)
    """

    first: int
    last: int
    size: int
    lower: int
    upper: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last < self.size:
            raise InvalidValue(
                "A trimmed mean and a median need one value or more that is kept, and of "
                f"{self.size} those from place {self.first} to {self.last} were asked for."
            )

    @classmethod
    def trimmed(cls, size: int, cut: int, lower: int, upper: int) -> "MiddleSum":
        """Of all but the ``cut`` least and the ``cut`` greatest."""
        return cls(cut, size - 1 - cut, size, lower, upper)

    @classmethod
    def median(cls, size: int, lower: int, upper: int) -> "MiddleSum":
        """Of the lower median alone."""
        return cls((size - 1) // 2, (size - 1) // 2, size, lower, upper)

    def __call__(self, values: Integers) -> int:
        """The sum of the kept values."""
        ordered = np.sort(np.clip(values, self.lower, self.upper))
        return int(ordered[self.first : self.last + 1].sum())

    def local_sensitivities(self, values: Integers) -> tuple[int, ...]:
        """The greatest local sensitivity within 0, 1, 2, ..., n replacements.

        Reference: Nissim, Raskhodnikova, Smith 2007, proposition 3.4, for the median; Bun,
        Steinke 2019, proposition 8, for trimmed means.

        Example:
            >>> MiddleSum.median(3, 0, 10).local_sensitivities(np.array([0, 5, 9]))
            (5, 9, 10, 10)
        """
        padded = self._padded(values)
        return tuple(self._within(padded, moved) for moved in range(self.size + 1))

    def smooth_sensitivity(self, values: Integers, smoothing: Fraction) -> Interval:
        """Bounds on max over k of exp(-smoothing * k) * (local sensitivity within k).

        Guarantee: the true one lies between, and the bounds differ in the 50th digit. It is at
        least the local sensitivity, and neighbours' differ by a factor of exp(smoothing).
        """
        if smoothing <= 0:
            raise InvalidValue(f"smoothing is above 0, and {smoothing} was given.")
        padded = self._padded(values)
        least = most = Fraction(0)
        for moved in range(self.size + 1):
            below, above = exp_bounds(-smoothing * moved) if moved else (Fraction(1),) * 2
            if above * (self.upper - self.lower) <= least:
                break  # no later one can be greater
            local = self._within(padded, moved)
            least, most = max(least, below * local), max(most, above * local)
        return least, most

    def smooth_pair(self, values: Integers, smoothing: Fraction) -> Integers:
        """The pair (sum, smooth sensitivity) in whole steps, for a mechanism of ``smoothing``.

        Guarantee: between neighbours the sensitivities differ by a factor of exp(smoothing) at
        most *after* rounding up. They are computed with 99 parts in 100 of the smoothing, b,
        and are at least a floor of M steps, where 1/M is below the remaining part: ceil(S) <=
        exp(b) * S' + 1 <= exp(b + 1/M) * ceil(S').
        """
        spent = smoothing * ROUNDING_SHARE
        exact = self.smooth_sensitivity(values, smoothing - spent)[1]
        # one step above 1/spent leaves room for the 50th digit too
        whole = max(exact.__ceil__(), (1 / spent).__ceil__() + 1)
        return np.array([self(values), whole])

    def _padded(self, values: Integers) -> Integers:
        """The values in order, with as many bounds beside them as replacements can bring in."""
        around = self.size + 1
        inside = np.sort(np.clip(values, self.lower, self.upper))
        return np.concatenate(
            [np.full(around, self.lower), inside, np.full(around, self.upper)]
        )

    def _within(self, padded: Integers, moved: int) -> int:
        """The most that one more replacement can do, after ``moved``.

        A value leaves the kept ones at one end and another comes in at the other end; each of
        the ``moved`` widens the kept ones by one place, to either side.
        """
        first, last = self.first + self.size + 1, self.last + self.size + 1
        above = padded[last : last + moved + 2]
        below = padded[first - moved - 1 : first + 1]
        return int((above - below).max())


# ------------------------------------------------------------------ trimmed mean
# A trimmed mean, or the median, with noise of its smooth sensitivity.

HALF = 2**32
"""Steps from the middle to a bound."""

SMOOTHING = Fraction(1, 6)
"""Of epsilon: the noise has finite variance below a half, and least error near a sixth."""


@dataclass(frozen=True, slots=True)
class TrimmedMean:
    """The mean of what is left when the share ``cut`` is taken off at either end.

    With a cut of 1/2 one value is left: the lower median. Neighbours replace one value, and the
    number of values is public. An exponential mechanism on ranks (`Quantiles`) has a median of
    less error; this is for trimmed means, and for the literature's mechanism.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval: the
    size of the noise is a secret of the values.
    Reference: Bun, Steinke 2019; noise by ``docs/privacy/mechanisms/lomax.md``.

    Example:
        >>> TrimmedMean(Bounds.of(0, 10), Fraction(1, 10), Loss.pure(1)).event()
        LomaxNoise(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    bounds: Bounds
    cut: Fraction
    loss: Loss

    def __post_init__(self) -> None:
        if not 0 <= self.cut <= Fraction(1, 2) or self.bounds.width == 0:
            raise InvalidValue(
                "A trimmed mean needs bounds that differ and a cut between 0 and 1/2, and "
                f"{self.cut} was given."
            )

    def event(self) -> Event:
        """Noise that follows the values, smoothly."""
        return self._mechanism().event(self._worst(1))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy trimmed mean of ``values``, one for each unit; of none it is the middle."""
        lower, upper = self.bounds.lower, self.bounds.upper
        middle, reach = float((lower + upper) / 2), float((upper - lower) / 2)
        if np.size(values) == 0:  # their number is public
            return RobustEstimate(middle)
        steps = steps_from(values, middle, reach, HALF)
        kept, mechanism = self._kept(steps.size), self._mechanism()
        pair = Secret(kept.smooth_pair(steps, mechanism.smoothing))
        left = kept.last - kept.first + 1
        noisy = float(mechanism.release(pair, self._worst(left), gateway)[0]) / left
        return RobustEstimate(middle + reach * min(max(noisy / HALF, -1.0), 1.0))

    def _kept(self, size: int) -> MiddleSum:
        cut = int(size * self.cut)
        if 2 * cut >= size:
            return MiddleSum.median(size, -HALF, HALF)
        return MiddleSum.trimmed(size, cut, -HALF, HALF)

    def _mechanism(self) -> Lomax:
        epsilon = 1 / calibrate(lambda x: LomaxNoise(1 / x, SMOOTHING / x), self.loss)
        return Lomax(epsilon, SMOOTHING * epsilon)

    def _worst(self, left: int) -> Sensitivity:
        """However far the pair can move; for audits, since it sets no noise."""
        return Sensitivity.of(2 * HALF * left, Norm.LINF, Rule("the range of the kept sum"))


# ------------------------------------------------------------------ median sensitivity
# The smooth sensitivity of the median, and the pair that a smooth mechanism takes.
#
# Neighbours replace one value, and the number of values is public. Values are whole steps of
# a public grid between public bounds, and the median of an even number of values is the lower
# one.


def local_sensitivities(values: Integers, lower: int, upper: int) -> tuple[int, ...]:
    """The greatest local sensitivity of the median within 0, 1, 2, ..., n replacements.

    Example:
        >>> local_sensitivities(np.array([0, 5, 9]), 0, 10)
        (5, 9, 10, 10)
    """
    return MiddleSum.median(values.size, lower, upper).local_sensitivities(values)


def smooth_sensitivity(
    values: Integers, lower: int, upper: int, smoothing: Fraction
) -> Interval:
    """Bounds on max over k of exp(-smoothing * k) * (local sensitivity within k replacements).

    Guarantee: that of `MiddleSum.smooth_sensitivity`.

    Example:
        >>> least, most = smooth_sensitivity(np.array([0, 5, 9]), 0, 10, Fraction(1, 2))
        >>> round(float(least), 6) == round(float(most), 6) == 5.458776
        True
    """
    return MiddleSum.median(values.size, lower, upper).smooth_sensitivity(values, smoothing)


def smooth_median(values: Integers, lower: int, upper: int, smoothing: Fraction) -> Integers:
    """The pair (median, smooth sensitivity) in whole steps, for a mechanism of ``smoothing``.

    Guarantee: that of `MiddleSum.smooth_pair`.

    Example:
        >>> smooth_median(np.array([0, 5000, 9000]), 0, 10**4, Fraction(1, 2)).tolist()
        [5000, 5487]
    """
    return MiddleSum.median(values.size, lower, upper).smooth_pair(values, smoothing)


def median(values: Integers) -> int:
    """The lower median.

    Example:
        >>> median(np.array([9, 0, 5, 7]))
        5
    """
    return int(np.sort(values)[(values.size - 1) // 2])
