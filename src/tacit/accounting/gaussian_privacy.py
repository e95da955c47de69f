"""Gaussian differential privacy: the mu of events whose noise is all Gaussian.

An event has mu-GDP if telling neighbours apart is at least as hard as telling the normal
distributions N(0, 1) and N(mu, 1) apart. The squares of the mu of single releases add up.
"""

from fractions import Fraction
from functools import lru_cache
from math import exp, inf, sqrt
from statistics import NormalDist

from tacit import core
from tacit.accounting.pricing import leaves
from tacit.numeric import ceil_to

MU_UNIT = Fraction(1, 10**6)
"""Step to which a mu is rounded up."""

MARGIN = 1e-9
"""Relative margin that is added to a mu; it is far above the error of floats."""

COARSE = 64.0
"""Standard deviation above which a bound replaces the search for the factor."""

BODY = 1e-15
"""Outcomes of a smaller probability do not count: the margins of curves cover them."""


def gaussian_mu(event: core.Event) -> Fraction | None:
    """Return the mu of Gaussian differential privacy of ``event``, rounded up, or None.

    It is None unless all noise is Gaussian. The squares of the mu of single releases add up,
    also if each release is chosen after the answers before it. The law of discrete Gaussian
    noise makes mu larger than sensitivity / scale, by `discrete_factor`.

    Reference: Dong, Roth, Su 2022, corollary 3.3; Smith, Thakurta 2022 (adaptive choice).

    Example:
        >>> gaussian_mu(core.RealGaussianNoise(Fraction(1), Fraction(4)))
        Fraction(500001, 1000000)
        >>> gaussian_mu(core.LaplaceNoise(Fraction(1), Fraction(1))) is None
        True
    """
    return mu_of_square(mu_square(event))


def mu_of_square(total: float | None) -> Fraction | None:
    """Return the mu of releases whose squares of mu add up to ``total``, rounded up.

    It is None if the total is None or zero: then some noise is not Gaussian, or there is none.
    """
    if not total:
        return None
    return ceil_to(Fraction(sqrt(total) * (1 + MARGIN)), MU_UNIT)


def mu_square(event: core.Event) -> float | None:
    """Return the squared mu of ``event``, or None if not all of its noise is Gaussian.

    It is None as well if the noise is so small that almost every output is exact.
    """
    total = 0.0
    for leaf, times in leaves(event):
        match leaf:
            case core.GaussianNoise(square, variance):
                factor = discrete_factor(float(variance))
                if factor == inf:
                    return None
                total += times * float(square / variance) * factor**2
            case core.RealGaussianNoise(square, variance):
                total += times * float(square / variance)
            case _:
                return None
    return total


@lru_cache(maxsize=1024)
def discrete_factor(variance: float) -> float:
    """Return the factor of mu for discrete Gaussian noise with this ``variance``.

    For a move by one integer, the best tests are "the output is at least y". Let q(y) be the
    normal quantile of the probability of that. Then mu is the largest q(y) - q(y - 1). A move
    by more integers is a sum of such moves, so that mu grows at most in proportion. For a large
    variance the factor tends to 1 + 1 / (24 * variance), as if the noise were a rounded
    Gaussian.

    Example:
        >>> 1 < discrete_factor(100.0) < 1.001 < discrete_factor(1.0) < 1.1
        True
    """
    scale = sqrt(variance)
    if scale > COARSE:
        return 1 + 1 / (20 * variance)
    weights = [exp(-(y**2) / (2 * variance)) for y in range(int(40 * scale) + 40)]
    total, tail, beyond = 2 * sum(weights) - 1, 0.0, []
    for weight in reversed(weights):
        tail += weight
        beyond.append(tail / total)
    beyond.reverse()  # the probability of y or more, for y = 0, 1, ...
    normal, last, largest = NormalDist(), 0.0, 0.0
    place = 1
    while place == 1 or beyond[place - 1] > BODY:
        if not beyond[place]:
            return inf
        found = -normal.inv_cdf(beyond[place])
        # q(0) = -q(1), because the noise is symmetric
        largest = max(largest, 2 * found if place == 1 else found - last)
        last, place = found, place + 1
    return max(1.0, largest * scale) * (1 + MARGIN)
