"""TD-10, 2: a scale from the lower bound taken twice, as if the upper one were no further."""

PLACE = "tacit.core.domain:Bounds.magnitude"
CAUGHT_BY = (
    "tests/unit/core/test_bounds.py::test_adding_a_value_moves_a_sum_by_at_most_the_magnitude"
)
SHOWN = "<= bounds.magnitude"


def bug(_: property) -> property:
    return property(lambda self: max(abs(self.lower), abs(self.lower)))
