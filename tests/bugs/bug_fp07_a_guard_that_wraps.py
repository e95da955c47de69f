"""F-P7: the guard squares integers in too few bits, and takes what wrapped to 0 for short."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.ml.clipped_sum import reach_of

PLACE = "tacit.ml.clipped_sum:_cut"
CAUGHT_BY = (
    "tests/models/test_numbers_at_their_edges.py"
    "::test_what_is_too_long_all_the_same_is_cut_in_integers"
)
SHOWN = "assert length(cut[0]) <= reach_of(9) ** 2"

Cut = Callable[[Any], Any]


def bug(_: Cut) -> Cut:
    def cut(steps: Any) -> Any:
        squares = (steps.astype(np.int32) ** 2).sum(axis=1)
        return steps * (squares <= reach_of(steps.shape[1]) ** 2)[:, None]

    return cut
