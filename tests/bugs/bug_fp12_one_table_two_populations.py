"""F-P12: one physical table has two populations, and a budget in each (version 0.1.0)."""

from collections.abc import Callable

from tacit.ledger import govern
from tacit.session import table_checks

PLACE = "tacit.ledger.govern:other_holders"
CAUGHT_BY = (
    "tests/edges/test_declared_tables.py::test_a_table_has_no_second_population_under_any_name"
)
SHOWN = "second populations over one table, of 8 names: 8 (wanted 0) short"

Holders = Callable[..., tuple[frozenset[str], frozenset[str]]]


def bug(_: Holders) -> Holders:
    table_checks._check_apart = lambda *_: None
    govern.claim_tables = lambda *_: None
    return lambda *_: (frozenset(), frozenset())
