"""TD-10, 28: where few groups have rows, a unit is in few, and less is spent (PySyft 6914)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tacit.core.domain import Group
from tacit.core.privacy_unit import Neighbours
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.mechanisms.gateway import Gateway
from tacit.query.pricing import losses, noise_for
from tacit.query.quote import Quote

PLACE = "tacit.query.paid_work:release"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a group before all others-duckdb]"
)
SHOWN = "BrokenPromise: Batch 0 has a different draw or sensitivity on the neighbour."

Released = tuple[tuple[Group, ...], list[list[int]]]
Release = Callable[[Quote, SecretTable, Gateway], Released]


def bug(original: Release) -> Release:
    def release(quote: Quote, table: SecretTable, gateway: Gateway) -> Released:
        plan, parts = quote.bound.plan, losses(quote.bound, quote.loss)
        found = int(np.count_nonzero(unseal(table.tallies[0])))
        seen = replace(plan, max_groups=max(1, min(found, plan.max_groups)))
        tallies = tuple(
            noise_for(seen, tally, part, Neighbours.ADD_REMOVE)
            for tally, part in zip(plan.tallies, parts, strict=True)
        )
        return original(replace(quote, tallies=tallies), table, gateway)

    return release
