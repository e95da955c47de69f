"""How many draws a slow sampler is tested with, and how far off the lie is that they reject.

CI asks for a quarter of the draws and for a lie that is twice as far off: a sample of a quarter
has twice the standard error, so that the lie is as many standard errors away.
"""

import os
from fractions import Fraction

IN_CI = os.environ.get("TACIT_SLOW_LAWS") == "quarter"

OFF = Fraction(9, 10) if IN_CI else Fraction(95, 100)
"""The factor by which the lie changes a parameter of a slow sampler."""


def slow(draws: int) -> int:
    """Return the number of draws of a slow sampler: ``draws``, or a quarter of them in CI."""
    return draws // 4 if IN_CI else draws
