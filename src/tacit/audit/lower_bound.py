"""How much a mechanism loses at least, from how often an event was seen on two neighbours.

An event S that is seen with probability p on one neighbour and q on the other shows a loss of
log(p / q), or of log((p - delta) / q) where a delta is claimed. Neither probability is known,
but the hits among many draws bound p from below and q from above, each wrongly with half of
what the confidence leaves. The event must be fixed before the draws are made.
"""

from math import exp, lgamma, log, log1p
from statistics import NormalDist

from tacit.errors import InternalError, InvalidValue

LONGEST_FRACTION = 100_000
"""Terms of a continued fraction; it needs about the root of the number of draws."""

CLOSE = 1e-15
"""A term that changes a continued fraction by less is the last."""


def epsilon_lower_bound(  # noqa: PLR0913 - two sides, and how sure one is
    hits_left: int,
    count_left: int,
    hits_right: int,
    count_right: int,
    confidence: float,
    *,
    delta: float = 0,
) -> float:
    """The epsilon that the hits show at least, 0 where they show none.

    Guarantee: of an (epsilon, delta) mechanism the result is above epsilon with probability
    ``1 - confidence`` at most, for an event that was fixed before the draws.
    Reference: Clopper, Pearson 1934; Jagielski, Ullman, Oprea 2020, theorem 2.

    Example:
        >>> round(epsilon_lower_bound(731_059, 10**6, 268_941, 10**6, 0.999), 3)
        0.993
    """
    left = least_probability(hits_left, count_left, (1 - confidence) / 2)
    right = greatest_probability(hits_right, count_right, (1 - confidence) / 2)
    return max(0.0, log((left - delta) / right)) if left > delta else 0.0


def mu_lower_bound(
    hits_left: int, count_left: int, hits_right: int, count_right: int, confidence: float
) -> float:
    """The mu of Gaussian differential privacy that the hits show at least, 0 where none.

    Guarantee: of a mechanism no easier to test than N(0, 1) against N(mu, 1), the result is
    above mu with probability ``1 - confidence`` at most.
    Reference: Dong, Roth, Su 2022, definition 3 (Gaussian trade-off functions).

    Example:
        >>> round(mu_lower_bound(691_462, 10**6, 308_538, 10**6, 0.999), 3)
        0.991
    """
    left = least_probability(hits_left, count_left, (1 - confidence) / 2)
    right = greatest_probability(hits_right, count_right, (1 - confidence) / 2)
    if left <= 0 or right >= 1:
        return 0.0
    normal = NormalDist()
    return max(0.0, normal.inv_cdf(left) - normal.inv_cdf(right))


def one_run_lower_bound(right: int, guesses: int, confidence: float) -> float:
    """The epsilon that right guesses of fair coins show at least, 0 where they show none.

    Guarantee: where each coin decides about one unit, and all are guessed from one release of a
    pure epsilon, the result is above epsilon with probability ``1 - confidence`` at most.
    Reference: Steinke, Nasr, Jagielski 2023, section 5 (where delta is 0): many right guesses
    are no likelier than as many heads of coins that show them with 1 / (1 + e**-epsilon).

    Example:
        >>> round(one_run_lower_bound(73_106, 10**5, 0.999), 3)
        0.978
    """
    fair = least_probability(right, guesses, 1 - confidence)
    return max(0.0, log(fair / (1 - fair))) if fair else 0.0


def expected_lower_bound(
    left: float, right: float, count: int, confidence: float, delta: float = 0
) -> float:
    """What an honest mechanism is expected to show, computed before any draw.

    ``left`` and ``right`` are the exact probabilities of the event on the two neighbours, each
    of which is drawn ``count`` times.

    Example:
        >>> round(expected_lower_bound(1 / (1 + exp(-1)), 1 / (1 + exp(1)), 10**5, 0.999), 2)
        0.98
    """
    hits = round(left * count), round(right * count)
    return epsilon_lower_bound(hits[0], count, hits[1], count, confidence, delta=delta)


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
