"""F-P19: a copy is believed where its epoch is the declared one, whatever its unit was."""

from collections.abc import Callable

PLACE = "tacit.project.tables:CopyPlan.declaration"
CAUGHT_BY = "tests/edges/test_whose_copy.py::test_a_copy_of_another_unit_is_not_read"
SHOWN = "was made with another declaration of its unit"


def bug(_: property) -> property:
    declaration: Callable[[object], str] = lambda _: "0" * 64  # noqa: E731
    return property(declaration)
