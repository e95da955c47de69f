"""Rows without names, joined with a list of names by what both hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding, Measured
from tacit.errors import InvalidValue


def cells(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """A number for each row, equal where all columns are equal.

    Example:
        >>> cells([np.array(["a", "a", "b"]), np.array([1, 1, 1])]).tolist()
        [0, 0, 1]
    """
    if not columns or len({len(column) for column in columns}) != 1:
        raise InvalidValue("Name at least one column, and columns of one length.")
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        pairs = found * (int(codes.max(initial=0)) + 1) + codes
        _, found = np.unique(pairs, return_inverse=True)
    return found.astype(np.int64)


def uniqueness(columns: Sequence[NDArray[Any]], system: str = "rows without names") -> Finding:
    """How many people are alone with what ``columns`` say of them.

    Reference: Sweeney 2000 (ZIP code, birth date and sex: 87% of the people of the United
    States); Golle 2006 (63%).

    Example:
        >>> told = uniqueness([np.array([1, 1, 2, 3])])
        >>> told.success.value
        0.5
    """
    place = cells(columns)
    alone = np.bincount(place)[place] == 1
    learns = "people alone with their public facts"
    success = Measured.share(float(np.count_nonzero(alone)), alone.size)
    return Finding("uniqueness", system, learns, success, 1 / alone.size)


def expected_uniqueness(people: int, shares: NDArray[Any]) -> float:
    """How many are alone, where ``shares`` are the probabilities of all cells.

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
    """How many named people's secrets a join tells: those with one row that fits.

    Where none or several fit, the attacker says what is commonest.

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


# ------------------------------------------------------------------ anonymity
# What k-anonymity leaves open: groups that agree, and attackers who know a little more.
#
# Only public facts make a group here, as in Sweeney's definition, and not the secret.


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
