"""The scales on which loss of privacy is counted."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Self

from tacit.errors import InvalidValue
from tacit.numeric import Number, exact, plain


class Measure(Enum):
    """What an amount of loss means.

    One is fixed when a budget is made, because sums of it are what the proof adds up.
    """

    PURE = "epsilon"
    APPROXIMATE = "epsilon with delta"
    ZCDP = "rho with delta"

    @property
    def symbol(self) -> str:
        """The letter of its amount."""
        return "ρ" if self is Measure.ZCDP else "ε"


# ------------------------------------------------------------------ loss
# How much privacy is given up.


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


# ------------------------------------------------------------------ budget
# The owner's limit on everything that ever leaves about a population.


@dataclass(frozen=True, slots=True)
class Budget:
    """A cap under one measure, fixed when the budget is made.

    ``conversion_delta`` is what printing a rho as an epsilon adds to delta, so it belongs to
    zCDP alone. ``idealised`` allows noise whose law holds for real numbers only; a population
    that is served to others has no such budget.

    Example:
        >>> print(Budget(Loss.zcdp("0.1", "1e-7"), Fraction(1, 10**6)).cap)
        ρ = 0.1, δ = 0.0000001
    """

    cap: Loss
    conversion_delta: Fraction = Fraction(0)
    idealised: bool = False

    def __post_init__(self) -> None:
        if self.cap.measure is Measure.ZCDP:
            if not 0 < self.conversion_delta < 1:
                raise InvalidValue(
                    "A budget in rho is printed as an epsilon at a delta between 0 and 1, and "
                    f"conversion_delta={self.conversion_delta} was given."
                )
        elif self.conversion_delta:
            raise InvalidValue(
                f"A budget in {self.cap.measure.value} is not converted; leave "
                "conversion_delta out."
            )
