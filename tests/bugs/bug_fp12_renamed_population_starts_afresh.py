"""F-P12: a population with a new name has a fresh budget over the same tables (0.1.0)."""

from collections.abc import Callable, Mapping

from tacit.ledger.charge import Units

PLACE = "tacit.ledger.govern:owed_by_source"
CAUGHT_BY = (
    "tests/edges/test_declared_tables.py::test_a_renamed_population_gets_no_fresh_budget"
)
SHOWN = "epsilon spent under a population's new name: 0 (wanted 2.5) short"

Owed = Callable[..., Mapping[str, Units]]


def bug(_: Owed) -> Owed:
    return lambda *_: {}
