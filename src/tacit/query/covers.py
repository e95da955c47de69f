"""What the interval of a column covers, in a sentence that stands beside it."""

from tacit.numeric.exact import plain
from tacit.plan.reading import (
    ExtremeReading,
    MeanReading,
    QuantileReading,
    Reading,
    TotalReading,
    VarianceReading,
)

TABLE = "this table, after its rows were bounded"
"""An interval speaks of these rows, and not of those whom they may stand for."""


def covers(reading: Reading) -> str:
    """What the exact value is that the interval holds.

    Example:
        >>> from fractions import Fraction
        >>> covers(TotalReading(0, Fraction(1)))
        'the exact total of this table, after its rows were bounded'
    """
    match reading:
        case TotalReading():
            return f"the exact total of {TABLE}"
        case MeanReading():
            return f"the exact mean of {TABLE}"
        case VarianceReading():
            what = "standard deviation" if reading.root else "variance"
            of = ", as of a sample" if reading.sample else ""
            return f"the exact {what} of {TABLE}{of}"
        case QuantileReading():
            return f"the {plain(reading.fraction)} quantile of {TABLE}"
        case ExtremeReading():
            end, side = ("greatest", "above") if reading.greatest else ("least", "below")
            return (
                f"the {end} value of {TABLE}, which lies at the released one or {side} it, "
                "the last rank that noise does not hide"
            )
