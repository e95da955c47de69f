"""Two means, before and after somebody left: together they tell what that person had."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured
from tacit.errors import InvalidValue


def difference(before: NDArray[Any], after: NDArray[Any], count: int) -> NDArray[np.float64]:
    """What whoever left had, by means of ``count`` people before and one less after.

    Example:
        >>> difference(np.array([52.0]), np.array([50.0]), 5).tolist()
        [60.0]
    """
    if count < 2:  # noqa: PLR2004 - one leaves and one stays
        raise InvalidValue(f"Somebody stays: two people or more, and {count} were given.")
    return np.asarray(count * before - (count - 1) * after, dtype=np.float64)


def miss(guesses: NDArray[Any], truth: NDArray[Any] | float) -> float:
    """The root of the mean squared error of ``guesses``.

    Example:
        >>> miss(np.array([3.0, -3.0]), 0.0)
        3.0
    """
    return float(np.sqrt(np.mean((guesses - truth) ** 2)))


def differencing(
    system: str,
    guesses: NDArray[Any],
    truth: NDArray[Any] | float,
    within: float,
    chance: float,
) -> Finding:
    """How often the value of whoever left is told to ``within``; ``chance`` knows the bounds.

    Example:
        >>> differencing("exact", np.array([60.0] * 9), 60.0, 1.0, 0.02).verdict.name
        'TOLD'
    """
    hits = np.abs(guesses - truth) <= within
    success = Measured.share(float(np.count_nonzero(hits)), guesses.size)
    return Finding("differencing", system, f"a salary, to {within:g}", success, chance)
