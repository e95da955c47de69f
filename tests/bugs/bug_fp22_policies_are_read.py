"""F-P22: a table of PostgreSQL with row-level security is read in place by its policy."""

from collections.abc import Callable, Sequence
from typing import Any

PLACE = "tacit.engines.storage_rules:_of_postgres"
CAUGHT_BY = (
    "tests/engines/test_plain_storage.py"
    "::test_what_computes_in_postgresql_is_not_served_in_place[has row-level security]"
)
SHOWN = "not enough values to unpack"

Reasons = Callable[[Any, Any], Sequence[str]]


def bug(original: Reasons) -> Reasons:
    return lambda table, ask: [each for each in original(table, ask) if "security" not in each]
