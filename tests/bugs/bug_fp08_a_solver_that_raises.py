"""F-P8: Newton's step is solved for by LAPACK, which raises where rows are equal."""

from collections.abc import Callable
from typing import Any

import numpy as np

PLACE = "tacit.ml.regularised_risk:RegularisedRisk._newton_step"
CAUGHT_BY = "tests/edges/test_singular.py::test_no_fit_fails_by_one_person"
SHOWN = "edge singular: tables told apart: 5 of 5 (wanted 0 of 5) short"

Step = Callable[[Any, Any, Any], Any]


def bug(_: Step) -> Step:
    def newton_step(risk: Any, weights: Any, gradient: Any) -> Any:
        return np.linalg.solve(risk._curvature(weights), gradient)

    return newton_step
