"""How far what a stream shows can lie from the exact number of its window."""

from fractions import Fraction
from math import ceil, log, log1p, sqrt
from statistics import NormalDist

from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace

MARGIN = 1 + 1e-9
"""More than the floats of a deviation can be wrong by."""

RATES = [place / 1000 for place in range(1, 1000)]
"""Where the bound on a tail is looked for, as parts of the rate of one draw."""


def reach(
    noise: Gaussian | Laplace, spread: float, bits: int, horizon: int, confidence: Fraction
) -> Fraction:
    """What a shown number errs by at most, with this probability, in steps of its grid.

    ``spread`` is the deviation of what is shown, in deviations of a draw.

    Example:
        >>> reach(Laplace(Fraction(10)), 1.0, 0, 52, Fraction("0.95"))
        Fraction(30, 1)
    """
    if spread == 1 and not bits:
        return noise.error(confidence)
    if isinstance(noise, Laplace):
        return Fraction(_of_laplace(float(noise.scale), spread**2, float(1 - confidence)))
    deviation = sqrt(noise.variance) * spread * MARGIN
    found = deviation * NormalDist().inv_cdf(float(1 + confidence) / 2)
    # whole noise has whole reaches; other is rounded at each step, and mostly forgets it
    return Fraction(ceil(found)) if not bits else Fraction(found + 2 * sqrt(horizon) / 2**bits)


def _of_laplace(scale: float, draws: float, doubt: float) -> int:
    """By Chernoff's bound, for the sum of so many draws; discrete ones have thinner tails."""
    bounds = [(log(2 / doubt) - draws * log1p(-(rate**2))) / rate for rate in RATES]
    return ceil(scale * min(bounds) * MARGIN)
