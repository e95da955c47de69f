"""The quotient of two noisy totals, such as a sum over a count, and what it can be."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Self

from tacit.core.release import Interval
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.mechanism import Mechanism

FLOAT_MARGIN = 1e-9
"""More than the floats of a root can be wrong by, as a part of it."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Where exact quotients lie, by how far two totals reach with some probability.

    Guarantee: of Gaussian noise, top - quotient * bottom is Gaussian too, of a variance that
    the quotient decides; the interval holds the quotients for which it is as small as it should
    be. Of other noise, both totals are within their own reach, at half of the doubt each.
    The exact bottom is taken to be at least 1.
    Reference: Fieller 1954.

    Example:
        >>> noise = Gaussian(Fraction(100))
        >>> low, high = Ratio.of(noise, noise, Fraction("0.95")).interval(500, 1000)
        >>> round(float(low), 3), round(float(high), 3)
        (0.477, 0.523)
    """

    top_reach: Fraction
    bottom_reach: Fraction
    gaussian: bool

    @classmethod
    def of(cls, top: Mechanism, bottom: Mechanism, confidence: Fraction) -> Self:
        """The quotient of what these two release, at this confidence."""
        if isinstance(top, Gaussian) and isinstance(bottom, Gaussian):
            sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
            # a whole step more for each: integers have their probability in lumps
            one, other = (Fraction(sure * sqrt(part.variance) + 1) for part in (top, bottom))
            return cls(one, other, gaussian=True)
        each = 1 - (1 - confidence) / 2
        return cls(top.error(each), bottom.error(each), gaussian=False)

    def interval(self, top: Fraction | int, bottom: int) -> Interval | None:
        """Where the quotient lies; None where it can lie anywhere."""
        if bottom <= self.bottom_reach:
            return None
        if self.gaussian:
            return self._fieller(top, bottom)
        ends = [
            (top + side * self.top_reach) / max(bottom + way * self.bottom_reach, Fraction(1))
            for side in (-1, 1)
            for way in (-1, 1)
        ]
        return min(ends), max(ends)

    def _fieller(self, top: Fraction | int, bottom: int) -> Interval:
        """All q with (top - q * bottom)**2 <= top_reach**2 + (q * bottom_reach)**2."""
        noise, below = float(self.top_reach), float(self.bottom_reach)
        over, square = float(top), float(bottom) ** 2 - below**2
        # the discriminant, without its great terms, which cancel
        root = sqrt((noise * bottom) ** 2 + (over * below) ** 2 - (noise * below) ** 2)
        middle, root = over * float(bottom), root * (1 + FLOAT_MARGIN)
        return Fraction((middle - root) / square), Fraction((middle + root) / square)
