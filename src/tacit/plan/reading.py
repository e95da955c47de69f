"""How a column of the answer is read off the tallies: arithmetic on what was released."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class TotalReading:
    """A count or a sum: one tally, each of whose steps stands for ``step``."""

    tally: int
    step: Fraction


@dataclass(frozen=True, slots=True)
class MeanReading:
    """A mean: a centre, plus a centred total over a count, kept within the public range."""

    total: int
    count: int
    centre: Fraction
    step: Fraction
    low: Fraction
    high: Fraction


Reading = TotalReading | MeanReading
