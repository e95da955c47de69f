"""F-P15: sealed states stand in no chain, so that a ledger may be rolled back without them."""

from collections.abc import Callable

from tacit.store.sealed_state import States

PLACE = "tacit.store.sealed_state:States.of"
CAUGHT_BY = (
    "tests/edges/test_rolled_back.py::test_what_is_rolled_back_alone_is_refused[3-ledger]"
)
SHOWN = "LedgerBroken"

Of = Callable[[States, str], States]


def bug(_: Of) -> Of:
    return lambda self, _: self
