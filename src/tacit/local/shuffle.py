"""Privacy amplification by shuffling: the epsilon of reports whose senders are unknown.

An attacker tries to find out which of two answers a person gave. Among the shuffled reports of
all people, some have the same distribution as a report of one of these two answers. These
clones hide the person's report. Their number is binomial. Given their number, the loss is the
divergence between two shifted binomial distributions, which has a closed form.
"""

from fractions import Fraction
from math import floor, sqrt

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import KAry
from tacit.local.oracle import Oracle, epsilon_of
from tacit.numeric import exact, exp_bounds, regularised_beta

WIDE = 8
"""The range of the number of clones that is computed, in standard deviations from its mean."""

PARTS = 200
"""Number of intervals of that range; each counts as its lowest value, with the largest loss."""

SLACK = 1e-9
"""The part of a delta that is reserved for rounding errors of floats, which are smaller."""

PRECISION = 2.0**-20
"""The precision of the computed epsilon."""


def shuffled_epsilon(ratio: Fraction, clones: Fraction, people: int, delta: float) -> float:
    """Return the epsilon at ``delta`` of the shuffled reports of ``people``.

    Neighbours differ in the answer of one person. ``clones`` is the probability that the report
    of another person is a clone, as `clones_of` returns it.

    Guarantee: an upper bound, rounded up, which never exceeds the epsilon of one report.
    Reference: Feldman, McMillan, Talwar 2021, theorem 3.2.

    Example:
        >>> coin = KAry(choices=2, ratio=Fraction(3))
        >>> round(shuffled_epsilon(coin.ratio, clones_of(coin), 10_000, 1e-6), 2)
        0.05
    """
    if people < 1 or not SLACK < delta < 1:
        raise InvalidValue(
            f"Shuffling needs at least 1 person and a delta between {SLACK} and 1, but "
            f"{people} and {delta} were given."
        )
    counts = _counts(people - 1, float(clones))
    truth = float(ratio / (1 + ratio))
    low, high = 0.0, float(epsilon_of(ratio))
    while high - low > PRECISION:
        middle = (low + high) / 2
        bound = float(exp_bounds(exact(middle))[0])
        found = sum(mass * hockey_stick(count, truth, bound) for count, mass in counts)
        if found * (1 + SLACK) + SLACK <= delta:
            high = middle
        else:
            low = middle
    return high


def clones_of(oracle: Oracle) -> Fraction:
    """Return a lower bound on the probability that a report is a clone.

    For randomised response with two answers, the bound is exact; for any other randomiser, it
    is 1 / ratio.
    Reference: Feldman, McMillan, Talwar 2021, lemma 3.3.

    Example:
        >>> clones_of(KAry(choices=2, ratio=Fraction(2)))
        Fraction(2, 3)
    """
    if isinstance(oracle, KAry) and oracle.choices == 2:  # noqa: PLR2004 - Warner's
        return 2 / (1 + oracle.ratio)
    return 1 / oracle.ratio


def hockey_stick(clones: int, truth: float, bound: float) -> float:
    """Return the hockey-stick divergence between two shifted binomial distributions.

    It is the sum of max(0, P - bound * Q) over all outcomes. P is the distribution of the
    number of heads of ``clones`` fair coins plus one coin that is 1 with probability ``truth``,
    and Q is the same with the last coin reversed. P / Q increases with the outcome, so the sum
    is over all outcomes from some outcome on.

    Example:
        >>> round(hockey_stick(0, truth=0.75, bound=1), 9)
        0.5
    """
    lie = 1 - truth
    # P > bound * Q holds for outcomes with outcome / (clones + 1 - outcome) above ``least``
    if truth <= bound * lie:
        return 0.0
    least = (bound * truth - lie) / (truth - bound * lie)
    start = floor(least * (clones + 1) / (1 + least)) + 1
    if start > clones + 1:
        return 0.0
    below, at = at_least(start - 1, clones), at_least(start, clones)
    return max(0.0, lie * at + truth * below - bound * (truth * at + lie * below))


def at_least(heads: int, coins: int) -> float:
    """Return the probability of at least ``heads`` heads in ``coins`` fair coins.

    Example:
        >>> round(at_least(1, 2), 9)
        0.75
    """
    if heads <= 0:
        return 1.0
    return 0.0 if heads > coins else regularised_beta(0.5, heads, coins - heads + 1)


def _counts(others: int, clones: float) -> list[tuple[int, float]]:
    """Return the lowest number of clones in each interval, and the interval's probability."""
    around = WIDE * sqrt(others * clones * (1 - clones)) + 1
    low, high = max(0, floor(others * clones - around)), floor(others * clones + around)
    step = max(1, (min(high, others) - low) // PARTS)
    starts = [0, *range(low or step, min(high, others) + 1, step)]
    tails = [_more(start, others, clones) for start in starts] + [0.0]
    return [(start, tails[i] - tails[i + 1]) for i, start in enumerate(starts)]


def _more(hits: int, draws: int, probability: float) -> float:
    """Return the probability of at least ``hits`` successes in ``draws`` draws."""
    if hits <= 0:
        return 1.0
    return 0.0 if hits > draws else regularised_beta(probability, hits, draws - hits + 1)
