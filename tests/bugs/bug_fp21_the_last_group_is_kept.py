"""F-P21: of two groups that decode alike the last is kept, and a count of 500 becomes 1."""

from collections.abc import Callable
from typing import Any

PLACE = "tacit.engines.engine:wrap_groups"
CAUGHT_BY = (
    "tests/edges/test_spelling.py"
    "::test_a_group_is_not_overwritten_by_another_that_decodes_alike"
)
SHOWN = "[1, 0]"

Sealed = Callable[..., Any]


def bug(original: Sealed) -> Sealed:
    def sealed(plan: Any, rows: Any, leaves: Any = ()) -> Any:
        return original(plan, list(dict(rows).items()), leaves)

    return sealed
