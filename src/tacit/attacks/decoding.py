"""Linear programming, which tells secret bits even where some answers are lies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tacit.errors import InternalError


def decode(questions: Any, answers: NDArray[Any]) -> NDArray[np.float64]:
    """What each person has, in [0, 1], so that the answers are off by least in all.

    The sum of absolute errors forgives a few wild answers, where least squares does not.
    Reference: Dwork, McSherry, Talwar 2007 (fewer than 0.239 of the answers may be arbitrary).

    Example:
        >>> asked = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
        >>> decode(asked, np.array([1, 1, 2, 900, 1])).round().tolist()
        [1.0, 0.0, 1.0]
    """
    asked = csr_array(questions)
    count, people = asked.shape
    errors = eye_array(count)
    within: Any = vstack([hstack([asked, -errors]), hstack([-asked, -errors])])
    cost = np.concatenate([np.zeros(people), np.ones(count)])
    limits = [(0, 1)] * people + [(0, None)] * count
    solved = linprog(
        cost,
        A_ub=within,
        b_ub=np.concatenate([answers, -answers]),
        bounds=limits,
        method="highs",
    )
    if solved.x is None:
        raise InternalError("A linear program that always has a solution had none.")
    return np.asarray(solved.x[:people], dtype=np.float64)
