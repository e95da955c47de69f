"""F-P23: a publication that is withdrawn while it is released goes on to its end."""

from collections.abc import Callable

from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.stream.open_stream import Guard

PLACE = "tacit.stream.open_stream:Guard.keep"
CAUGHT_BY = (
    "tests/edges/test_streams_go_on.py::"
    "test_a_withdrawal_stops_a_step_that_has_asked_the_engine"
)
SHOWN = "DID NOT RAISE"

Rule = Callable[[Guard, Ledger, Charge, bytes], StoredRelease]


def bug(_: Rule) -> Rule:
    return lambda _, ledger, charge, body: ledger.keep(charge, body)
