"""TD-10, 42: a division that rounds wrongly, so that each probability is one percent off."""

from collections.abc import Callable

from tacit.noise.inversion import Law

PLACE = "tacit.noise.inversion:compute_thresholds"
CAUGHT_BY = (
    "tests/claims/test_law.py"
    "::test_the_law_is_accepted_and_one_percent_off_is_rejected[laplace-scale1]"
)
SHOWN = "(wanted > 1e-6) short"

Thresholds = Callable[[Law, int], tuple[int, ...]]


def bug(original: Thresholds) -> Thresholds:
    def compute_thresholds(law: Law, bits: int) -> tuple[int, ...]:
        return tuple(threshold * 99 // 100 for threshold in original(law, bits))

    return compute_thresholds
