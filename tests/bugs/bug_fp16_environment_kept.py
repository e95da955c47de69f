"""F-P16: workers keep the server's environment, which holds the key of sealed states."""

import os
from collections.abc import Callable, Mapping

PLACE = "tacit.query.worker_sandbox:set_environment"
CAUGHT_BY = "tests/end_to_end/test_confine.py::test_a_confined_process_holds_nothing[file]"
SHOWN = "bar points of 14 in which a worker over a file is not confined: 1 (wanted 0) short"

Set = Callable[[Mapping[str, str]], None]


def bug(_: Set) -> Set:
    return os.environ.update
