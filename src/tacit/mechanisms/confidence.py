"""How sure an interval is: a probability below 1."""

from fractions import Fraction

from tacit.errors import InvalidValue


def valid_confidence(confidence: Fraction) -> Fraction:
    """The confidence itself, refused where no noise can reach it.

    Example:
        >>> valid_confidence(Fraction("0.95"))
        Fraction(19, 20)
    """
    if not 0 <= confidence < 1:
        raise InvalidValue(f"A confidence lies in [0, 1), and {confidence} does not.")
    return confidence
