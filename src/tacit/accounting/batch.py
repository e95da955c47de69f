"""Batches fixed in advance: the least epsilon over all accountants that apply."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.composition import leaves
from tacit.accounting.convert import epsilon_of_rho
from tacit.accounting.cost import cost_of
from tacit.accounting.renyi import UNIT, renyi_of
from tacit.core.event import Event
from tacit.errors import InvalidValue
from tacit.numeric.exact import ceil_to, log_bounds

ORDERS = [1 + Fraction(round(1024 * 2 ** (quarter / 4)), 1024) for quarter in range(-12, 44)]
"""Rényi orders that are tried."""


@dataclass(frozen=True, slots=True)
class Report:
    """An epsilon at a delta, and which accountant found it."""

    epsilon: Fraction
    delta: Fraction
    by: str


def report(event: Event, delta: Fraction) -> Report:
    """The least epsilon that some accountant shows for ``event`` at ``delta``.

    Guarantee: valid where the whole event was fixed before any answer was seen. It informs of
    a batch and is never a filter: an analyst who picks each question after the last answer can
    pass a cap that is checked in this way.

    Example:
        >>> from tacit.core.event import Repeated
        >>> from tacit.core.noise_event import LaplaceNoise
        >>> weekly = Repeated(LaplaceNoise(Fraction(1), Fraction(10)), 52)
        >>> best = report(weekly, Fraction(1, 10**6))
        >>> round(float(best.epsilon), 2), best.by
        (3.44, 'Rényi')
    """
    costs = [(cost_of(leaf), times) for leaf, times in leaves(event)]
    lost = sum((cost.delta * times for cost, times in costs), Fraction(0))
    if delta < lost:
        raise InvalidValue(
            f"The batch loses a delta of {float(lost):.3g} by itself; ask for more."
        )
    found = []
    epsilons = [cost.epsilon * times for cost, times in costs if cost.epsilon is not None]
    if len(epsilons) == len(costs):
        found.append(Report(sum(epsilons, Fraction(0)), lost, "basic"))
    if delta > lost:
        rho = sum((cost.rho * times for cost, times in costs), Fraction(0))
        found.append(Report(epsilon_of_rho(rho, delta - lost), delta, "zCDP"))
        if not lost:
            best = min(renyi_of(event, order) + _conversion(order, delta) for order in ORDERS)
            found.append(Report(max(best, Fraction(0)), delta, "Rényi"))
    if not found:
        raise InvalidValue(
            "This batch has no pure loss; ask for its epsilon at a delta above 0."
        )
    return min(found, key=lambda entry: entry.epsilon)


@lru_cache(maxsize=1024)
def _conversion(order: Fraction, delta: Fraction) -> Fraction:
    """What a Rényi loss of ``order`` adds to become an epsilon at ``delta``, rounded up.

    Reference: Canonne, Kamath, Steinke 2020, proposition 12.
    """
    inner = log_bounds(1 / delta)[1] - log_bounds(order)[0]
    return ceil_to(log_bounds(1 - 1 / order)[1] + inner / (order - 1), UNIT)
