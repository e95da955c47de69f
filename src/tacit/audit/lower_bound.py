"""How much a mechanism loses at least, from how often an event was seen on two neighbours.

An event S that is seen with probability p on one neighbour and q on the other shows a loss of
log(p / q), or of log((p - delta) / q) where a delta is claimed. Neither probability is known,
but the hits among many draws bound p from below and q from above, each wrongly with half of
what the confidence leaves. The event must be fixed before the draws are made.
"""

from math import log
from statistics import NormalDist

from tacit.numeric.clopper_pearson import greatest_probability, least_probability


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
        >>> round(expected_lower_bound(0.731059, 0.268941, 10**5, 0.999), 2)
        0.98
    """
    hits = round(left * count), round(right * count)
    return epsilon_lower_bound(hits[0], count, hits[1], count, confidence, delta=delta)
