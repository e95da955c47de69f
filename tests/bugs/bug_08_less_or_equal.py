"""TD-10, 8: delta computed for counts above a threshold, and those at it released as well."""

from collections.abc import Callable
from dataclasses import replace

from tacit.mechanisms.threshold_keys import KeepAbove
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

PLACE = "tacit.mechanisms.threshold_keys:KeepAbove.__call__"
CAUGHT_BY = (
    "tests/claims/test_shown_keys.py"
    "::test_units_show_as_often_as_they_should_and_no_tenth_more[truncated-1]"
)
SHOWN = "assert binomtest(found, units, exact).pvalue > ODD"

Keep = Callable[[KeepAbove, Integers, Entropy], Integers]


def bug(original: Keep) -> Keep:
    def keep(self: KeepAbove, values: Integers, entropy: Entropy) -> Integers:
        above = self.threshold - 1  # the least integer is above this one
        return original(replace(self, threshold=above), values, entropy)

    return keep
