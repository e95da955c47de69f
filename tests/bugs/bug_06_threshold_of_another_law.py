"""TD-10, 6: keys with Gaussian noise, and the threshold that Laplace noise would need."""

from fractions import Fraction
from math import log, sqrt

from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys

PLACE = "tacit.mechanisms.threshold_keys:GaussianKeys.threshold"
CAUGHT_BY = (
    "tests/claims/test_shown_keys.py"
    "::test_units_show_as_often_as_they_should_and_no_tenth_more[gaussian-1]"
)
SHOWN = "assert binomtest(found, units, exact).pvalue > ODD"


def bug(_: property) -> property:
    def threshold(self: GaussianKeys) -> int:
        # the epsilon for which one would have chosen this variance
        epsilon = sqrt(2 * log(1.25 / self.delta) / self.variance)
        return LaplaceKeys(Fraction(epsilon), self.delta, self.max_keys).threshold

    return property(threshold)
