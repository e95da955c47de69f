"""A small database from all its subset sums: every candidate is tried."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue

MOST = 14
"""People, of whom all 2**14 databases are tried against all 2**14 questions."""


def databases(people: int) -> NDArray[np.float32]:
    """All databases of so many bits, which are also all subsets: a row each.

    Example:
        >>> databases(2).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    if not 1 <= people <= MOST:
        raise InvalidValue(f"All databases are tried of 1 to {MOST} people, not of {people}.")
    numbers = np.arange(2**people)[:, None]
    return np.asarray(numbers >> np.arange(people)[::-1] & 1, dtype=np.float32)


def worst_errors(answers: NDArray[Any], people: int) -> NDArray[np.float64]:
    """For each database, by how much it misses the answer to the subset that it misses most.

    ``answers`` are those to the subsets of `databases`, in their order.
    """
    rows = databases(people)
    given = np.asarray(answers, dtype=np.float32)
    blocks = np.array_split(rows, max(1, len(rows) // 1024))
    return np.concatenate([np.abs(block @ rows.T - given).max(axis=1) for block in blocks])


def consistent(answers: NDArray[Any], people: int, most: float) -> NDArray[np.float32]:
    """All databases that miss no answer by more than ``most``.

    Guarantee: if the answers to the true database miss by at most ``most`` too, every one of
    these differs from it in at most 4 * ``most`` people.
    Reference: Dinur, Nissim 2003, theorem 3; the lecture's "blatant non-privacy".

    Example:
        >>> truth = np.array([1.0, 0.0, 1.0])
        >>> consistent(databases(3) @ truth, 3, 0).tolist()
        [[1.0, 0.0, 1.0]]
    """
    return databases(people)[worst_errors(answers, people) <= most + 1e-3]


def nearest(answers: NDArray[Any], people: int) -> NDArray[np.float32]:
    """The database whose squared misses are least in all: what an attacker takes otherwise.

    Example:
        >>> truth = np.array([1.0, 0.0, 1.0])
        >>> nearest(databases(3) @ truth + 0.4, 3).tolist()
        [1.0, 0.0, 1.0]
    """
    rows = databases(people)
    # the square of the misses is this, and a part that is the same for all
    misses = np.sum(rows @ (rows.T @ rows) * rows, axis=1) - 2 * rows @ (rows.T @ answers)
    found: NDArray[np.float32] = rows[np.argmin(misses)]
    return found
