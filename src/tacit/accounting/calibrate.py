"""The least noise within a loss, for any mechanism, by solving its own curve."""

from collections.abc import Callable
from fractions import Fraction

from tacit.accounting.price import loss_of
from tacit.accounting.search import least_that
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.errors import InvalidValue

UNIT = Fraction(1, 10**9)
"""Parameters are solved for to this step, rounded toward more noise."""


def calibrate(
    event_at: Callable[[Fraction], Event],
    loss: Loss,
    delta: Fraction = Fraction(0),
    unit: Fraction = UNIT,
) -> Fraction:
    """The least parameter, more of which is more noise, whose event stays within ``loss``.

    No constant is typed in: the loss is that of the event which will be charged.

    Guarantee: ``loss_of(event_at(parameter))`` is within ``loss``, and at ``parameter - unit``
    it is not.

    Example:
        >>> from tacit.core.noise_event import LaplaceNoise
        >>> calibrate(lambda scale: LaplaceNoise(Fraction(3), scale), Loss.pure("0.1"))
        Fraction(30, 1)
    """
    if loss.amount <= 0:
        raise InvalidValue(f"No noise is enough for {loss}: ask for a loss above 0.")
    return least_that(lambda x: loss_of(event_at(x), loss.measure, delta) <= loss, unit)
