"""Mean oracles: randomisers of a number, and estimates of the mean from their reports.

`OneBit` rounds the number at random to the smallest or the largest value, and then applies
randomised response to this bit. `Piecewise` reports an integer near the number with a higher
probability than others; it has a smaller variance at large ratios.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Self

import numpy as np

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import KAry
from tacit.local.oracle import (
    USUAL,
    MeanEstimate,
    MeanOracle,
    shares,
    valid_answers,
    valid_choices,
    valid_ratio,
)
from tacit.mechanisms import valid_confidence
from tacit.noise import Bernoulli, Integers, UniformBelow
from tacit.numeric import student_quantile
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class OneBit:
    """One randomised bit for a number from 0 to ``steps``.

    The bit is 1 with probability number / steps, before randomised response. So the expected
    share of ones is the mean number in units of ``steps``, and Warner's estimate of a share and
    its interval apply to the mean.
    Reference: Duchi, Jordan, Wainwright 2018; Ding, Kulkarni, Yekhanin 2017.

    Example:
        >>> OneBit(steps=80, ratio=Fraction(3)).mean(np.array([1, 0, 1, 0])).value
        Fraction(40, 1)
    """

    steps: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.steps + 1)
        KAry(2, self.ratio)  # raises if the ratio is not valid

    @property
    def variance(self) -> Fraction:
        """The variance of the estimate from one report, for the worst number, the middle."""
        return self.steps**2 * KAry(2, self.ratio).odds.variance(Fraction(1, 2))

    def randomise(self, numbers: Integers, entropy: Entropy) -> Integers:
        """Return one bit for each number."""
        valid_answers(numbers, self.steps + 1)
        rounded = UniformBelow(self.steps).draw(entropy, numbers.size) < numbers
        return KAry(2, self.ratio).randomise(rounded.astype(np.int64), entropy)[:, 0]

    def mean(self, reports: Integers, confidence: Fraction = USUAL) -> MeanEstimate:
        """Return the estimated mean, with the interval of `shares`."""
        coin = KAry(2, self.ratio)
        ones = int(coin.tally(reports[:, None])[1])
        (share,) = shares(coin.odds, [ones], reports.size, confidence)
        low, high = share.interval
        return MeanEstimate(share.value * self.steps, (low * self.steps, high * self.steps))


# ------------------------------------------------------------------ piecewise mechanism

WORST = 60
"""Number of reports with the largest variance that are mixed into the variance of a mean.

