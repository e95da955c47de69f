"""The same question again, or in other words: fresh noise averages out, kept noise does not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tacit.attacks.finding import Finding, Measured
from tacit.errors import InternalError, InvalidValue


def averaged(answers: NDArray[Any]) -> NDArray[np.float64]:
    """The mean of each row of answers to one question.

    Example:
        >>> averaged(np.array([[9, 11], [4, 6]])).tolist()
        [10.0, 5.0]
    """
    return np.asarray(answers.mean(axis=1), dtype=np.float64)


def averaging(
    system: str,
    answers: NDArray[Any],
    present: NDArray[np.bool_],
    everyone_else: float,
    allowed: float | None = None,
) -> Finding:
    """How often the mean of a row of counts tells whether one person is among those counted.

    The attacker knows the count of ``everyone_else``, and that half of the rows have one more.

    Example:
        >>> rows = np.array([[101, 101, 100], [99, 100, 101]])
        >>> averaging("noise anew", rows, np.array([True, False]), 100.0).success.value
        1.0
    """
    guess = averaged(answers) > everyone_else + 0.5
    hits = float(np.count_nonzero(guess == present))
    learns = f"is one person in, by {answers.shape[1]} answers"
    return Finding(
        "averaging", system, learns, Measured.share(hits, present.size), 0.5, allowed
    )


# ------------------------------------------------------------------ differencing
# Two means, before and after somebody left: together they tell what that person had.


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


# ------------------------------------------------------------------ decoding
# Linear programming, which tells secret bits even where some answers are lies.


def decode(questions: Any, answers: NDArray[Any]) -> NDArray[np.float64]:
    """What each person has, in [0, 1], so that the answers are off by least in all.

    The sum of absolute errors forgives a few wild answers, where least squares does not.
    Reference: Dwork, McSherry, Talwar 2007 (fewer than 0.239 of the answers may be arbitrary).

    Example:
        >>> asked = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
        >>> decode(asked, np.array([1, 1, 2, 900, 1])).round().tolist()
        [1.0, 0.0, 1.0]
    """
    asked = csr_array(questions)
    count, people = asked.shape
    errors = eye_array(count)
    within: Any = vstack([hstack([asked, -errors]), hstack([-asked, -errors])])
    cost = np.concatenate([np.zeros(people), np.ones(count)])
    limits = [(0, 1)] * people + [(0, None)] * count
    solved = linprog(
        cost,
        A_ub=within,
        b_ub=np.concatenate([answers, -answers]),
        bounds=limits,
        method="highs",
    )
    if solved.x is None:
        raise InternalError("A linear program that always has a solution had none.")
    return np.asarray(solved.x[:people], dtype=np.float64)


# ------------------------------------------------------------------ exhaustive
# A small database from all its subset sums: every candidate is tried.

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


# ------------------------------------------------------------------ local sensitivity
# Noise that fits the data tells of the data by its size.


def median_sensitivity(values: NDArray[Any], low: float, high: float) -> float:
    """How far one more or other value moves the median of an odd number of values, from here.

    Example:
        >>> median_sensitivity(np.array([0, 0, 0, 9, 9]), 0, 9)
        9.0
        >>> median_sensitivity(np.array([0, 0, 0, 0, 9]), 0, 9)
        0.0
    """
    ordered = np.concatenate([[low], np.sort(values), [high]])
    middle = ordered.size // 2
    return float(np.diff(ordered[middle - 1 : middle + 2]).max())


def side_channel(
    system: str,
    calm: NDArray[Any],
    shaken: NDArray[Any],
    value: float,
    allowed: float | None = None,
) -> Finding:
    """How often one answer tells which of two neighbours it is about, by its noise alone.

    Both have the median ``value``. On the ``calm`` one nobody can move it, so that noise of the
    local sensitivity is none: whoever sees exactly ``value`` knows.

    Example:
        >>> calm, shaken = np.zeros(8), np.array([3, -9, 1, 4, -2, 7, 5, -1])
        >>> side_channel("noise of local sensitivity", calm, shaken, 0).success.value
        1.0
    """
    hits = np.count_nonzero(calm == value) + np.count_nonzero(shaken != value)
    tries = calm.size + shaken.size
    learns = "which of two neighbours, by the size of the noise"
    success = Measured.share(float(hits), tries)
    return Finding("local sensitivity", system, learns, success, 0.5, allowed)


# ------------------------------------------------------------------ outlier
# One very rich person moves a mean, and the weights of a regression, for all to see.


def weights(features: NDArray[Any], target: NDArray[Any]) -> NDArray[np.float64]:
    """The least-squares weights that a hospital would publish, the constant last.

    Example:
        >>> weights(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])).round(6)
        array([2., 1.])
    """
    with_constant = np.column_stack([features, np.ones(len(features))])
    found, *_ = np.linalg.lstsq(with_constant, target, rcond=None)
    return np.asarray(found, dtype=np.float64)


def odd_one_out(published: NDArray[Any]) -> NDArray[np.int64]:
    """In each row, the hospital whose number is farthest from the middle of all.

    Example:
        >>> odd_one_out(np.array([[1.0, 1.1, 0.2, 0.9]])).tolist()
        [2]
    """
    middle = np.median(published, axis=1, keepdims=True)
    return np.asarray(np.argmax(np.abs(published - middle), axis=1), dtype=np.int64)


def outlier(
    attack: str,
    system: str,
    published: NDArray[Any],
    truth: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """How often the published numbers tell in which hospital the outlier is.

    Example:
        >>> rows, truth = np.array([[50.0, 51.0, 9000.0]]), np.array([2])
        >>> outlier("a mean", "exact", rows, truth).success.value
        1.0
    """
    hits = float(np.count_nonzero(odd_one_out(published) == truth))
    learns = f"in which of {published.shape[1]} hospitals the outlier is"
    success = Measured.share(hits, truth.size)
    return Finding(attack, system, learns, success, 1 / published.shape[1], allowed)
