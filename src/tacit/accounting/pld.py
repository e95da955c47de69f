"""Privacy loss distributions, by the `dp-accounting` library: for batches fixed in advance.

Composition is ours: each leaf becomes one distribution, and repeating it is asked for here,
because two of that library's own accountants drop repetition counts.
"""

from math import inf

from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting.composition import leaves
from tacit.accounting.cost import cost_of
from tacit.core.event import Event
from tacit.core.noise_event import GaussianNoise, LaplaceNoise
from tacit.core.selection_event import RandomisedResponse
from tacit.errors import InvalidValue

INTERVAL = 1e-4
"""The step to which losses are rounded up."""


def epsilon_by_pld(event: Event, delta: float, *, one_number: bool = False) -> float:
    """An epsilon at ``delta`` for a batch that was fixed before any answer was seen.

    ``one_number`` says that every noisy leaf releases a single integer, whose own curve is then
    used; for vectors, what is known of their sensitivity is the pure loss.

    Guarantee: pessimistic up to float rounding; no claim about adaptive spending.
    Reference: Koskela, Jälkö, Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.core.event import Repeated
        >>> weekly = Repeated(LaplaceNoise(Fraction(100), Fraction(1000)), 52)
        >>> round(epsilon_by_pld(weekly, 1e-6), 2)
        3.24
        >>> round(epsilon_by_pld(weekly, 1e-6, one_number=True), 2)
        3.19
    """
    total = pld.identity(value_discretization_interval=INTERVAL)
    for leaf, times in leaves(event):
        total = total.compose(_distribution(leaf, one_number=one_number).self_compose(times))
    epsilon = float(total.get_epsilon_for_delta(delta))
    if epsilon == inf:
        raise InvalidValue(
            f"At delta {delta} no epsilon holds for this batch; take a larger delta."
        )
    return epsilon


def _distribution(leaf: Event, *, one_number: bool) -> pld.PrivacyLossDistribution:
    match leaf:
        case LaplaceNoise(sensitivity, scale) if one_number and sensitivity.denominator == 1:
            return pld.from_discrete_laplace_mechanism(
                float(1 / scale), int(sensitivity), value_discretization_interval=INTERVAL
            )
        case GaussianNoise(square, variance) if one_number:
            return pld.from_discrete_gaussian_mechanism(
                float(variance) ** 0.5,
                int(float(square) ** 0.5),
                value_discretization_interval=INTERVAL,
            )
        case RandomisedResponse(truth, choices):
            other = float((1 - truth) * choices / (choices - 1))
            return pld.from_randomized_response(
                other, choices, value_discretization_interval=INTERVAL
            )
    cost = cost_of(leaf)
    if cost.epsilon is None:
        raise InvalidValue(
            f"{type(leaf).__name__} of several numbers has no loss distribution here; "
            "its rho adds up instead."
        )
    bound = common.DifferentialPrivacyParameters(float(cost.epsilon), float(cost.delta))
    return pld.from_privacy_parameters(bound, value_discretization_interval=INTERVAL)
