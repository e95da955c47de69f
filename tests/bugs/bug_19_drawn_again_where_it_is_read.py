"""TD-10, 19: noise is drawn where it is read, and anew each time (OpenDP 901, 1602)."""

from collections.abc import Callable, Iterator
from typing import Any

from tacit.core.domain import Group
from tacit.engines.engine import SecretTable
from tacit.mechanisms.gateway import Gateway
from tacit.query.quote import Quote

PLACE = "tacit.query.paid_work:release"
CAUGHT_BY = "tests/unit/query/test_run.py::test_a_tally_that_many_columns_read_is_drawn_once"
SHOWN = "assert drawn == paid"

Release = Callable[[Quote, SecretTable, Gateway], Any]


class Lazy(list[int]):
    """Released integers that exist while they are looked at."""

    def __init__(self, draw: Callable[[], list[int]]) -> None:
        super().__init__()
        self._draw = draw

    def __iter__(self) -> Iterator[int]:
        return iter(self._draw())


def bug(original: Release) -> Release:
    def release(
        quote: Quote, table: SecretTable, gateway: Gateway
    ) -> tuple[tuple[Group, ...], list[list[int]]]:
        groups, drawn = original(quote, table, gateway)

        def again(place: int) -> list[int]:
            released: list[int] = original(quote, table, gateway)[1][place]
            return released

        return groups, [Lazy(lambda place=place: again(place)) for place in range(len(drawn))]

    return release
