"""F-P12: a file that moves while its population is renamed is known by its inode, too late."""

from collections.abc import Callable
from typing import Any

PLACE = "tacit.ledger.govern:Governing._take"
CAUGHT_BY = (
    "tests/edges/test_declared_tables.py::"
    "test_a_file_that_moves_takes_its_charges_along[with the name]"
)
SHOWN = "epsilon spent where a file moves with the name: 0 (wanted 2.5) short"

Take = Callable[..., None]


def bug(original: Take) -> Take:
    def take(self: Any, population: str, tables: set[str], _: frozenset[str]) -> None:
        original(self, population, tables, frozenset())

    return take
