"""TD-10, 32: permute-and-flip priced at a quarter of its rho, as if its range were bounded."""

from typing import Any

from tacit.accounting.pricing import Cost
from tacit.core.event import PermuteAndFlipSelectionV2

PLACE = "tacit.accounting.pricing:cost_of"
CAUGHT_BY = (
    "tests/contracts/test_mechanisms.py"
    "::test_the_exact_curve_stays_below_the_claim[permute_and_flip]"
)
SHOWN = "assert not True"


def bug(original: Any) -> Any:
    def cheaper(leaf: PermuteAndFlipSelectionV2) -> Cost:
        return Cost(leaf.epsilon, leaf.epsilon**2 / 8)

    original.register(PermuteAndFlipSelectionV2, cheaper)
    return original
