"""What reports lose where nobody can tell who sent which: computed, not quoted.

Among n reports that were shuffled, some of the others look as if they came from one of the two
answers that an attacker wonders about, and hide the one that did. How many do is binomial;
given that number, the loss is that of two shifted binomial laws, which has a closed form.
"""

from fractions import Fraction
from math import floor, sqrt

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import KAry
from tacit.local.oracle import Oracle, epsilon_of
from tacit.numeric import exact, exp_bounds, regularised_beta

WIDE = 8
"""Standard deviations around the mean number of clones that are looked at one by one."""

PARTS = 200
"""Into so many ranges is that number cut; each counts as its least, which loses most."""

SLACK = 1e-9
"""Of a delta: more than floating point can get wrong here."""

PRECISION = 2.0**-20
"""How near the epsilon that is found lies to the least one."""


def shuffled_epsilon(ratio: Fraction, clones: Fraction, people: int, delta: float) -> float:
    """The epsilon, at ``delta``, of ``people`` shuffled reports for one who changes an answer.

    ``clones`` is how likely another's report hides theirs, as `clones_of` says.

    Guarantee: an upper bound, rounded up; never above the epsilon of one report.
    Reference: Feldman, McMillan, Talwar 2021, theorem 3.2.

    Example:
        >>> coin = KAry(choices=2, ratio=Fraction(3))
        >>> round(shuffled_epsilon(coin.ratio, clones_of(coin), 10_000, 1e-6), 2)
        0.05
    """
    if people < 1 or not SLACK < delta < 1:
        raise InvalidValue(
            f"Shuffling needs 1 person or more and a delta in ({SLACK}, 1), and {people} and "
            f"{delta} were given."
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
    """How likely one person's report looks as if made from another's two answers, at least.

    For Warner's coin this is exact; for every other randomiser it is 1 / ratio.
    Reference: Feldman, McMillan, Talwar 2021, lemma 3.3.

    Example:
        >>> clones_of(KAry(choices=2, ratio=Fraction(2)))
        Fraction(2, 3)
    """
    if isinstance(oracle, KAry) and oracle.choices == 2:  # noqa: PLR2004 - Warner's
        return 2 / (1 + oracle.ratio)
    return 1 / oracle.ratio


def hockey_stick(clones: int, truth: float, bound: float) -> float:
    """The sum of max(0, P - bound * Q), P that of ``heads + coin`` and Q with the coin turned.

    The heads are those of ``clones`` fair coins, and the coin is 1 with probability ``truth``.
    P / Q rises with the outcome, so the sum is over all outcomes from some one up.

    Example:
        >>> round(hockey_stick(0, truth=0.75, bound=1), 9)
        0.5
    """
    lie = 1 - truth
    # P > bound * Q from where heads - 1 is that much likelier than heads
    if truth <= bound * lie:
        return 0.0
    least = (bound * truth - lie) / (truth - bound * lie)  # of outcome / (clones + 1 - outcome)
    start = floor(least * (clones + 1) / (1 + least)) + 1
    if start > clones + 1:
        return 0.0
    below, at = at_least(start - 1, clones), at_least(start, clones)
    return max(0.0, lie * at + truth * below - bound * (truth * at + lie * below))


def at_least(heads: int, coins: int) -> float:
    """The probability of so many heads or more.

    Example:
        >>> round(at_least(1, 2), 9)
        0.75
    """
    if heads <= 0:
        return 1.0
    return 0.0 if heads > coins else regularised_beta(0.5, heads, coins - heads + 1)


def _counts(others: int, clones: float) -> list[tuple[int, float]]:
    """Numbers of clones, each with the probability of it or of one that is not far above."""
    around = WIDE * sqrt(others * clones * (1 - clones)) + 1
    low, high = max(0, floor(others * clones - around)), floor(others * clones + around)
    step = max(1, (min(high, others) - low) // PARTS)
    starts = [0, *range(low or step, min(high, others) + 1, step)]
    tails = [_more(start, others, clones) for start in starts] + [0.0]
    return [(start, tails[i] - tails[i + 1]) for i, start in enumerate(starts)]


def _more(hits: int, draws: int, probability: float) -> float:
    """The probability of ``hits`` or more."""
    if hits <= 0:
        return 1.0
    return 0.0 if hits > draws else regularised_beta(probability, hits, draws - hits + 1)
