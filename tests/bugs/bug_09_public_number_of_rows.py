"""TD-10, 9: the number of rows is taken for public where a mean is (smartnoise-core 356)."""

from collections.abc import Callable

from tacit.core.domain import Group
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.mechanisms.gateway import Gateway
from tacit.plan.tally import MeanReading
from tacit.query.quote import Quote

PLACE = "tacit.query.paid_work:release"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a mean-duckdb]"
)
SHOWN = "assert first == second"

Released = tuple[tuple[Group, ...], list[list[int]]]
Release = Callable[[Quote, SecretTable, Gateway], Released]


def bug(original: Release) -> Release:
    def release(quote: Quote, table: SecretTable, gateway: Gateway) -> Released:
        groups, released = original(quote, table, gateway)
        for reading in quote.bound.readings:
            if isinstance(reading, MeanReading):
                released[reading.count] = unseal(table.tallies[reading.count]).tolist()
        return groups, released

    return release
