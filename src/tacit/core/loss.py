"""How much privacy is given up."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.numeric.exact import Number, exact, plain


@dataclass(frozen=True, slots=True)
class Loss:
    """An amount under a measure, and a delta, in exact fractions: ten times 0.1 is 1.

    Losses of one measure add up, and that is basic composition: two releases chosen one after
    the other, the second after the first was seen, lose together at most the sum. Losses of
    different measures do not meet; `accounting` converts them.

    Example:
        >>> weekly = Loss.pure(0.1)
        >>> weekly * 10 == Loss.pure(1), weekly * 11 <= Loss.pure(1)
        (True, False)
        >>> print(Loss.approximate(1, "1e-6"))
        ε = 1, δ = 0.000001
    """

    measure: Measure
    amount: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.amount.numerator < 0 or self.delta.numerator < 0:  # a fraction compares slowly
            raise InvalidValue(
                f"A loss is at least 0, and {plain(self.amount)}, {plain(self.delta)} is not."
            )
        if self.measure is Measure.PURE and self.delta:
            raise InvalidValue(f"A pure loss has no delta, and {plain(self.delta)} was given.")

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """Pure differential privacy."""
        return cls(Measure.PURE, exact(epsilon))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Self:
        """Differential privacy up to ``delta``, composed by adding both up."""
        return cls(Measure.APPROXIMATE, exact(epsilon), exact(delta))

    @classmethod
    def zcdp(cls, rho: Number, delta: Number = 0) -> Self:
        """Zero-concentrated differential privacy, up to ``delta``."""
        return cls(Measure.ZCDP, exact(rho), exact(delta))

    def __add__(self, other: "Loss") -> "Loss":
        self._same_measure(other)
        return Loss(self.measure, self.amount + other.amount, self.delta + other.delta)

    def __mul__(self, times: int) -> "Loss":
        if type(times) is not int:
            raise InvalidValue(
                f"A loss is repeated a whole number of times, not {times!r} times."
            )
        return Loss(self.measure, self.amount * times, self.delta * times)

    def part(self, share: Fraction) -> "Loss":
        """That share of it, in its amount and in its delta.

        Example:
            >>> print(Loss.zcdp("0.1").part(Fraction(3, 4)))
            ρ = 0.075
        """
        return Loss(self.measure, self.amount * share, self.delta * share)

    def __le__(self, other: "Loss") -> bool:
        """Whether this loss fits within ``other``: in its amount and in its delta."""
        self._same_measure(other)
        return self.amount <= other.amount and self.delta <= other.delta

    def __str__(self) -> str:
        amount = f"{self.measure.symbol} = {plain(self.amount)}"
        return f"{amount}, δ = {plain(self.delta)}" if self.delta else amount

    def _same_measure(self, other: "Loss") -> None:
        if self.measure is not other.measure:
            raise InvalidValue(
                "Losses meet under one measure, and these are in "
                f"{self.measure.value} and in {other.measure.value}."
            )
