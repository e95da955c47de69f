"""Trimmed means and the median, with noise that is scaled by their smooth sensitivity.

`MiddleSum` computes the sum of the middle values and its smooth sensitivity, in exact
arithmetic. `TrimmedMean` releases it with Lomax noise. Neighbours replace one value, and the
number of values is public. Values are whole steps of a public grid between public bounds. After
sorting, the values at the positions ``first`` to ``last`` are in the sum, and the others are
trimmed.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting import calibrate
from tacit.core import Bounds, Event, LomaxNoiseV2, Loss, Norm, Rule, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.noise import Integers
from tacit.numeric import Interval, exp_bounds
from tacit.robust.estimate import RobustEstimate, steps_from
from tacit.robust.smooth_noise import Lomax

ROUNDING_SHARE = Fraction(1, 100)
"""The share of a mechanism's smoothing that is reserved for rounding up to whole steps."""


@dataclass(frozen=True, slots=True)
class MiddleSum:
    """The sum of the sorted values from position ``first`` to ``last``, out of ``size``.

    Example:
        >>> MiddleSum.without_tails(7, 2, lower=0, upper=10)
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
                "Trimming must leave at least one value, but the positions "
                f"{self.first} to {self.last} of {self.size} values were requested."
            )

    @classmethod
    def without_tails(cls, size: int, cut: int, lower: int, upper: int) -> "MiddleSum":
        """Return the sum without the ``cut`` smallest and the ``cut`` largest values."""
        return cls(cut, size - 1 - cut, size, lower, upper)

    trimmed = without_tails
    """Another name of `without_tails`, for code that was written with it."""

    @classmethod
    def median(cls, size: int, lower: int, upper: int) -> "MiddleSum":
        """Return the `MiddleSum` of one value, the lower median."""
        return cls((size - 1) // 2, (size - 1) // 2, size, lower, upper)

    def __call__(self, values: Integers) -> int:
        """Return the sum of the values that are not trimmed."""
        ordered = np.sort(np.clip(values, self.lower, self.upper))
        return int(ordered[self.first : self.last + 1].sum())

    def local_sensitivities(self, values: Integers) -> tuple[int, ...]:
        """Return the largest local sensitivity within 0, 1, 2, ..., n replacements.

        Reference: Nissim, Raskhodnikova, Smith 2007, proposition 3.4, for the median; Bun,
        Steinke 2019, proposition 8, for trimmed means.

        Example:
            >>> MiddleSum.median(3, 0, 10).local_sensitivities(np.array([0, 5, 9]))
            (5, 9, 10, 10)
        """
        padded = self._pad(values)
        return tuple(self._within(padded, moved) for moved in range(self.size + 1))

    def smooth_sensitivity(self, values: Integers, smoothing: Fraction) -> Interval:
        """Return bounds on max over k of exp(-smoothing * k) * (local sensitivity within k).

        Guarantee: the smooth sensitivity lies between the bounds, which differ in the 50th
        digit. It is at least the local sensitivity, and those of neighbours differ by a factor
        of at most exp(smoothing).
        """
        if smoothing <= 0:
            raise InvalidValue(f"The smoothing must be above 0, but {smoothing} was given.")
        padded = self._pad(values)
        least = most = Fraction(0)
        for moved in range(self.size + 1):
            below, above = exp_bounds(-smoothing * moved) if moved else (Fraction(1),) * 2
            if above * (self.upper - self.lower) <= least:
                break  # no later term can be larger
            local = self._within(padded, moved)
            least, most = max(least, below * local), max(most, above * local)
        return least, most

    def smooth_pair(self, values: Integers, smoothing: Fraction) -> Integers:
        """Return the pair (sum, smooth sensitivity) in whole steps, for a smooth mechanism.

        Guarantee: between neighbours, the sensitivities differ by a factor of at most
        exp(smoothing) *after* rounding up. They are computed with 99 parts in 100 of the
        smoothing, b, and are at least M steps, where 1/M is below the remaining part:
        ceil(S) <= exp(b) * S' + 1 <= exp(b + 1/M) * ceil(S').
        """
        reserve = smoothing * ROUNDING_SHARE
        exact = self.smooth_sensitivity(values, smoothing - reserve)[1]
        # one step above 1/reserve also covers the uncertainty in the 50th digit
        whole = max(exact.__ceil__(), (1 / reserve).__ceil__() + 1)
        return np.array([self(values), whole])

    def _pad(self, values: Integers) -> Integers:
        """Return the sorted values, with as many bounds around them as can be replaced."""
        around = self.size + 1
        inside = np.sort(np.clip(values, self.lower, self.upper))
        return np.concatenate(
            [np.full(around, self.lower), inside, np.full(around, self.upper)]
        )

    def _within(self, padded: Integers, moved: int) -> int:
        """Return the largest change of the sum by one more replacement, after ``moved``.

        With the replacement, a value leaves the middle at one end, and another enters at the
        other end. Each of the ``moved`` replacements before can shift an end by one position.
        """
        first, last = self.first + self.size + 1, self.last + self.size + 1
        above = padded[last : last + moved + 2]
        below = padded[first - moved - 1 : first + 1]
        return int((above - below).max())


# ------------------------------------------------------------------ private trimmed mean

HALF = 2**32
"""Number of grid steps from the middle to a bound."""

SMOOTHING = Fraction(1, 6)
"""The smoothing as a part of epsilon.

