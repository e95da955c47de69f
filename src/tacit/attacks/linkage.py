"""Linkage attacks on rows without names, and attacks on k-anonymity.

Rows without names are joined with a list of names by the public facts that both contain.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding, Measured
from tacit.errors import InvalidValue


def cells(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return a number for each row, which is equal for rows that agree in all columns.

    Example:
        >>> cells([np.array(["a", "a", "b"]), np.array([1, 1, 1])]).tolist()
        [0, 0, 1]
    """
    if not columns or len({len(column) for column in columns}) != 1:
        raise InvalidValue("Give at least one column, and columns of the same length.")
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        pairs = found * (int(codes.max(initial=0)) + 1) + codes
        _, found = np.unique(pairs, return_inverse=True)
    return found.astype(np.int64)


def uniqueness(columns: Sequence[NDArray[Any]], system: str = "rows without names") -> Finding:
    """Measure the share of people whose values in ``columns`` are unique.

    Reference: Sweeney 2000 (ZIP code, birth date and sex: 87% of the people of the United
    States); Golle 2006 (63%).

    Example:
        >>> uniqueness([np.array([1, 1, 2, 3])]).success.value
        0.5
    """
    place = cells(columns)
    alone = np.bincount(place)[place] == 1
    learns = "people alone with their public facts"
    success = Measured.share(float(np.count_nonzero(alone)), alone.size)
    return Finding("uniqueness", system, learns, success, 1 / alone.size)


def expected_uniqueness(people: int, shares: NDArray[Any]) -> float:
    """Return the expected share of unique people; ``shares`` are the cell probabilities.

    Example:
        >>> round(expected_uniqueness(100, np.full(1000, 1 / 1000)), 2)
        0.91
    """
    return float(np.sum(shares * np.exp((people - 1) * np.log1p(-shares))))


def linkage(
    released: Sequence[NDArray[Any]],
    secret: NDArray[Any],
    named: Sequence[NDArray[Any]],
    truth: NDArray[Any],
    system: str = "rows without names",
) -> Finding:
    """Measure how often a join reveals the secret of a named person.

    If exactly one row matches, the attacker takes its secret. If none or several match, the
    attacker guesses the most frequent secret.

    Example:
        >>> rows, secret = [np.array([1, 2, 2])], np.array(["flu", "none", "none"])
        >>> names, truth = [np.array([1, 2, 3])], np.array(["flu", "none", "none"])
        >>> linkage(rows, secret, names, truth).success.value
        1.0
    """
    together = [np.concatenate(pair) for pair in zip(released, named, strict=True)]
    place = cells(together)
    rows, asked = place[: secret.size], place[secret.size :]
    counts = np.bincount(rows, minlength=int(place.max()) + 1)
    row_of = np.zeros(counts.size, dtype=np.int64)
    row_of[rows] = np.arange(secret.size)
    values, codes = np.unique(secret, return_inverse=True)
    commonest = values[np.argmax(np.bincount(codes))]
    guess = np.where(counts[asked] == 1, secret[row_of[asked]], commonest)
    hits = Measured.share(float(np.count_nonzero(guess == truth)), truth.size)
    chance = float(np.mean(truth == commonest))
    return Finding("linkage", system, "named people's secrets", hits, chance)


# ------------------------------------------------------------------ k-anonymity
# k-anonymity does not protect a secret that a whole group shares, or against attackers with
# background knowledge. As in Sweeney's definition, a group is defined by public facts only, and
# not by the secret.


def anonymity(columns: Sequence[NDArray[Any]]) -> int:
    """Return the k of a table: the smallest number of rows that share their public facts.

    Example:
        >>> anonymity([np.array([1, 1, 2, 2, 2])])
        2
    """
    counts = np.bincount(cells(columns))
    return int(counts[counts > 0].min())


def homogeneity(columns: Sequence[NDArray[Any]], secret: NDArray[Any]) -> Finding:
    """Measure the share of people whose secret is revealed because their group shares it.

    Reference: Machanavajjhala et al. 2007, section 2.

    Example:
        >>> grades = np.array(["A"] * 100)
        >>> homogeneity([np.zeros(100)], grades).success.value
        1.0
    """
    return _shared_secrets("homogeneity", "a secret that all in a group share", columns, secret)


def background(
    columns: Sequence[NDArray[Any]], secret: NDArray[Any], ruled_out: object
) -> Finding:
    """Measure the share of people whose secret is revealed by background knowledge.

    The attacker knows that they do not have the value ``ruled_out``. People who have it are
    left out.

    Example:
        >>> group, secret = np.zeros(4), np.array(["flu", "flu", "cancer", "flu"])
        >>> background([group], secret, "cancer").success.value
        1.0
    """
    kept = secret != ruled_out
    inside = [column[kept] for column in columns]
    learns = f"a secret, once {ruled_out} is ruled out"
    return _shared_secrets("background knowledge", learns, inside, secret[kept])


def _shared_secrets(
    attack: str, learns: str, columns: Sequence[NDArray[Any]], secret: NDArray[Any]
) -> Finding:
    place = cells(columns)
    _, codes = np.unique(secret, return_inverse=True)
    kinds = np.unique(np.stack([place, codes]), axis=1)[0]
    alike = np.bincount(kinds)[place] == 1
    success = Measured.share(float(np.count_nonzero(alike)), alike.size)
    return Finding(attack, f"k-anonymous rows, k = {anonymity(columns)}", learns, success, 0.0)
