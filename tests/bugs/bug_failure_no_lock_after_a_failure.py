"""Decision 47: a failure keeps its charge, and the next question is charged at once (0.1.0)."""

from collections.abc import Callable

from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger

PLACE = "tacit.ledger.ledger:Ledger.fail"
CAUGHT_BY = (
    "tests/failures/test_failures.py::test_faults_in_this_process_end_as_they_must[question]"
)
SHOWN = "one failure in the chain"

Fail = Callable[[Ledger, Charge], StoredRelease | None]


def bug(_: Fail) -> Fail:
    def fail(self: Ledger, charge: Charge) -> None:
        self.abandon(charge)

    return fail
