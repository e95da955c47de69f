"""Exact (Clopper-Pearson) confidence bounds on a probability, and quantiles of Student's t.

The bounds hold for every sample size. Both are computed from the incomplete beta function.
"""

from functools import lru_cache
from math import exp, lgamma, log, log1p

from tacit.errors import InternalError, InvalidValue

LONGEST_FRACTION = 100_000
"""Maximum number of terms of a continued fraction.

It needs about as many terms as the square root of the number of draws.
"""

BISECTIONS = 60
"""Number of bisections, after which the ends of an interval are as near as floats are."""

CLOSE = 1e-15
"""Relative change of a continued fraction below which the computation stops."""


def least_probability(hits: int, count: int, mistake: float) -> float:
    """Return a lower bound on a probability that fails with probability at most ``mistake``.

    It is the probability at which ``hits`` or more hits in ``count`` draws have the probability
    ``mistake``.
    Reference: Clopper, Pearson 1934.

    Example:
        >>> round(least_probability(1, 1, 0.05), 9), least_probability(0, 10, 0.05)
        (0.05, 0.0)
    """
    if not 0 <= hits <= count or not 0 < mistake < 1:
        raise InvalidValue(
            "A bound needs 0 <= hits <= count and a mistake between 0 and 1, but "
            f"hits={hits}, count={count} and mistake={mistake} were given."
        )
    low, high = 0.0, float(hits > 0)
    while low < (middle := (low + high) / 2) < high:
        if regularised_beta(middle, hits, count - hits + 1) <= mistake:
            low = middle
        else:
            high = middle
    return low


def greatest_probability(hits: int, count: int, mistake: float) -> float:
    """Return an upper bound on a probability that fails with probability at most ``mistake``.

    Example:
        >>> round(greatest_probability(0, 1, 0.05), 9), greatest_probability(10, 10, 0.05)
        (0.95, 1.0)
    """
    return 1 - least_probability(count - hits, count, mistake)


def regularised_beta(value: float, first: float, second: float) -> float:
    """Return the probability that a Beta(first, second) variable is below ``value``, in (0, 1).

    For integers it is also the probability of ``first`` hits or more in ``first + second - 1``
    draws. The relative error is the error of `lgamma`: 10**-8 at ten million draws, which is
    too small to matter for a bound.
    Reference: DiDonato, Morris 1992, section 2 (the continued fraction).

    Example:
        >>> round(regularised_beta(0.5, 2, 2), 12)
        0.5
    """
    # the continued fraction converges fast only on one side, so use the symmetry on the other
    if value * (first + second + 2) > first + 1:
        return 1 - regularised_beta(1 - value, second, first)
    factor = exp(
        lgamma(first + second)
        - lgamma(first)
        - lgamma(second)
        + first * log(value)
        + second * log1p(-value)
    )
    return factor / first * _continued_fraction(value, first, second)


def _continued_fraction(value: float, first: float, second: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    upper, lower = 1.0, 1 / (1 - (first + second) * value / (first + 1))
    found = lower
    for term in range(1, LONGEST_FRACTION):
        place = first + 2 * term
        even = term * (second - term) * value / ((place - 1) * place)
        odd = -(first + term) * (first + second + term) * value / (place * (place + 1))
        before = found
        for part in (even, odd):
            lower = 1 / (1 + part * lower)
            upper = 1 + part / upper
            found *= upper * lower
        if found == before or abs(found / before - 1) < CLOSE:
            return found
    raise InternalError("The continued fraction of the beta function did not converge.")


@lru_cache(maxsize=256)
def student_quantile(confidence: float, degrees: int) -> float:
    """Return the number that the size of a Student variable exceeds rarely.

    It exceeds the number with probability 1 - ``confidence``.

    Example:
        >>> round(student_quantile(0.95, 29), 4), round(student_quantile(0.95, 1), 3)
        (2.0452, 12.706)
    """
    if not 0 < confidence < 1 or degrees < 1:
        raise InvalidValue(
            f"A quantile needs a confidence between 0 and 1, and at least one degree of "
            f"freedom, but {confidence} and {degrees} were given."
        )

    def tail(value: float) -> float:
        return regularised_beta(degrees / (degrees + value * value), degrees / 2, 0.5)

    low, high = 0.0, 1.0
    while tail(high) > 1 - confidence:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - confidence else (low, middle)
    return high
