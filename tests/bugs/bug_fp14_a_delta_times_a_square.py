"""F-P14: the delta of a sampled event is multiplied by the square of the rate."""

from collections.abc import Callable
from dataclasses import replace

from tacit.accounting.pricing import Cost
from tacit.core.event import Event, Sampled

PLACE = "tacit.accounting.pricing:cost_of"
CAUGHT_BY = (
    "tests/unit/accounting/test_sampled.py::"
    "test_the_delta_of_a_sample_is_what_its_law_has[rate1]"
)
SHOWN = "assert exact <= float(cost.delta)"

Rule = Callable[[Event], Cost]


def bug(original: Rule) -> Rule:
    def cost_of(leaf: Event) -> Cost:
        found = original(leaf)
        if isinstance(leaf, Sampled):
            return replace(found, delta=found.delta * leaf.probability)
        return found

    cost_of.register = original.register  # type: ignore[attr-defined]
    return cost_of
