"""Rényi losses: a bound at every order, for events fixed in advance."""

from fractions import Fraction
from functools import lru_cache

from tacit.accounting.composition import leaves
from tacit.accounting.cost import cost_of
from tacit.core.event import Event
from tacit.core.selection_event import ExponentialSelection
from tacit.errors import InvalidValue
from tacit.numeric.exact import ceil_to, exp_bounds, log_bounds

UNIT = Fraction(1, 10**15)
"""Bounds that are not rational by themselves are multiples of this."""

LARGEST_EXPONENT = 500
"""Beyond this order times epsilon the pure bound is used as it is.

The exact one comes near it.
"""


def renyi_of(event: Event, order: Fraction) -> Fraction:
    """An upper bound on the Rényi divergence of ``order`` above 1 between neighbours.

    Reference: Mironov 2017, propositions 1 (composition) and 3 (conversion); a pure leaf is at
    most randomised response of its epsilon, and a zero-concentrated one at most order * rho.

    Example:
        >>> from tacit.core.noise_event import GaussianNoise
        >>> renyi_of(GaussianNoise(Fraction(1), Fraction(16)), Fraction(8))
        Fraction(1, 4)
    """
    if order <= 1:
        raise InvalidValue(f"A Rényi order is above 1, and {order} is not.")
    return sum((_of_leaf(leaf, order) * times for leaf, times in leaves(event)), Fraction(0))


@lru_cache(maxsize=4096)
def _of_leaf(leaf: Event, order: Fraction) -> Fraction:
    """The bound of one leaf, kept for the next time: a batch asks for many orders."""
    cost = cost_of(leaf)
    if cost.delta:
        raise InvalidValue(f"{type(leaf).__name__} has a delta, and so no Rényi loss.")
    bound = order * cost.rho
    if cost.epsilon is not None and not isinstance(leaf, ExponentialSelection):
        # rounded up, so that sums of many leaves stay short
        bound = min(bound, ceil_to(_randomised_response(cost.epsilon, order), UNIT))
    return bound


def _randomised_response(epsilon: Fraction, order: Fraction) -> Fraction:
    """The divergence of randomised response of ``epsilon``, rounded up; at most ``epsilon``.

    log(p**a * q**(1 - a) + q**a * p**(1 - a)) / (a - 1), with p / q = exp(epsilon), p + q = 1.
    """
    if epsilon == 0 or order * epsilon > LARGEST_EXPONENT:
        return epsilon
    truth, lie = 1 / (1 + exp_bounds(-epsilon)[0]), 1 / (1 + exp_bounds(epsilon)[0])
    power = (order - 1) * epsilon
    total = truth * exp_bounds(power)[1] + lie * exp_bounds(-power)[1]
    return min(epsilon, log_bounds(total)[1] / (order - 1))
