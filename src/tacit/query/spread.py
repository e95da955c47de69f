"""What the variance of a group can be, by all of its noise at once."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Self

from tacit.core.release import Interval
from tacit.mechanisms.gaussian import Gaussian
from tacit.plan.reading import VarianceReading
from tacit.query.quote import Quote
from tacit.query.ratio import Ratio


@dataclass(frozen=True, slots=True)
class Spread:
    """Where exact variances lie, by how far three totals reach with some probability.

    Guarantee: at the exact mean, the sum of squares around it, less variance * count, is
    Gaussian noise of a variance that both decide. The interval holds the variances for which it
    is as small as it should be, at some mean of the mean's own interval. Around the mean the
    squares change by little, so that little is lost.

    The reaches are in the units of the squares, of the values, and of rows.
    """

    squares: float
    values: float
    rows: float
    step: float

    @classmethod
    def of(cls, reading: VarianceReading, quote: Quote, confidence: Fraction) -> Self | None:
        """The spread at this confidence; None where some noise is not Gaussian."""
        sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
        reaches = []
        for place in (reading.squares, reading.mean.total, reading.mean.count):
            mechanism = quote.tallies[place].mechanism
            if not isinstance(mechanism, Gaussian):
                return None
            reaches.append(sure * sqrt(mechanism.variance))
        squares, values, rows = reaches
        step, value_step = float(reading.step), float(reading.mean.step)
        return cls(squares * step, values * value_step, rows, step)

    def interval(
        self, reading: VarianceReading, found: tuple[int, int, int], mean: Interval
    ) -> Interval | None:
        """Where the variance lies, by the three totals and the mean's interval."""
        square, total, count = found
        centre = reading.mean.centre - reading.centre
        low, high = (end - reading.centre for end in mean)
        middle = (total * reading.mean.step + count * centre) / max(count, 1)
        around = square * reading.step + count * (reading.middle - middle**2)
        farthest = max((low - middle) ** 2, (high - middle) ** 2)
        # what a row adds beside its own variance, at any of the means
        near, far = square_range(low - centre, high - centre)
        offset = reading.middle - centre**2
        reach = sqrt(self.squares**2 + 4 * float(max(low**2, high**2)) * self.values**2)
        # a whole step more for each: integers have their probability in lumps
        ratio = Ratio(Fraction(reach + self.step), Fraction(self.rows + 1), gaussian=True)
        ends = []
        for beside in (near + offset, far + offset):
            for top in (around, around + count * farthest):
                interval = ratio.interval(top - count * beside, count)
                if interval is None:
                    return None
                ends += [end + beside for end in interval]
        return min(ends), max(ends)


def square_range(low: Fraction, high: Fraction) -> Interval:
    """The least and the greatest square of a number between two others.

    Example:
        >>> square_range(Fraction(-1), Fraction(2))
        (Fraction(0, 1), Fraction(4, 1))
    """
    squares = low**2, high**2
    return (Fraction(0) if low <= 0 <= high else min(squares)), max(squares)
