"""What may be printed about a whole budget: one epsilon, one delta, for all that ever left."""

from fractions import Fraction
from functools import lru_cache

from tacit.accounting.convert import epsilon_of_rho, rho_within
from tacit.core.budget import Budget
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.numeric.exact import Number, ceil_to, exact, floor_to

PRINTED = Fraction(1, 10**6)
"""An epsilon that is printed for a rho is a multiple of this, rounded up."""


@lru_cache(maxsize=1024)
def promised(loss: Loss, conversion_delta: Fraction) -> Loss:
    """The (epsilon, delta) of everything within ``loss``, a cap or what was spent of it.

    Guarantee: at the cap, however each question was chosen after the answers so far. At the
    amount spent it is information: whoever stops because of an answer is promised the cap.
    Reference: Whitehouse, Ramdas, Rogers, Wu 2023, theorem 1 (the filter, with delta); Canonne,
    Kamath, Steinke 2020, proposition 12 (the conversion).

    Example:
        >>> print(promised(Loss.zcdp("0.1", "1e-7"), Fraction(1, 10**6)))
        ε = 2.141939, δ = 0.0000011
    """
    if loss.measure is not Measure.ZCDP:
        return loss
    epsilon = ceil_to(epsilon_of_rho(loss.amount, conversion_delta), PRINTED)
    return Loss(Measure.APPROXIMATE, epsilon, loss.delta + conversion_delta)


def budget_within(epsilon: Number, delta: Number) -> Budget:
    """A budget in rho whose printed total is at most ``epsilon`` and ``delta``.

    Half of delta is for mechanisms that charge one, such as key selection, and half for the
    conversion.

    Example:
        >>> budget = budget_within(3, "1e-6")
        >>> total = promised(budget.cap, budget.conversion_delta)
        >>> total.amount <= 3, total.delta
        (True, Fraction(1, 1000000))
    """
    most, half = floor_to(exact(epsilon), PRINTED), exact(delta) / 2
    if most <= 0 or not 0 < half < Fraction(1, 2):
        raise InvalidValue(
            f"A budget has an epsilon above 0 and a delta between 0 and 1, not {epsilon!r} "
            f"and {delta!r}."
        )
    return Budget(Loss(Measure.ZCDP, rho_within(most, half), half), half)
