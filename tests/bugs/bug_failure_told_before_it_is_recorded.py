"""A log that cannot be written keeps a failure out of the chain, and nobody is locked."""

from collections.abc import Callable

from tacit.query.below_charge import Tell, Trouble

PLACE = "tacit.query.below_charge:_tell"
CAUGHT_BY = (
    "tests/failures/test_recorded_first.py::"
    "test_a_failure_locks_where_its_log_cannot_be_written[twice]"
)
SHOWN = "No space left on device"

Rule = Callable[[Tell, Trouble], None]


def bug(_: Rule) -> Rule:
    return lambda tell, trouble: tell(trouble)
