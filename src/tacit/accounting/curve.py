"""The whole privacy curve of an event: delta at every epsilon, for events fixed in advance."""

from fractions import Fraction

from tacit.accounting.ball import ball_delta
from tacit.accounting.composition import leaves
from tacit.accounting.convert import delta_of_rho
from tacit.accounting.cost import cost_of
from tacit.accounting.smooth import smooth_laplace_delta
from tacit.core.event import Event
from tacit.core.noise_event import BallNoise
from tacit.core.smooth_event import SmoothLaplaceNoise
from tacit.numeric.exact import exp_bounds, sqrt_bounds


def delta_at(event: Event, epsilon: Fraction) -> Fraction:
    """A delta such that ``event`` is (epsilon, delta)-private.

    The least of the ways to bound it.

    Guarantee: never below the true one. The least of several bounds is valid because the event
    is fixed; a budget that is spent adaptively adds up one measure instead
    (`tacit.accounting.filter`).
    Reference: a mechanism with (e, d) is at most randomised response with d of the mass lost,
    whose delta at epsilon is d + (1 - d) * (exp(e) - exp(epsilon)) / (exp(e) + 1) (Kairouz, Oh,
    Viswanath 2015, theorem 3.1).

    Example:
        >>> from tacit.core.noise_event import LaplaceNoise
        >>> noise = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(1))
        >>> delta_at(noise, Fraction(1)), round(float(delta_at(noise, Fraction(0))), 3)
        (Fraction(0, 1), 0.462)
    """
    listed = list(leaves(event))
    if len(listed) == 1 and isinstance(listed[0][0], SmoothLaplaceNoise) and listed[0][1] == 1:
        leaf = listed[0][0]
        return _rounded_up(smooth_laplace_delta(leaf.factor, leaf.smoothing, epsilon))
    costs = [(cost_of(leaf), times) for leaf, times in listed]
    lost = sum((cost.delta * times for cost, times in costs), Fraction(0))
    rho = sum((cost.rho * times for cost, times in costs), Fraction(0))
    bounds = [lost + delta_of_rho(rho, epsilon), Fraction(1)]
    epsilons = [cost.epsilon * times for cost, times in costs if cost.epsilon is not None]
    if len(epsilons) == len(costs):
        pure = sum(epsilons, Fraction(0))
        bounds.append(lost + (1 - min(lost, Fraction(1))) * _response_delta(pure, epsilon))
    match listed:
        case [(BallNoise(square, scale, dimensions), 1)] if square:
            # per unit of sensitivity, rounded toward more loss
            part = float(scale / sqrt_bounds(square)[1]) * (1 - 2**-50)
            bounds.append(Fraction(ball_delta(part, dimensions, float(epsilon))))
    return min(bounds)


def _rounded_up(delta: float) -> Fraction:
    """A delta computed in floats, with room for their rounding."""
    return min(Fraction(1), Fraction(delta) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**15))


def _response_delta(pure: Fraction, epsilon: Fraction) -> Fraction:
    """The delta of randomised response of ``pure`` at ``epsilon``, rounded up."""
    if epsilon >= pure:
        return Fraction(0)
    # (exp(pure) - exp(epsilon)) / (exp(pure) + 1), which rises with exp(pure)
    top = exp_bounds(pure)[1]
    return (top - exp_bounds(epsilon)[0]) / (top + 1)
