"""Losses as the ledger counts them: whole units, costs rounded up and limits rounded down."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from tacit.accounting.composition import leaves
from tacit.accounting.price import loss_of
from tacit.core.event import Event, Nothing
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InternalError, InvalidValue

AMOUNT_UNITS = 10**12
"""Units in an epsilon or a rho of 1."""

DELTA_UNITS = 10**18
"""Units in a delta of 1."""

MOST = 2**62 - 1
"""No amount is larger, so that no sum or difference of two leaves 64 bits."""


@dataclass(frozen=True, slots=True)
class Units:
    """An amount and a delta in whole units.

    Example:
        >>> Units.cost(Loss.pure("1/3"))
        Units(amount=333333333334, delta=0)
        >>> Units.limit(Loss.pure("1/3"))
        Units(amount=333333333333, delta=0)
    """

    amount: int
    delta: int

    @classmethod
    def cost(cls, loss: Loss) -> Self:
        """What charging ``loss`` takes: rounded up."""
        return cls(
            _checked(-(-loss.amount * AMOUNT_UNITS // 1)),
            _checked(-(-loss.delta * DELTA_UNITS // 1)),
        )

    @classmethod
    def limit(cls, loss: Loss) -> Self:
        """What a cap of ``loss`` allows: rounded down."""
        return cls(
            _checked(loss.amount * AMOUNT_UNITS // 1), _checked(loss.delta * DELTA_UNITS // 1)
        )

    def loss(self, measure: Measure) -> Loss:
        """The loss that this many units are, exactly."""
        return Loss(
            measure, Fraction(self.amount, AMOUNT_UNITS), Fraction(self.delta, DELTA_UNITS)
        )

    def __add__(self, other: "Units") -> "Units":
        return Units(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: "Units") -> "Units":
        return Units(self.amount - other.amount, self.delta - other.delta)

    def __le__(self, other: "Units") -> bool:
        return self.amount <= other.amount and self.delta <= other.delta


NO_UNITS = Units(0, 0)
NO_LIMIT = Units(MOST, MOST)
"""The quota of an analyst who has none: the population's cap still holds."""


@lru_cache(maxsize=4096)
def price(event: Event, measure: Measure, delta: Fraction) -> Units:
    """What ``event`` takes from a budget in ``measure``, rounded up; questions use few events.

    Guarantee: never below the loss of the event, and above nothing for every event that
    depends on the data.
    """
    units = Units.cost(loss_of(event, measure, delta))
    free = units == NO_UNITS
    if free and any(times and not isinstance(leaf, Nothing) for leaf, times in leaves(event)):
        # a cost of nothing is how a forgotten bound looks from here
        raise InternalError("An event that depends on the data was priced at nothing.")
    return units


def _checked(units: int) -> int:
    if units > MOST:
        raise InvalidValue(
            f"A ledger counts amounts up to {MOST // AMOUNT_UNITS} and deltas up to "
            f"{MOST // DELTA_UNITS}, and more was given."
        )
    return units
