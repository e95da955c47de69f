"""The smooth sensitivity of sums of the middle values: of trimmed means, and of the median.

Neighbours replace one value, and the number of values is public. Values are whole steps of a
public grid between public bounds. Of the values in order, those at the places ``first`` to
``last`` are kept.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers
from tacit.numeric.exact import Interval, exp_bounds

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
