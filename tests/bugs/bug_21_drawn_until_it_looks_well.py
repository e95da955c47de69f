"""TD-10, 21: an answer without rows is drawn again, up to five times for a charge (Lomas)."""

from collections.abc import Callable

from tacit.core.domain import Group
from tacit.engines.engine import SecretTable
from tacit.mechanisms.gateway import Gateway
from tacit.plan.tally import MeanReading
from tacit.query.quote import Quote

PLACE = "tacit.query.paid_work:release"
CAUGHT_BY = "tests/unit/query/test_run.py::test_nothing_is_drawn_again_whatever_comes_out"
SHOWN = "assert drawn == paid"

Released = tuple[tuple[Group, ...], list[list[int]]]
Release = Callable[[Quote, SecretTable, Gateway], Released]


def bug(original: Release) -> Release:
    def release(quote: Quote, table: SecretTable, gateway: Gateway) -> Released:
        counts = [r.count for r in quote.bound.readings if isinstance(r, MeanReading)]
        groups, released = original(quote, table, gateway)
        for _ in range(4):
            if all(count > 0 for place in counts for count in released[place]):
                break
            groups, released = original(quote, table, gateway)
        return groups, released

    return release