With it, the 95% interval contained the mean in 94% or more of 3,000 surveys, for each of 17
populations, epsilons from 0.5 to 5, and 30 to 1,000 reports. At 1,000 reports of people whose
numbers have the form of a bell, it adds 1 to 12% to the length.
"""


@dataclass(frozen=True, slots=True)
class Piecewise:
    """The piecewise mechanism on a grid, for a number from 0 to ``steps``.

    A report is an integer from 0 to ``steps + 2 * reach``. The integers within ``reach`` of
    ``number + reach`` are each ``ratio`` times as likely as any of the ``steps`` others. The
    numbers of near and of other integers are the same for every number, so the expected report
    is linear in the number. On a grid, all probabilities are rational, and the sampler is
    exact.
    Reference: Wang et al. 2019.

    Example:
        >>> Piecewise(steps=10, reach=2, ratio=Fraction(4)).near
        Fraction(2, 3)
    """

    steps: int
    reach: int
    ratio: Fraction

    def __post_init__(self) -> None:
        valid_choices(self.steps + 1)
        valid_ratio(self.ratio)
        if self.reach < 0:
            raise InvalidValue(
                "The reach, the largest distance of a near report from the number, must be at "
                f"least 0, but {self.reach} was given."
            )

    @classmethod
    def best(cls, steps: int, ratio: Fraction) -> Self:
        """Return the oracle with the best reach, which is near steps / (2 * sqrt(ratio))."""
        ideal = int(steps / (2 * sqrt(ratio)))
        made = (cls(steps, reach, ratio) for reach in {max(ideal, 0), ideal + 1})
        return min(made, key=lambda found: (found.variance, found.reach))

    @property
    def window(self) -> int:
        """The number of integers that count as near."""
        return 2 * self.reach + 1

    @property
    def near(self) -> Fraction:
        """The probability that a near integer is reported."""
        return self.ratio * self.window / (self.ratio * self.window + self.steps)

    @property
    def variance(self) -> Fraction:
        """The variance of the estimate from one report, for the worst number, 0."""
        return self._spread(0)

    def randomise(self, numbers: Integers, entropy: Entropy) -> Integers:
        """Return an integer from 0 to ``steps + 2 * reach`` for each number."""
        valid_answers(numbers, self.steps + 1)
        near = Bernoulli(self.near).draw(entropy, numbers.size)
        inside = numbers + UniformBelow(self.window).draw(entropy, numbers.size)
        outside = UniformBelow(self.steps).draw(entropy, numbers.size)
        outside += self.window * (outside >= numbers)
        return np.where(near == 1, inside, outside)

    def mean(self, reports: Integers, confidence: Fraction = USUAL) -> MeanEstimate:
        """Return the estimated mean with its interval, for about 30 reports or more.

        The interval covers the mean of all people, if the respondents are a random sample.

        A normal interval with the variance of the reports is too short for few reports: where
        the people's numbers or the noise are skewed, a rare number that was not reported yet
        is missing in the mean and in the variance. The interval therefore contains each mean
        that a test with this variance does not reject: the variance of the reports, which is
        at least that of the noise, mixed with that of `WORST` further reports of people who
        have this mean and the largest possible variance, those with only the smallest and
        the largest number.
        """
        valid_confidence(confidence)
        valid_answers(reports, self.steps + self.window)
        if reports.size < 2:  # noqa: PLR2004 - one report has no variance
            raise InvalidValue("A mean and its interval need at least two reports.")
        value = self._number(Fraction(int(reports.sum()), reports.size))
        ends = self._ends(
            float(value), float(np.var(reports, ddof=1)), reports.size, confidence
        )
        low, high = (min(max(Fraction(end), Fraction(0)), Fraction(self.steps)) for end in ends)
        return MeanEstimate(value, (low, high))

    def _ends(
        self, value: float, spread: float, count: int, confidence: Fraction
    ) -> tuple[float, float]:
        """Return the ends of the interval around ``value``; ``spread`` is that of the reports.

        A mean m is in the interval if (value - m)^2 is at most the squared quantile times the
        mixed variance over the number of reports. The variance of the noise is a quadratic
        polynomial in the number, and the largest variance of people with the mean m is that
        polynomial plus (1 + its leading coefficient) * m * (steps - m). So the ends are the
        roots of a quadratic polynomial in m.
        """
        least, one, two = (float(self._spread(number)) for number in range(3))
        square = (two - 2 * one + least) / 2
        linear = one - least - square
        near = min(max(value, 0.0), float(self.steps))
        noise = least + linear * near + square * near**2
        variance = max(spread / float(self._slope) ** 2, noise)
        quantile = student_quantile(float(confidence), count - 1)
        share = quantile**2 / (count * (count + WORST))
        # the largest variance of people with the mean m is least + slope * m - m^2
        slope = self.steps * (1 + square) + linear
        leading = 1 + share * WORST
        middle = (value + share * WORST * slope / 2) / leading
        rest = value**2 - share * (count * variance + WORST * least)
        half = sqrt(max(middle**2 - rest / leading, 0.0))
        return middle - half, middle + half

    @property
    def _slope(self) -> Fraction:
        """The increase of the expected report per unit of the number."""
        return self.near - (1 - self.near) * self.window / self.steps

    def _number(self, report: Fraction) -> Fraction:
        """Return the mean number that corresponds to the mean ``report``.

        The expected report is ``near * (number + reach) + (1 - near) * (mean of the others)``.
        """
        every = Fraction((self.steps + self.window) * (self.steps + self.window - 1), 2)
        others = (every - self.window * self.reach) / self.steps
        return (report - self.near * self.reach - (1 - self.near) * others) / self._slope

    def _spread(self, number: int) -> Fraction:
        """Return the variance of the estimate from one report of ``number``."""
        inside = _squares(number, number + self.window)
        outside = _squares(0, self.steps + self.window) - inside
        mean = number * self._slope - self._number(Fraction(0)) * self._slope
        second = self.near * inside / self.window + (1 - self.near) * outside / self.steps
        return (second - mean**2) / self._slope**2


def _squares(start: int, end: int) -> Fraction:
    """Return the sum of the squares of the integers from ``start`` to ``end`` - 1."""

    def below(count: int) -> int:
        return (count - 1) * count * (2 * count - 1) // 6

    return Fraction(below(end) - below(start))


def best_mean(steps: int, ratio: Fraction) -> MeanOracle:
    """Return the mean oracle with the smallest worst-case variance.

    Example:
        >>> best_mean(100, Fraction(2))
        OneBit(steps=100, ratio=Fraction(2, 1))
        >>> best_mean(100, Fraction(20))
        Piecewise(steps=100, reach=12, ratio=Fraction(20, 1))
    """
    made: tuple[MeanOracle, ...] = (OneBit(steps, ratio), Piecewise.best(steps, ratio))
    return min(made, key=lambda oracle: oracle.variance)
