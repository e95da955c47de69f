"""Batches of integers: in 64 bits where these are enough, else as Python's own integers."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
"""A batch. Where an integer does not fit 64 bits, the array holds Python integers instead."""

INT64_BITS = 62
"""Magnitudes below two to this leave room for a sign and one addition in 64 bits."""


def narrowed(wide: Integers) -> Integers:
    """The same batch in 64 bits, if all of its integers fit.

    What decides is the batch itself, so that its type tells no more than its values do.

    Example:
        >>> narrowed(np.array([1, 2**63 - 1], dtype=object)).dtype
        dtype('int64')
        >>> narrowed(np.array([1, 2**63], dtype=object)).dtype
        dtype('O')
    """
    fits = all(-(2**63) <= value < 2**63 for value in wide)
    return wide.astype(np.int64) if fits else wide


def packed(numbers: list[int]) -> Integers:
    """The numbers as a batch.

    Example:
        >>> packed([1, -2]).tolist()
        [1, -2]
    """
    return narrowed(np.array(numbers, dtype=object))
