"""F-P7: squares underflow, so that nothing is clipped, and the guard wraps in 64 bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.ml.clipped_sum import STEPS, reach_of

PLACE = "tacit.ml.clipped_sum:clipped_steps"
CAUGHT_BY = "tests/edges/test_tiny_numbers.py::test_tiny_settings_read_no_count"
SHOWN = "edge tiny_numbers: the same by clipping alone: 3 of 3 (wanted 0 of 3) short"

Clip = Callable[[Any, float], Any]


def bug(_: Clip) -> Clip:
    def clipped_steps(vectors: Any, clip: float) -> Any:
        with np.errstate(all="ignore"):
            norms = np.sqrt((vectors**2).sum(axis=1))
            factors = STEPS / np.maximum(norms, clip)
            steps = np.rint(np.nan_to_num(vectors * factors[:, None])).astype(np.int64)
            sure = np.einsum("ij,ij->i", steps, steps) <= reach_of(vectors.shape[1]) ** 2
        return steps * sure[:, None]

    return clipped_steps
