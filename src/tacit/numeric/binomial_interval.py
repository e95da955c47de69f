"""Bounds on the probability of an event, from how often it was seen: exact for every number."""

from math import exp, lgamma, log, log1p

from tacit.errors import InternalError, InvalidValue

LONGEST_FRACTION = 100_000
"""Terms of a continued fraction; it needs about the root of the number of draws."""

CLOSE = 1e-15
"""A term that changes a continued fraction by less is the last."""


def least_probability(hits: int, count: int, mistake: float) -> float:
    """A bound below the probability of an event, wrong with probability ``mistake`` at most.

    The probability at which so many hits or more are seen with probability ``mistake``.
    Reference: Clopper, Pearson 1934.

    Example:
        >>> round(least_probability(1, 1, 0.05), 9), least_probability(0, 10, 0.05)
        (0.05, 0.0)
    """
    if not 0 <= hits <= count or not 0 < mistake < 1:
        raise InvalidValue(
            "A bound needs 0 <= hits <= count and a mistake between 0 and 1, "
            f"and {hits}, {count} and {mistake} were given."
        )
    low, high = 0.0, float(hits > 0)
    while low < (middle := (low + high) / 2) < high:
        if regularised_beta(middle, hits, count - hits + 1) <= mistake:
            low = middle
        else:
            high = middle
    return low


def greatest_probability(hits: int, count: int, mistake: float) -> float:
    """A bound above the probability of an event, wrong with probability ``mistake`` at most.

    Example:
        >>> round(greatest_probability(0, 1, 0.05), 9), greatest_probability(10, 10, 0.05)
        (0.95, 1.0)
    """
    return 1 - least_probability(count - hits, count, mistake)


def regularised_beta(value: float, first: float, second: float) -> float:
    """The probability that a Beta(first, second) variable lies below ``value``, in (0, 1).

    For integers also that of ``first`` hits or more in ``first + second - 1`` draws. The
    relative error is that of `lgamma`, 10**-8 at ten million draws: far below what a bound can
    notice.
    Reference: DiDonato, Morris 1992, section 2 (the continued fraction).

    Example:
        >>> round(regularised_beta(0.5, 2, 2), 12)
        0.5
    """
    if (
        value * (first + second + 2) > first + 1
    ):  # the fraction converges fast on the other side
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
    """Of the incomplete beta function, by Lentz's method."""
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
    raise InternalError("The continued fraction of a beta law did not converge.")
