"""Conversions between measures of privacy loss, and the totals that may be printed.

A conversion only ever loosens: an event that satisfies the given loss satisfies the converted
one. The best parameter of a conversion, such as its Renyi order, is searched in floats; the
result is then computed at that parameter in exact arithmetic and rounded toward more loss, so
that an imprecise search costs tightness and never correctness.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, log, log1p

from tacit.core import Budget, BudgetSummary, Loss, Measure, loss_text
from tacit.errors import InvalidValue
from tacit.numeric import Number, ceil_to, exact, exp_bounds, floor_to, log_bounds

# Search --------------------------------------------------------------------------------------

SECTIONS = 80
"""Number of golden sections, after which an interval of length 100 is as narrow as floats."""


def least_at(function: Callable[[float], float], lowest: float, highest: float) -> float:
    """Return a point near the minimum of a unimodal function, by golden-section search.

    The callers use it for bounds that are valid at every point, so that an imprecise minimum is
    correct and only less tight.

    Example:
        >>> round(least_at(lambda x: (x - 3) ** 2, 0, 10), 6)
        3.0
    """
    golden = (5**0.5 - 1) / 2
    left, right = highest - golden * (highest - lowest), lowest + golden * (highest - lowest)
    at_left, at_right = function(left), function(right)
    for _ in range(SECTIONS):
        if at_left <= at_right:
            highest, right, at_right = right, left, at_left
            left = highest - golden * (highest - lowest)
            at_left = function(left)
        else:
            lowest, left, at_left = left, right, at_right
            right = lowest + golden * (highest - lowest)
            at_right = function(right)
    return (lowest + highest) / 2


def least_that(
    holds: Callable[[Fraction], bool], unit: Fraction, near: Fraction = Fraction(0)
) -> Fraction:
    """Return the least positive multiple of ``unit`` from which on a condition is true.

    The search starts at ``near`` and moves away from it in steps that double, so that it is
    short if ``near`` is close to the result. The result does not depend on it.

    Example:
        >>> least_that(lambda x: x * x >= 2, Fraction(1, 100))
        Fraction(71, 50)
        >>> least_that(lambda x: x * x >= 2, Fraction(1, 100), near=Fraction("1.5"))
        Fraction(71, 50)
    """
    low = high = max(1, floor(near / unit))
    step = 1
    if holds(high * unit):
        low = high - 1
        while low > 0 and holds(low * unit):
            low, high, step = max(0, low - 2 * step), low, 2 * step
    else:
        high = low + 1
        while not holds(high * unit):
            low, high, step = high, high + 2 * step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle * unit):
            high = middle
        else:
            low = middle
    return high * unit


# Conversions ---------------------------------------------------------------------------------

RHO_UNIT = Fraction(1, 10**12)
"""Step of a computed rho, which is rounded down to a multiple of it."""


def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta), at the best Renyi order.

    Guarantee: the result is valid and never below the exact conversion, because for every order
    a > 1, epsilon = a * rho + (log(1 / delta) + a * log(1 - 1 / a) - log(a - 1)) / (a - 1) is
    valid.
    Reference: Canonne, Kamath, Steinke 2020, proposition 12.

    Example:
        >>> round(float(epsilon_of_rho(Fraction(1, 10), Fraction(1, 10**6))), 3)
        2.142
    """
    _is_delta(delta)
    if rho == 0:
        return Fraction(0)
    log_delta, loss = log(delta.numerator) - log(delta.denominator), float(rho)

    def near(order_log: float) -> float:
        order = 1 + exp(order_log)
        return order * loss + (order * log1p(-1 / order) - log_delta - order_log) / (order - 1)

    order = 1 + Fraction(exp(least_at(near, -30.0, 60.0)))
    return max(Fraction(0), _at_order(rho, delta, order))


