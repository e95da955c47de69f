"""Probabilities as people and browsers read them."""

from fractions import Fraction

from tacit.errors import InternalError

WORD = 2**32
"""A browser draws a coin from one word of 32 bits."""


def percent(share: Fraction) -> str:
    """A probability in percent, to a digit after the point where it says something.

    Example:
        >>> percent(Fraction(1, 2)), percent(Fraction(2, 3))
        ('50%', '66.7%')
    """
    shown = f"{float(100 * share):.1f}"
    return f"{shown.removesuffix('.0')}%"


def two_parts(probability: Fraction) -> list[int]:
    """Numerator and denominator, small enough for a browser's words.

    Example:
        >>> two_parts(Fraction(2, 3))
        [2, 3]
    """
    if probability.denominator > WORD:
        raise InternalError(f"A browser cannot draw with probability {probability}.")
    return [probability.numerator, probability.denominator]
