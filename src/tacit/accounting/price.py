"""What an event costs, under the measure that a budget counts in."""

from fractions import Fraction

from tacit.accounting.composition import leaves
from tacit.accounting.convert import epsilon_of_rho
from tacit.accounting.cost import Cost, cost_of
from tacit.accounting.curve import delta_at
from tacit.accounting.search import least_that
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.smooth_event import SmoothLaplaceNoise
from tacit.errors import InvalidValue

EPSILON_UNIT = Fraction(1, 10**6)
"""An epsilon that is read off a curve is a multiple of this, rounded up."""


def loss_of(event: Event, measure: Measure, delta: Fraction = Fraction(0)) -> Loss:
    """The loss of ``event``: an amount that a budget of ``measure`` can add up.

    Under `Measure.APPROXIMATE` a leaf that has no epsilon of its own, such as Gaussian noise,
    is converted at ``delta``, once for each time that it happened.

    Guarantee: ``event`` satisfies the loss, and losses of one measure add up even where each
    event is chosen after the answers of those before were seen.
    Reference: for zCDP with delta, Whitehouse, Ramdas, Rogers, Wu 2023, theorem 1.

    Example:
        >>> from tacit.core.noise_event import LaplaceNoise
        >>> noise = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10))
        >>> print(loss_of(noise, Measure.PURE), loss_of(noise, Measure.ZCDP), sep="; ")
        ε = 0.1; ρ = 0.005
    """
    total = Loss(measure, Fraction(0))
    for leaf, times in leaves(event):
        if isinstance(leaf, SmoothLaplaceNoise):
            total += _curve_loss(leaf, measure, delta) * times
        else:
            total += _leaf_loss(cost_of(leaf), measure, delta) * times
    return total


def _curve_loss(leaf: Event, measure: Measure, delta: Fraction) -> Loss:
    """The loss of a leaf that has a curve and nothing else: the point of it at ``delta``."""
    if measure is not Measure.APPROXIMATE or not delta:
        raise InvalidValue(
            f"{type(leaf).__name__} has a price in epsilon at a delta above 0, and no other."
        )
    return Loss(measure, least_that(lambda x: delta_at(leaf, x) <= delta, EPSILON_UNIT), delta)


def _leaf_loss(cost: Cost, measure: Measure, delta: Fraction) -> Loss:
    match measure:
        case Measure.ZCDP:
            return Loss(measure, cost.rho, cost.delta)
        case Measure.APPROXIMATE if cost.epsilon is not None:
            return Loss(measure, cost.epsilon, cost.delta)
        case Measure.APPROXIMATE:
            return Loss(measure, epsilon_of_rho(cost.rho, delta), cost.delta + delta)
        case Measure.PURE if cost.epsilon is not None and not cost.delta:
            return Loss(measure, cost.epsilon)
    raise InvalidValue(
        "This event has no pure loss, since it can be told apart with a small probability; "
        "charge it to a budget that counts in rho with delta or in epsilon with delta."
    )
