"""F-P4: a holdout whose count fails leaves no trace, and can be asked for ever."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tacit.errors import InternalError
from tacit.ledger.charge import StoredRelease
from tacit.stream.holdout import OpenHoldout

PLACE = "tacit.stream.holdout:OpenHoldout._answer_charge"
CAUGHT_BY = (
    "tests/failures/test_failures.py::test_faults_in_this_process_end_as_they_must[holdout]"
)
SHOWN = "one failure in the chain"

Answer = Callable[..., StoredRelease]


def bug(_: Answer) -> Answer:
    def answer_charge(
        self: OpenHoldout, charge: Any, tally: Any, wanted: Any, entropy: Any
    ) -> StoredRelease:
        place = self._place
        try:
            off = self._sum_differences(tally)
        except Exception:  # noqa: BLE001 - as it was
            off = None
        if off is None:
            raise InternalError("The holdout failed below the line. It can be asked again.")
        decide = partial(self._decide, wanted, off, entropy)
        return place.ledger.take_turn(charge, place.states, self._name, decide)

    return answer_charge
