"""All that an estimator must know of a randomiser: how often its reports speak for what."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely a report speaks for the answer that is true, and for one that is not.

    A report of one answer speaks for that answer, one of several for each of them. So the
    reports that speak for an answer are a binomial number, whatever the randomiser.
    Reference: Wang, Blocki, Li, Jha 2017 ("pure" protocols).

    Example:
        >>> coin = Odds(true=Fraction(2, 3), other=Fraction(1, 3))
        >>> coin.share(Fraction(1, 2)), coin.variance()
        (Fraction(1, 2), Fraction(2, 1))
    """

    true: Fraction
    other: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.other < self.true <= 1:
            raise InvalidValue(
                "Reports speak for what is true more often than for what is not, and "
                f"{self.true} and {self.other} were given."
            )

    def share(self, told: Fraction) -> Fraction:
        """The share of people whose answer it is, where a share ``told`` speaks for it.

        Guarantee: free of bias: ``told`` is ``other + share * (true - other)`` on average.
        """
        return (told - self.other) / (self.true - self.other)

    def variance(self, share: Fraction = Fraction(0)) -> Fraction:
        """Of the estimate from one report of somebody who was drawn at random.

        ``share`` is that of the people whose answer it is. Of n reports it is the n-th part.
        """
        told = self.other + share * (self.true - self.other)
        return told * (1 - told) / (self.true - self.other) ** 2
