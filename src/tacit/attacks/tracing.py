"""Was a person in a study that published nothing but means? By many of them, yes."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.presence import presence


def scores(
    people: NDArray[Any], means: NDArray[Any], reference: NDArray[Any]
) -> NDArray[np.float64]:
    """How far each person leans to where the published means lean from the reference.

    Both are centred by the reference: without that, the product of a mean and a record tells
    little where attributes are biased.
    Reference: Homer et al. 2008; Dwork, Smith, Steinke, Ullman, Vadhan 2015.

    Example:
        >>> scores(np.array([[1, 1], [0, 0]]), np.array([0.6, 0.7]), np.array([0.5, 0.5]))
        array([ 0.15, -0.15])
    """
    lean = np.asarray(means, dtype=np.float64) - reference
    # the people stay as they are: centring 20,000 columns of each would copy them
    return np.asarray(people @ lean - reference @ lean, dtype=np.float64)


def expected(people: int, attributes: int, noise: float = 0.0) -> float:
    """The area under the curve for even attributes of -1 and 1, with noise of that size.

    Example:
        >>> round(expected(100, 1000), 2), round(expected(100, 10_000, noise=2), 2)
        (0.99, 0.64)
    """
    width = people * sqrt(2 * (1 / people + noise**2))
    return NormalDist().cdf(sqrt(attributes) / width)


def tracing(
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """How often `scores` tell a member of the study from somebody else."""
    return presence("tracing from means", system, members, others, allowed)
