"""A reproducible generator of synthetic people, as arrays of numbers.

The gallery of attacks needs thousands of people with public facts, incomes or genes. They are
computed from a seed by SHAKE-256, so that everybody who runs the gallery sees the same people.

The generator makes people and never noise. Anyone can repeat its output from the seed, so a
number from here protects nobody. Noise comes from a mechanism, through the gateway.
"""

from collections.abc import Sequence
from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.errors import InvalidValue

Shape = int | tuple[int, ...]

BITS = 52
"""Number of random bits of a float. Every number (2 k + 1) / 2**53 below 1 is exact."""

LARGEST = 2**40
"""Largest number of equally likely integers. Each has its probability to one part in 4,096."""


class PeopleGenerator:
    """Arrays of numbers that describe people, and that depend only on the seed.

    Guarantee: none of privacy. Two generators with the same seed return the same arrays, if
    they are asked for the same arrays in the same order.

    Example:
        >>> one, other = PeopleGenerator("a town"), PeopleGenerator("a town")
        >>> bool((one.integers(365, 1000) == other.integers(365, 1000)).all())
        True
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._arrays = 0

    def floats(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers above 0 and below 1, uniformly distributed.

        Example:
            >>> found = PeopleGenerator("a town").floats((20, 50))
            >>> found.shape, bool(0 < found.min() < 0.01), bool(0.99 < found.max() < 1)
            ((20, 50), True, True)
        """
        self._arrays += 1
        # one hash for each array: a longer digest would compute the earlier arrays again
        hashed = shake_256(f"{self._seed}/{self._arrays}".encode())
        words = np.frombuffer(hashed.digest(8 * int(np.prod(shape))), dtype="<u8")
        numbers = words >> np.uint64(64 - BITS)
        return np.asarray((numbers + 0.5) * 2.0**-BITS, dtype=np.float64).reshape(shape)

    def integers(self, below: int, shape: Shape) -> NDArray[np.int64]:
        """Return integers from 0 to ``below`` - 1, uniformly distributed.

        Example:
            >>> bool((PeopleGenerator("a town").integers(1, 9) == 0).all())
            True
        """
        if not 1 <= below <= LARGEST:
            raise InvalidValue(
                f"Integers can be drawn below a number from 1 to 2**40, but {below} was given."
            )
        return np.asarray(self.floats(shape) * below, dtype=np.int64)

    def signs(self, shape: Shape) -> NDArray[np.int64]:
        """Return -1 and 1 with equal probability.

        Example:
            >>> sorted(set(PeopleGenerator("a town").signs(100).tolist()))
            [-1, 1]
        """
        return 2 * self.integers(2, shape) - 1

    def normals(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers of the standard normal distribution.

        Example:
            >>> found = PeopleGenerator("a town").normals(10_000)
            >>> bool(abs(found.mean()) < 0.05), bool(abs(found.std() - 1) < 0.05)
            (True, True)
        """
        return np.asarray(ndtri(self.floats(shape)), dtype=np.float64)

    def lognormals(self, middle: float, spread: float, shape: Shape) -> NDArray[np.float64]:
        """Return numbers whose logarithm has the mean ``middle`` and deviation ``spread``.

        Example:
            >>> found = PeopleGenerator("a town").lognormals(4, 0.6, 10_000)
            >>> bool(abs(np.median(found) - np.exp(4)) < 2)
            True
        """
        return np.asarray(np.exp(middle + spread * self.normals(shape)), dtype=np.float64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Return the integers below ``count`` in a random order.

        Example:
            >>> sorted(PeopleGenerator("a town").permutation(5).tolist())
            [0, 1, 2, 3, 4]
        """
        return np.asarray(np.argsort(self.floats(count), kind="stable"), dtype=np.int64)

    def subsets(self, count: int, size: int, rows: int) -> NDArray[np.int64]:
        """Return ``rows`` random subsets of the integers below ``count``, each of one size.

        Example:
            >>> found = PeopleGenerator("a town").subsets(300, 8, 2)
            >>> [len(set(row)) for row in found.tolist()]
            [8, 8]
        """
        if not 0 <= size <= count:
            raise InvalidValue(
                f"A subset of {count} numbers must have 0 to {count} of them, but size={size} "
                "was given."
            )
        order = np.argsort(self.floats((rows, count)), axis=1, kind="stable")
        return np.asarray(order[:, :size], dtype=np.int64)

    def choices(
        self, values: Sequence[Any], shares: Sequence[float], shape: Shape
    ) -> NDArray[Any]:
        """Return some of ``values``, each with the probability at the same index of ``shares``.

        Example:
            >>> ill = PeopleGenerator("a town").choices(["no", "yes"], [0.9, 0.1], 10_000)
            >>> bool(900 < np.count_nonzero(ill == "yes") < 1100)
            True
        """
        ends = np.cumsum(np.asarray(shares, dtype=np.float64))
        if len(values) != len(shares) or min(shares) < 0 or abs(ends[-1] - 1) > 1e-9:  # noqa: PLR2004
            raise InvalidValue(
                f"Each of the {len(values)} values needs a probability, and all probabilities "
                f"must add up to 1, but {list(shares)} was given."
            )
        # the last end may be a little below 1, so the search leaves it out
        return np.asarray(values)[np.searchsorted(ends[:-1], self.floats(shape), side="right")]
