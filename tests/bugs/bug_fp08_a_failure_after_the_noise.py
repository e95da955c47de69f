"""F-P8: what is computed of a noisy matrix raises where it happens to be singular."""

from collections.abc import Callable
from typing import Any

import numpy as np

PLACE = "tacit.ml.finite_algebra:solve"
CAUGHT_BY = "tests/models/test_numbers_at_their_edges.py::test_algebra_after_noise_is_total"
SHOWN = "LinAlgError"

Solve = Callable[[Any, Any], Any]


def bug(_: Solve) -> Solve:
    return np.linalg.solve
