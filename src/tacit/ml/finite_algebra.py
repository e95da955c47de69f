"""Arithmetic on released numbers that returns finite numbers for every input.

A fit that fails after its first draw of noise cannot be run again, because a choice between
draws would change their distribution. Such a failure locks the population until an owner has
looked at it. So nothing that a model computes from noisy sums may raise an exception, whatever
the noise and the settings are: not for integers beyond the range of floats, for singular or
infinite matrices, or for a division by 0. In such a case the result is not useful as a model,
but it is finite, and it is a function of released and public numbers alone.

In ordinary cases these functions return exactly the result of the numpy function.
"""

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Parameter
from tacit.noise import Integers
from tacit.numeric import sqrt_bounds

Floats = NDArray[np.float64]

LARGEST_FLOAT = 1e300
"""The number that replaces infinity; products that exceed it are clipped to it again."""


def float_of(number: Fraction | int) -> float:
    """Return the nearest float, or plus or minus `LARGEST_FLOAT` for numbers beyond floats.

    Example:
        >>> float_of(Fraction(1, 4)), float_of(-(10**400))
        (0.25, -1e+300)
    """
    try:
        return float(number)
    except OverflowError:
        return LARGEST_FLOAT if number > 0 else -LARGEST_FLOAT


def root_of(number: Fraction) -> float:
    """Return the square root of a number of any size, as a float.

    Example:
        >>> root_of(Fraction(9, 4)), root_of(Fraction(10**400))
        (1.5, 1e+200)
    """
    try:
        return sqrt(number)
    except OverflowError:
        return float_of(sqrt_bounds(number)[1])


def floats_of(integers: Integers) -> Floats:
    """Return released integers, of any size, as finite floats.

    Example:
        >>> floats_of(np.array([3, -(10**400)], dtype=object)).tolist()
        [3.0, -1e+300]
    """
    if integers.dtype == np.int64:
        return integers.astype(np.float64)
    found = [float_of(int(each)) for each in integers.ravel().tolist()]
    return np.array(found, dtype=np.float64).reshape(integers.shape)


def finite(numbers: Any) -> Floats:
    """Replace NaN by 0, and infinite numbers by plus or minus `LARGEST_FLOAT`.

    Example:
        >>> finite([1.5, float("nan"), float("-inf")]).tolist()
        [1.5, 0.0, -1e+300]
    """
    found = np.asarray(numbers, dtype=np.float64)
    return np.asarray(
        np.clip(np.where(np.isnan(found), 0.0, found), -LARGEST_FLOAT, LARGEST_FLOAT)
    )


def parameter(name: str, numbers: Any) -> Parameter:
    """Build a parameter from numbers that may be infinite or NaN.

    Example:
        >>> parameter("coef_", [[0.5, float("inf")]]).nested
        [[0.5, 1e+300]]
    """
    return Parameter.of(name, finite(numbers).tolist())


def eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors.

    Where LAPACK does not converge, the diagonal entries replace the eigenvalues.
    """
    known = finite(matrix)
    try:
        values, vectors = np.linalg.eigh(known)
    except np.linalg.LinAlgError:
        values = vectors = np.full(0, np.nan)
    if values.size and np.isfinite(values).all() and np.isfinite(vectors).all():
        return np.asarray(values), np.asarray(vectors)
    order = np.argsort(np.diag(known), kind="stable")
    return np.diag(known)[order], np.eye(len(known))[:, order]


def solve(matrix: Floats, vector: Floats) -> Floats:
    """Solve ``matrix`` x = ``vector`` for a symmetric matrix, by least squares if singular.

    Example:
        >>> solve(np.diag([2.0, 0.0]), np.array([4.0, 0.0])).tolist()
        [2.0, 0.0]
    """
    known, wanted = finite(matrix), finite(vector)
    try:
        found = np.linalg.solve(known, wanted)
    except np.linalg.LinAlgError:
        found = np.full(wanted.shape, np.nan)
    if np.isfinite(found).all():
        return np.asarray(found, dtype=np.float64)
    return finite(_pseudo_inverse(known) @ wanted)


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric matrix, or the pseudo-inverse if it is singular.

    Example:
        >>> inverse(np.diag([2.0, 0.0])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    known = finite(matrix)
    try:
        found = np.linalg.inv(known)
    except np.linalg.LinAlgError:
        found = np.full(known.shape, np.nan)
    return np.asarray(found) if np.isfinite(found).all() else finite(_pseudo_inverse(known))


def _pseudo_inverse(matrix: Floats) -> Floats:
    """Return the pseudo-inverse: eigenvalues that are 0 up to rounding are left out."""
    values, vectors = eigen(matrix)
    least = np.abs(values).max(initial=0.0) * len(matrix) * np.finfo(np.float64).eps
    nonzero = np.abs(values) > least
    weights = np.where(nonzero, 1.0 / np.where(nonzero, values, 1.0), 0.0)
    return finite((vectors * weights) @ vectors.T)