Below one half, the noise has finite variance, and near one sixth its error is smallest.
"""


@dataclass(frozen=True, slots=True)
class TrimmedMean:
    """The mean of the values that remain when a share ``cut`` is trimmed at each end.

    With a cut of 1/2, one value remains: the lower median. Neighbours replace one value, and
    the number of values is public. For the median alone, the exponential mechanism on ranks
    (`Quantiles`) has a smaller error. This class is for trimmed means, and for comparison with
    the published mechanism.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval,
    because the scale of the noise depends on the values and is secret.
    Reference: Bun, Steinke 2019; noise by ``docs/privacy/mechanisms/lomax.md``.

    Example:
        >>> TrimmedMean(Bounds.of(0, 10), Fraction(1, 10), Loss.pure(1)).event()
        LomaxNoiseV2(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    bounds: Bounds
    cut: Fraction
    loss: Loss

    def __post_init__(self) -> None:
        if not 0 <= self.cut <= Fraction(1, 2) or self.bounds.width == 0:
            raise InvalidValue(
                "A trimmed mean needs two different bounds and a cut between 0 and 1/2, but "
                f"the cut {self.cut} was given."
            )

    def event(self) -> Event:
        """Describe the release for the accountant: noise scaled by a smooth sensitivity."""
        return self._mechanism().event(self._worst(1))

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the trimmed mean of ``values``; without values it is the middle of bounds."""
        lower, upper = self.bounds.lower, self.bounds.upper
        middle, reach = float((lower + upper) / 2), float((upper - lower) / 2)
        if np.size(values) == 0:  # the number of values is public
            return RobustEstimate(middle)
        steps = steps_from(values, middle, reach, HALF)
        middle_sum, mechanism = self._middle_sum(steps.size), self._mechanism()
        pair = Secret(middle_sum.smooth_pair(steps, mechanism.smoothing))
        left = middle_sum.last - middle_sum.first + 1
        noisy = float(mechanism.release(pair, self._worst(left), gateway)[0]) / left
        return RobustEstimate(middle + reach * min(max(noisy / HALF, -1.0), 1.0))

    def _middle_sum(self, size: int) -> MiddleSum:
        cut = int(size * self.cut)
        if 2 * cut >= size:
            return MiddleSum.median(size, -HALF, HALF)
        return MiddleSum.without_tails(size, cut, -HALF, HALF)

    def _mechanism(self) -> Lomax:
        epsilon = 1 / calibrate(lambda x: LomaxNoiseV2(1 / x, SMOOTHING / x), self.loss)
        return Lomax(epsilon, SMOOTHING * epsilon)

    def _worst(self, left: int) -> Sensitivity:
        """Return the worst-case sensitivity, for audits; it does not determine the noise."""
        return Sensitivity.of(2 * HALF * left, Norm.LINF, Rule("the range of the kept sum"))


# ------------------------------------------------------------------ the median
# The same for the median alone; the median of an even number of values is the lower one.


def local_sensitivities(values: Integers, lower: int, upper: int) -> tuple[int, ...]:
    """Return the largest local sensitivity of the median within 0, 1, ..., n replacements.

    Example:
        >>> local_sensitivities(np.array([0, 5, 9]), 0, 10)
        (5, 9, 10, 10)
    """
    return MiddleSum.median(values.size, lower, upper).local_sensitivities(values)


def smooth_sensitivity(
    values: Integers, lower: int, upper: int, smoothing: Fraction
) -> Interval:
    """Return bounds on the smooth sensitivity of the median.

    Guarantee: the same as for `MiddleSum.smooth_sensitivity`.

    Example:
        >>> least, most = smooth_sensitivity(np.array([0, 5, 9]), 0, 10, Fraction(1, 2))
        >>> round(float(least), 6) == round(float(most), 6) == 5.458776
        True
    """
    return MiddleSum.median(values.size, lower, upper).smooth_sensitivity(values, smoothing)


def smooth_median(values: Integers, lower: int, upper: int, smoothing: Fraction) -> Integers:
    """Return the pair (median, smooth sensitivity) in whole steps, for a smooth mechanism.

    Guarantee: the same as for `MiddleSum.smooth_pair`.

    Example:
        >>> smooth_median(np.array([0, 5000, 9000]), 0, 10**4, Fraction(1, 2)).tolist()
        [5000, 5487]
    """
    return MiddleSum.median(values.size, lower, upper).smooth_pair(values, smoothing)


def median(values: Integers) -> int:
    """Return the lower median.

    Example:
        >>> median(np.array([9, 0, 5, 7]))
        5
    """
    return int(np.sort(values)[(values.size - 1) // 2])
