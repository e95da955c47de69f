"""TD-10, 14; OpenDP 2944: groups have codes in the order in which the table shows them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.engines.engine import GroupRow, Leaf, SecretTable, public_groups
from tacit.plan.bounded_plan import BoundedPlan

PLACE = "tacit.engines.engine:wrap_groups"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a group before all others-reference]"
)
SHOWN = "BrokenPromise: Batch 0 changes by the square root of"

Sealed = Callable[[BoundedPlan, list[GroupRow], Sequence[Leaf]], SecretTable]


def bug(original: Sealed) -> Sealed:
    def sealed(
        plan: BoundedPlan, rows: list[GroupRow], leaves: Sequence[Leaf] = ()
    ) -> SecretTable:
        shown = [group for group, _ in rows]
        codes = dict(zip(shown, public_groups(plan) or shown, strict=False))
        coded = [(codes[group], counts) for group, counts in rows]
        return original(
            plan, coded, [replace(leaf, group=codes[leaf.group]) for leaf in leaves]
        )

    return sealed
