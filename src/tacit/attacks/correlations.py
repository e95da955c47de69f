"""Tables of correlations, as of genes, tell who was in the study and in which group."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray


def products(people: NDArray[Any]) -> NDArray[np.float64]:
    """For each person, the product of every pair of their standardised attributes.

    Example:
        >>> products(np.array([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 3.0, 6.0]]
    """
    first, second = np.triu_indices(people.shape[1], 1)
    return np.asarray(people[:, first] * people[:, second], dtype=np.float64)


def table(people: NDArray[Any]) -> NDArray[np.float64]:
    """The correlations that a study would publish: the mean product of every pair."""
    return np.asarray(products(people).mean(axis=0), dtype=np.float64)


def scores(published: NDArray[Any], people: NDArray[Any]) -> NDArray[np.float64]:
    """How much each person's own pairs agree with the table.

    Reference: Wang, Li, Wang, Tang, Zhou 2009; Homer et al. 2008.

    Example:
        >>> one = np.array([[1.0, -1.0, 1.0]])
        >>> scores(table(one), one).tolist()
        [3.0]
    """
    return np.asarray(products(people) @ published, dtype=np.float64)


def expected(people: int, attributes: int) -> float:
    """The area under the curve for exact correlations of independent attributes.

    Example:
        >>> round(expected(50, 100), 2), round(expected(1000, 100), 2)
        (1.0, 0.94)
    """
    pairs = attributes * (attributes - 1) / 2
    return NormalDist().cdf(sqrt(pairs / (2 * people)))
