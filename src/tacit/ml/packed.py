"""Symmetric matrices as vectors whose length is the Frobenius norm, and intervals from them."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from tacit.ml.total_algebra import Floats


def packed_products(rows: Floats) -> Floats:
    """Of each row x the entries of x x' on and above the diagonal; those above times sqrt(2).

    Example:
        >>> packed_products(np.array([[1.0, 2.0]])).round(3).tolist()
        [[1.0, 2.828, 4.0]]
    """
    first, second = np.triu_indices(rows.shape[1])
    products: Floats = rows[:, first] * rows[:, second]
    return products * _twice(first, second)


def unpacked(vector: Floats, size: int) -> Floats:
    """The symmetric matrix that a vector of its packed entries stands for.

    Noise that is equal on all entries of the vector is so in all directions of the matrix.

    Example:
        >>> unpacked(packed_products(np.array([[1.0, 2.0]]))[0], 2).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """
    first, second = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[first, second] = matrix[second, first] = vector / _twice(first, second)
    return matrix


def intervals(centres: Floats, covariance: Floats, confidence: float) -> Floats:
    """Lower and upper ends around normal estimates, one row each.

    Example:
        >>> intervals(np.array([1.0]), np.array([[4.0]]), 0.95).round(2).tolist()
        [[-2.92, 4.92]]
    """
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(np.diag(covariance))
    return np.column_stack([centres - reach, centres + reach])


def _twice(first: Any, second: Any) -> Floats:
    return np.where(first == second, 1.0, sqrt(2))
