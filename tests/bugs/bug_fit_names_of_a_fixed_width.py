"""Names become an array of text: each takes as many bytes as the longest, and loses NULs."""

from typing import Any

import numpy as np

PLACE = "tacit.engines.unit_rows:_changes_before"
CAUGHT_BY = "tests/engines/test_fit_units.py::test_one_long_name_takes_no_memory_for_others"
SHOWN = "assert 240"


def bug(_: object) -> object:
    def changes(units: Any) -> Any:
        named = np.asarray(units)
        return np.concatenate([[0], np.cumsum(named[1:] != named[:-1])])

    return changes
