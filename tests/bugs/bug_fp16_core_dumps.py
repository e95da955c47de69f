"""F-P16: the line that forbids core files is deleted, so a crash writes rows to the disk."""

from collections.abc import Callable

PLACE = "tacit.query.worker_sandbox:limit_core_dumps"
CAUGHT_BY = "tests/end_to_end/test_confine.py::test_a_confined_process_holds_nothing[file]"
SHOWN = "bar points of 14 in which a worker over a file is not confined: 1 (wanted 0) short"

Limit = Callable[[], None]


def bug(_: Limit) -> Limit:
    def limit_core_dumps() -> None:
        pass

    return limit_core_dumps
