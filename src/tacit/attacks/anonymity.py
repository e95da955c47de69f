"""What k-anonymity leaves open: groups that agree, and attackers who know a little more.

Only public facts make a group here, as in Sweeney's definition, and not the secret.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.linkage import cells
from tacit.attacks.measured import Measured


def anonymity(columns: Sequence[NDArray[Any]]) -> int:
    """The k of a table: the fewest rows that share their public facts.

    Example:
        >>> anonymity([np.array([1, 1, 2, 2, 2])])
        2
    """
    counts = np.bincount(cells(columns))
    return int(counts[counts > 0].min())


def homogeneity(columns: Sequence[NDArray[Any]], secret: NDArray[Any]) -> Finding:
    """How many people's secret is told because their whole group shares it.

    Reference: Machanavajjhala et al. 2007, section 2.

    Example:
        >>> grades = np.array(["A"] * 100)
        >>> homogeneity([np.zeros(100)], grades).success.value
        1.0
    """
    return _told("homogeneity", "a secret that all in a group share", columns, secret)


def background(
    columns: Sequence[NDArray[Any]], secret: NDArray[Any], ruled_out: object
) -> Finding:
    """How many people's secret is told to one who knows that they do not have ``ruled_out``.

    Whoever has it is not asked about.

    Example:
        >>> group, secret = np.zeros(4), np.array(["flu", "flu", "cancer", "flu"])
        >>> background([group], secret, "cancer").success.value
        1.0
    """
    kept = secret != ruled_out
    inside = [column[kept] for column in columns]
    learns = f"a secret, once {ruled_out} is ruled out"
    return _told("background knowledge", learns, inside, secret[kept])


def _told(
    attack: str, learns: str, columns: Sequence[NDArray[Any]], secret: NDArray[Any]
) -> Finding:
    place = cells(columns)
    _, codes = np.unique(secret, return_inverse=True)
    kinds = np.unique(np.stack([place, codes]), axis=1)[0]
    alike = np.bincount(kinds)[place] == 1
    success = Measured.share(float(np.count_nonzero(alike)), alike.size)
    return Finding(attack, f"k-anonymous rows, k = {anonymity(columns)}", learns, success, 0.0)