def delta_of_rho(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta such that rho-zCDP implies (epsilon, delta), at a good Renyi order.

    Guarantee: the result is never below the exact conversion, and at most 1.

    Example:
        >>> float(delta_of_rho(Fraction(1, 10), Fraction("2.142"))) < 1.01e-6
        True
    """
    if rho == 0:
        return Fraction(0)
    loss, bound = float(rho), float(epsilon)

    def near(order_log: float) -> float:
        order = 1 + exp(order_log)
        return (order - 1) * (order * loss - bound) + order * log1p(-1 / order) - order_log

    order = 1 + Fraction(exp(least_at(near, -30.0, 60.0)))
    return min(Fraction(1), exp_bounds(min(_log_delta(rho, epsilon, order), Fraction(0)))[1])


@lru_cache(maxsize=256)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, to 10**-12, that implies ``epsilon`` at ``delta``.

    Example:
        >>> rho = rho_within(Fraction(1), Fraction(1, 10**6))
        >>> epsilon_of_rho(rho, Fraction(1, 10**6)) <= 1 < epsilon_of_rho(
        ...     rho * 2, Fraction(1, 10**6)
        ... )
        True
    """
    # rho <= epsilon if delta < 1 / 2; for a larger delta, no rho above epsilon is considered
    low, high = 0, (epsilon / RHO_UNIT).__ceil__()
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon_of_rho(middle * RHO_UNIT, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low * RHO_UNIT


def convert(loss: Loss, measure: Measure, delta: Fraction = Fraction(0)) -> Loss:
    """Convert ``loss`` to another measure; from zCDP to epsilon, ``delta`` is added to delta.

    Guarantee: an event that satisfies ``loss`` satisfies the result.

    Example:
        >>> print(convert(Loss.pure("0.1"), Measure.ZCDP))
        ρ = 0.005
    """
    match loss.measure, measure:
        case (same, other) if same is other:
            return loss
        case (Measure.PURE, Measure.APPROXIMATE):
            return Loss(measure, loss.amount)
        case (Measure.PURE | Measure.APPROXIMATE, Measure.ZCDP):
            return Loss(measure, loss.amount**2 / 2, loss.delta)
        case (Measure.ZCDP, Measure.APPROXIMATE):
            return Loss(measure, epsilon_of_rho(loss.amount, delta), loss.delta + delta)
    raise InvalidValue(
        f"A loss in {loss.measure.value} cannot be converted to {measure.value}: a guarantee "
        "with a delta implies no pure epsilon. Use a budget in rho, or in epsilon with delta."
    )


def _at_order(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return the epsilon of the conversion at one order, rounded up."""
    inner = (
        log_bounds(1 / delta)[1]
        + order * log_bounds(1 - 1 / order)[1]
        - log_bounds(order - 1)[0]
    )
    return order * rho + inner / (order - 1)


def _log_delta(rho: Fraction, epsilon: Fraction, order: Fraction) -> Fraction:
    """Return the logarithm of the delta of the conversion at one order, rounded up."""
    return (
        (order - 1) * (order * rho - epsilon)
        + order * log_bounds(1 - 1 / order)[1]
        - log_bounds(order - 1)[0]
    )


def _is_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise InvalidValue(f"A conversion needs a delta between 0 and 1, and {delta} is not.")


# Parts of delta ------------------------------------------------------------------------------
#
# Who gets which part of delta; docs/privacy/curves.md has the same table.
#
#   the delta of            part           is for
#   a budget in rho         KEYS_PART      releases that need a delta, such as secret keys
#                           the rest       the conversion of rho to an epsilon
#   a question              all            the selection of its keys, if they are secret
#                           equal parts    its numbers, if not; only under (epsilon, delta)
#   a selection of keys     NOISE_PART     the curve of Gaussian noise, under (epsilon, delta)
#                           the rest       that a key of a single unit is shown

KEYS_PART = Fraction(1, 100)
"""Part of a budget's delta for releases that need a delta.

A threshold for keys grows with the square root of log(1 / delta), and by less than a sixth from
one half to a hundredth. The noise of all answers falls by the rest, which the conversion gets.
"""

FIRST_KEYS_PART = Fraction(1, 2)
"""The `KEYS_PART` of version 0.1.0. Ledgers that were opened with it keep it."""

NOISE_PART = Fraction(1, 2)
"""Part of the delta of a key selection for its Gaussian noise, under (epsilon, delta)."""


# Totals of a budget --------------------------------------------------------------------------

PRINTED = Fraction(1, 10**6)
"""Step of the epsilon that is printed for a rho; it is rounded up to a multiple of it."""


@lru_cache(maxsize=1024)
def to_approximate_dp(loss: Loss, conversion_delta: Fraction) -> Loss:
    """Return the (epsilon, delta) of all releases within ``loss``, a cap or an amount spent.

    Guarantee: for the cap, the result holds even if each question is chosen after seeing all
    earlier answers. For the amount spent, it is only information: the decision to stop may
    depend on the answers, and then the guarantee is the one of the cap.
    Reference: Whitehouse, Ramdas, Rogers, Wu 2023, theorem 1 (the filter, with delta); Canonne,
    Kamath, Steinke 2020, proposition 12 (the conversion).

    Example:
        >>> print(to_approximate_dp(Loss.zcdp("0.1", "1e-7"), Fraction(1, 10**6)))
        ε = 2.141939, δ = 0.0000011
    """
    if loss.measure is not Measure.ZCDP:
        return loss
    epsilon = ceil_to(epsilon_of_rho(loss.amount, conversion_delta), PRINTED)
    return Loss(Measure.APPROXIMATE, epsilon, loss.delta + conversion_delta)


def show_loss(
    loss: Loss,
    conversion_delta: Fraction,
    *,
    rho_first: bool = False,
    down: bool = False,
    whole: bool = False,
) -> str:
    """Return ``loss`` as text: its epsilon at the delta of its budget, and its rho in brackets.

    The rest of a budget is rounded ``down``; other losses are rounded up. The ``whole`` delta
    includes that of the conversion: only with it does the printed epsilon hold.

    Example:
        >>> print(show_loss(Loss.zcdp("0.1"), Fraction(1, 10**6)))
        epsilon 2.141939 (rho 0.1)
        >>> print(show_loss(Loss.zcdp("0.1"), Fraction(1, 10**6), rho_first=True, down=True))
        rho 0.1 (epsilon 2.141938)
        >>> print(show_loss(Loss.zcdp("0.1"), Fraction(1, 10**6), whole=True))
        epsilon 2.141939, delta 0.000001 (rho 0.1)
    """
    epsilon = None
    if loss.measure is Measure.ZCDP and conversion_delta:
        epsilon = _epsilon_shown(loss.amount, conversion_delta)
        if whole:
            loss = replace(loss, delta=to_approximate_dp(loss, conversion_delta).delta)
    return loss_text(loss, epsilon, rho_first=rho_first, down=down)


def with_epsilon(summary: BudgetSummary, *, rho_first: bool = False) -> BudgetSummary:
    """Return a budget summary that prints its cost as an epsilon too, in the given order."""
    delta = summary.promised.delta - summary.cap.delta  # the delta of the conversion
    if summary.cost.measure is not Measure.ZCDP or not 0 < delta < 1:
        return summary
    epsilon = _epsilon_shown(summary.cost.amount, delta)
    return replace(summary, epsilon=epsilon, rho_first=rho_first)


@lru_cache(maxsize=1024)
def _epsilon_shown(rho: Fraction, delta: Fraction) -> Fraction:
    return epsilon_of_rho(rho, delta)


def budget_within(
    epsilon: Number, delta: Number, recorded_delta: Fraction | None = None
) -> Budget:
    """Return a budget in rho whose printed total is at most ``epsilon`` and ``delta``.

    `KEYS_PART` of delta is for mechanisms that need a delta, such as key selection, and the
    rest is for the conversion. ``recorded_delta`` is the conversion delta of a ledger that
    already has a budget. If that is half of delta, delta is divided as in version 0.1.0.

    Example:
        >>> budget = budget_within(3, "1e-6")
        >>> total = to_approximate_dp(budget.cap, budget.conversion_delta)
        >>> total.amount <= 3, total.delta, budget.cap.delta
        (True, Fraction(1, 1000000), Fraction(1, 100000000))
        >>> budget_within(3, "1e-6", recorded_delta=Fraction(1, 2 * 10**6)).cap.delta
        Fraction(1, 2000000)
    """
    most, whole = floor_to(exact(epsilon), PRINTED), exact(delta)
    if most <= 0 or not 0 < whole < 1:
        raise InvalidValue(
            "A budget needs an epsilon above 0 and a delta between 0 and 1; "
            f"{epsilon!r} and {delta!r} were given."
        )
    first = recorded_delta == whole * (1 - FIRST_KEYS_PART)
    for_keys = whole * (FIRST_KEYS_PART if first else KEYS_PART)
    rest = whole - for_keys
    return Budget(Loss(Measure.ZCDP, rho_within(most, rest), for_keys), rest)
