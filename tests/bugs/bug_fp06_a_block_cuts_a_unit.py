"""F-P6: blocks of so many rows cut units in two, and each part is clipped by itself."""

from collections.abc import Callable, Iterator
from typing import Any

PLACE = "tacit.engines.unit_rows:UnitRows.blocks"
CAUGHT_BY = (
    "tests/models/test_numbers_at_their_edges.py"
    "::test_blocks_hold_whole_units_in_memory_and_in_a_file[7-False]"
)
SHOWN = "assert sum(map(len, seen)) == 200"

Blocks = Callable[..., Iterator[Any]]


def bug(original: Blocks) -> Blocks:
    def blocks(rows: Any, entries: int = 1) -> Iterator[Any]:
        for block in original(rows, entries):
            yield block[:3]
            if len(block) > 3:
                yield block[3:]

    return blocks
