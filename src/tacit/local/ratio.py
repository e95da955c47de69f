"""How much more likely a report may be under one answer than under another: e to the epsilon.

Every randomiser of this package is made from one rational number, its ``ratio``, and all its
probabilities are rational then. So rounding happens once, here, toward more privacy, and the
law that is drawn is the law that the proof speaks of.
"""

from fractions import Fraction

from tacit.core.selection_event import RandomisedResponse
from tacit.errors import InvalidValue
from tacit.numeric.exact import Number, exact, exp_bounds, floor_to, log_bounds, plain

STEP = Fraction(1, 2**16)
"""Ratios are multiples of this, so that a browser draws every coin from one 32-bit word."""

MOST = 2**12
"""No ratio is above this: an answer that is told truly 4,096 times in 4,097 is not hidden."""


def ratio_within(epsilon: Number) -> Fraction:
    """The greatest ratio whose logarithm is within ``epsilon``.

    Guarantee: never above e to the epsilon; 2**-16 below it at most.

    Example:
        >>> ratio_within(1)
        Fraction(178145, 65536)
    """
    asked = exact(epsilon)
    if not 0 < asked <= log_bounds(Fraction(MOST))[0]:
        raise InvalidValue(f"The epsilon of a report lies in (0, 8.3], and {asked} was given.")
    return floor_to(exp_bounds(asked)[0], STEP)


def valid_ratio(ratio: Fraction) -> Fraction:
    """The ratio itself, refused where reports would say nothing, or nearly all.

    Example:
        >>> valid_ratio(Fraction(2))
        Fraction(2, 1)
    """
    if not 1 < ratio <= MOST:
        raise InvalidValue(
            f"A ratio lies above 1 and at or below {MOST}, and {plain(ratio)} was given."
        )
    return ratio


def epsilon_of(ratio: Fraction) -> Fraction:
    """The epsilon of a report, rounded up.

    Example:
        >>> float(epsilon_of(Fraction(2)))
        0.6931471805599453
    """
    return log_bounds(valid_ratio(ratio))[1]


def event_of(ratio: Fraction) -> RandomisedResponse:
    """One report, for a ledger: told truly or not, with the odds of ``ratio``.

    Whatever a randomiser of this ratio tells can be made from such a coin, so that the coin
    costs as much as any of them or more.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 2.5.

    Example:
        >>> event_of(Fraction(2))
        RandomisedResponse(truth=Fraction(2, 3), choices=2)
    """
    return RandomisedResponse(ratio / (1 + valid_ratio(ratio)), choices=2)
