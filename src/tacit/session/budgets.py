"""What an owner wrote that may be spent, as the ledger counts it."""

from dataclasses import replace

from tacit.accounting.promise import budget_within
from tacit.core.budget import Budget
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.ledger.status import Status
from tacit.project.allowance import Allowance
from tacit.session.amount import loss_for


def budget_of(allowed: Allowance) -> Budget:
    """A rho with its delta; an epsilon with the delta of everything; or a pure epsilon.

    Example:
        >>> from fractions import Fraction
        >>> print(budget_of(Allowance(epsilon=Fraction(1))).cap)
        ε = 1
    """
    if allowed.rho is not None:
        cap = Loss(Measure.ZCDP, allowed.rho, allowed.delta)
        return Budget(cap, allowed.conversion_delta)
    if allowed.epsilon is not None and allowed.delta:
        return budget_within(allowed.epsilon, allowed.delta)
    return Budget(Loss.pure(allowed.epsilon or 0))


def quota_of(allowed: Allowance, status: Status) -> Loss:
    """A quota in the measure of the budget; without a delta it has all that the cap has."""
    loss = loss_for(status.terms, allowed.epsilon, allowed.rho, allowed.delta)
    return loss if loss.delta else replace(loss, delta=status.cap.delta)
