"""Many selections by the exponential mechanism, all fixed in advance.

Tighter than any filter.
"""

from math import comb, exp, inf

STEPS = 2000
"""Points of the worst pair's parameter that are tried; the curve is smooth between them."""


def selections_delta(epsilon: float, times: int, total: float) -> float:
    """The delta at ``total`` of so many selections of ``epsilon``, fixed before any answer.

    A selection is at worst a pair of outcomes with losses t and t - epsilon, the same t for
    all; the worst t is searched for. An analyst who picks the next selection after an answer
    can do worse: a budget uses rho = epsilon**2 / 8 instead.
    Reference: Dong, Durfee, Rogers 2020, theorem 3.

    Example:
        >>> selections_delta(0.1, 52, 1.5673) < 1e-6 * 1.01
        True
    """
    return max(_at(epsilon, times, total, epsilon * step / STEPS) for step in range(1, STEPS))


def selections_epsilon(epsilon: float, times: int, delta: float) -> float:
    """The least total epsilon of so many selections at ``delta``, fixed before any answer.

    Example:
        >>> round(selections_epsilon(0.1, 52, 1e-6), 2)
        1.57
    """
    low, high = 0.0, epsilon * times
    for _ in range(40):
        middle = (low + high) / 2
        if selections_delta(epsilon, times, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _at(epsilon: float, times: int, total: float, top: float) -> float:
    """The delta for one worst pair: outcomes with losses ``top`` and ``top - epsilon``."""
    right = (1 - exp(top - epsilon)) / (exp(top) - exp(top - epsilon))
    left = right * exp(top)
    found = 0.0
    for hits in range(times, -1, -1):
        loss = hits * top + (times - hits) * (top - epsilon)
        if loss <= total:
            break
        chance = comb(times, hits) * left**hits * (1 - left) ** (times - hits)
        found += chance * (1 - exp(total - loss))
    return found if found < inf else 1.0
