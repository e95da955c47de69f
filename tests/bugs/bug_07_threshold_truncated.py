"""TD-10, 7: a threshold of 7.9 truncated to 7, which more than delta of the noise reaches."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, log

PLACE = "tacit.mechanisms.threshold_keys:_threshold"
CAUGHT_BY = (
    "tests/claims/test_shown_keys.py"
    "::test_units_show_as_often_as_they_should_and_no_tenth_more[laplace-1]"
)
SHOWN = "assert binomtest(found, units, exact).pvalue > ODD"

Threshold = Callable[[Fraction, Fraction], int]


def bug(_: Threshold) -> Threshold:
    def threshold(epsilon: Fraction, delta: Fraction) -> int:
        return int(1 - log(delta * (1 + exp(-epsilon))) / epsilon)

    return threshold
