"""Was one person's data used? Scores of releases with them and without."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured


def presence(
    attack: str,
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """How often the attacker tells one whose data was used from one whose was not.

    Each score says how much a release looks as if it held the person: a higher one is a guess
    that it does. A half is a coin.

    Example:
        >>> told = presence("a mean", "exact", np.array([9, 8, 9, 9]), np.array([1, 2, 0, 1]))
        >>> told.success.value
        1.0
    """
    learns = "whose data was used, of two"
    return Finding(attack, system, learns, Measured.area(members, others), 0.5, allowed)


def hits_at(
    members: NDArray[Any], others: NDArray[Any], false_alarms: float = 0.01
) -> Measured:
    """The share of members found where so many others are taken for members by mistake.

    Example:
        >>> hits_at(np.arange(100) + 99, np.arange(100)).value
        1.0
    """
    threshold = np.quantile(others, 1 - false_alarms)
    return Measured.share(float(np.count_nonzero(members > threshold)), members.size)
