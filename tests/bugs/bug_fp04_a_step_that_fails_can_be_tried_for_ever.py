"""F-P4: a step of a stream that fails leaves no trace, and can be released again at once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tacit.errors import InternalError
from tacit.ledger.charge import StoredRelease
from tacit.query.below_charge import Progress

PLACE = "tacit.stream.open_stream:run_work"
CAUGHT_BY = (
    "tests/failures/test_failures.py::test_faults_in_this_process_end_as_they_must[step]"
)
SHOWN = "one failure in the chain"

Run = Callable[..., StoredRelease]


def bug(_: Run) -> Run:
    def run_work(place: Any, charge: Any, work: Any, keep: Any = None) -> StoredRelease:
        del keep
        with suppress(Exception):
            return place.ledger.keep(charge, work(place.engine, Progress()))
        raise InternalError("The step failed below the line. It can be released again.")

    return run_work
