"""Privacy losses and budgets, in exact fractions, and the measures in which they are stated."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Self

from tacit.errors import InvalidValue
from tacit.numeric import Number, ceil_to, exact, floor_to, plain


class Measure(Enum):
    """The privacy definition under which a loss is stated.

    It is fixed when a budget is made, because losses are added up under one definition.
    """

    PURE = "epsilon"
    APPROXIMATE = "epsilon with delta"
    ZCDP = "rho with delta"

    @property
    def symbol(self) -> str:
        """The letter of its amount."""
        return "ρ" if self is Measure.ZCDP else "ε"


# ------------------------------------------------------------------ loss


@dataclass(frozen=True, slots=True)
class Loss:
    """A privacy loss: an amount under a measure, and a delta, in exact fractions.

    Losses of one measure can be added (basic composition): the loss of two releases, the second
    of which may depend on the first, is at most the sum. Losses of different measures cannot be
    added or compared; `tacit.accounting` converts them.

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
                f"The amount and the delta of a loss must be at least 0, but "
                f"{plain(self.amount)} and {plain(self.delta)} were given."
            )
        if self.measure is Measure.PURE and self.delta:
            raise InvalidValue(
                f"A pure loss has no delta, but {plain(self.delta)} was given. Use "
                "Loss.approximate for a loss with a delta."
            )

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """Return a loss in pure differential privacy."""
        return cls(Measure.PURE, exact(epsilon))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Self:
        """Return a loss in approximate differential privacy; epsilons and deltas add up."""
        return cls(Measure.APPROXIMATE, exact(epsilon), exact(delta))

    @classmethod
    def zcdp(cls, rho: Number, delta: Number = 0) -> Self:
        """Return a loss in zero-concentrated differential privacy, up to ``delta``."""
        return cls(Measure.ZCDP, exact(rho), exact(delta))

    def __add__(self, other: "Loss") -> "Loss":
        self._same_measure(other)
        return Loss(self.measure, self.amount + other.amount, self.delta + other.delta)

    def __mul__(self, times: int) -> "Loss":
        if type(times) is not int:
            raise InvalidValue(
                f"A loss can be multiplied only by an integer, and not by {times!r}."
            )
        return Loss(self.measure, self.amount * times, self.delta * times)

    def part(self, share: Fraction) -> "Loss":
        """Return the given share of this loss, in its amount and its delta.

        Example:
            >>> print(Loss.zcdp("0.1").part(Fraction(3, 4)))
            ρ = 0.075
        """
        return Loss(self.measure, self.amount * share, self.delta * share)

    def __le__(self, other: "Loss") -> bool:
        """Return whether this loss is at most ``other``, in its amount and its delta."""
        self._same_measure(other)
        return self.amount <= other.amount and self.delta <= other.delta

    def __str__(self) -> str:
        amount = f"{self.measure.symbol} = {plain(self.amount)}"
        return f"{amount}, δ = {plain(self.delta)}" if self.delta else amount

    def _same_measure(self, other: "Loss") -> None:
        if self.measure is not other.measure:
            raise InvalidValue(
                "Only losses of the same measure can be combined, but these are in "
                f"{self.measure.value} and in {other.measure.value}."
            )


# ------------------------------------------------------------------ text
# People type epsilon, and ledgers count in rho. A loss is therefore printed with its epsilon
# first and its rho in brackets, or the other way round for a person who typed a rho.

SHOWN = Fraction(1, 10**6)
"""Step to which shown amounts are rounded; the ledger stores them to 10^-12."""


def amount_text(amount: Fraction, *, down: bool = False) -> str:
    """Return an amount with six decimals, or with two digits if it is small.

    It is rounded up, which is toward more loss; what is left of a budget is rounded ``down``.

    Example:
        >>> amount_text(Fraction(1, 3)), amount_text(Fraction(1, 3), down=True)
        ('0.333334', '0.333333')
        >>> amount_text(Fraction(1, 3 * 10**6))
        '0.00000034'
    """
    unit = SHOWN
    while 0 < amount < 10 * unit:
        unit /= 10
    return plain(floor_to(amount, unit) if down else ceil_to(amount, unit))


def loss_text(
    loss: Loss,
    epsilon: Fraction | None = None,
    *,
    rho_first: bool = False,
    down: bool = False,
) -> str:
    """Return a loss as people read it. This function prints every loss outside of guarantees.

    ``epsilon`` is the epsilon to which a rho converts at the delta of its budget; without it, a
    rho is printed alone.

    Example:
        >>> half = Loss.zcdp("0.006224817121")
        >>> print(loss_text(half, Fraction(1, 2)))
        epsilon 0.5 (rho 0.006225)
        >>> print(loss_text(half, Fraction(1, 2), rho_first=True))
        rho 0.006225 (epsilon 0.5)
        >>> print(loss_text(Loss.approximate(3, "1e-6")))
        epsilon 3, delta 0.000001
    """
    delta = f", delta {plain(loss.delta)}" if loss.delta else ""
    amount = amount_text(loss.amount, down=down)
    if loss.measure is not Measure.ZCDP:
        return f"epsilon {amount}{delta}"
    rho = f"rho {amount}"
    if epsilon is None:
        return f"{rho}{delta}"
    shown = f"epsilon {amount_text(epsilon, down=down)}"
    return f"{rho}{delta} ({shown})" if rho_first else f"{shown}{delta} ({rho})"


# ------------------------------------------------------------------ budget


@dataclass(frozen=True, slots=True)
class Budget:
    """The limit on the loss of all releases about a population, in one measure.

    ``conversion_delta`` is the delta at which a rho is shown as an epsilon, so it applies only
    to zCDP. ``idealised`` allows noise whose guarantee holds only for real numbers; a
    population that is served to others cannot have such a budget.

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
                    "A budget in rho needs a conversion_delta between 0 and 1, at which it is "
                    f"shown as an epsilon, but conversion_delta={self.conversion_delta} was "
                    "given."
                )
        elif self.conversion_delta:
            raise InvalidValue(
                f"A budget in {self.cap.measure.value} is not converted. Leave out "
                "conversion_delta."
            )
