"""How much a question may lose, in the words of whoever asks."""

from fractions import Fraction
from functools import lru_cache

from tacit.accounting.convert import rho_within
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.ledger.status import Status, Terms
from tacit.ledger.units import Units
from tacit.numeric.exact import Number, exact

PARTS = 10
"""A quote for no stated amount is one for this part of the cap."""


def loss_for(
    terms: Terms,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number = 0,
) -> Loss:
    """The loss that is asked for, in the measure of the population's budget.

    Under zCDP an epsilon means the rho whose conversion at the budget's delta is that epsilon.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidValue("Say how much to spend, by one of them: epsilon=0.2 or rho=0.001.")
    if terms.measure is Measure.ZCDP:
        amount = (
            exact(rho) if rho is not None else _rho(terms.conversion_delta, exact(epsilon or 0))
        )
        return _asked(Loss(Measure.ZCDP, amount, exact(delta)))
    if epsilon is None:
        raise InvalidValue(
            f"The budget of {terms.population!r} counts in epsilon: ask with epsilon=0.2."
        )
    return _asked(Loss(terms.measure, exact(epsilon), exact(delta)))


def tenth(status: Status) -> Loss:
    """A tenth of the cap, for a quote that names no amount."""
    units = Units(status.cap_units.amount // PARTS, status.cap_units.delta // PARTS)
    return units.loss(status.measure)


@lru_cache(maxsize=256)
def _rho(conversion_delta: Fraction, epsilon: Fraction) -> Fraction:
    """The rho for an epsilon, which is searched for, and asked for again and again."""
    if epsilon <= 0:
        return Fraction(0)  # refused with all others that are nothing
    Units.limit(Loss.pure(epsilon))  # refused beyond what a ledger counts, and floats hold
    return rho_within(epsilon, conversion_delta)


def _asked(loss: Loss) -> Loss:
    if loss.amount <= 0:
        raise InvalidValue("A question costs something: ask with an amount above 0.")
    return loss
