"""Attacks on published answers: averaging, differencing, decoding and outliers.

Each section holds one attack from the literature: the attacker's computation, and a function
that returns a `Finding` with the measured success.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tacit.attacks.finding import Finding, Measured
from tacit.errors import InternalError, InvalidValue

# ------------------------------------------------------------------ averaging
# If each repeat of a question has fresh noise, the mean of the repeats removes the noise. If
# the noise is stored and repeated, the mean of the repeats shows nothing new.


def row_means(answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of each row of answers to one question.

    Example:
        >>> row_means(np.array([[9, 11], [4, 6]])).tolist()
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
    """Measure how often the mean of a row of counts reveals whether one person is counted.

    The attacker knows the count of ``everyone_else``, and that half of the rows have one more.

    Example:
        >>> rows = np.array([[101, 101, 100], [99, 100, 101]])
        >>> averaging("fresh noise", rows, np.array([True, False]), 100.0).success.value
        1.0
    """
    guess = row_means(answers) > everyone_else + 0.5
    hits = float(np.count_nonzero(guess == present))
    learns = f"is one person in, by {answers.shape[1]} answers"
    return Finding(
        "averaging", system, learns, Measured.share(hits, present.size), 0.5, allowed
    )


# ------------------------------------------------------------------ differencing
# A mean is published before and after a person leaves a group. Together, the two means reveal
# the value of that person.


def difference(before: NDArray[Any], after: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return the value of the person who left, from the means before and after.

    The group had ``count`` people before, and one fewer after.

    Example:
        >>> difference(np.array([52.0]), np.array([50.0]), 5).tolist()
        [60.0]
    """
    if count < 2:  # noqa: PLR2004 - one person leaves and at least one stays
        raise InvalidValue(f"A group needs two people or more, but {count} were given.")
    return np.asarray(count * before - (count - 1) * after, dtype=np.float64)


def rms_error(guesses: NDArray[Any], truth: NDArray[Any] | float) -> float:
    """Return the root mean squared error of ``guesses``.

    Example:
        >>> rms_error(np.array([3.0, -3.0]), 0.0)
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
    """Measure how often a guess is within ``within`` of the value of the person who left.

    ``chance`` is the success of a guess that knows only the bounds of the column.

    Example:
        >>> differencing("exact", np.array([60.0] * 9), 60.0, 1.0, 0.02).verdict.name
        'TOLD'
    """
    hits = np.abs(guesses - truth) <= within
    success = Measured.share(float(np.count_nonzero(hits)), guesses.size)
    return Finding("differencing", system, f"a salary, to {within:g}", success, chance)


# ------------------------------------------------------------------ linear programming decoding
# Linear programming recovers secret bits from counts, even if some of the counts are wrong by
# any amount.


def decode(questions: Any, answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the value of each person, in [0, 1], with the least sum of absolute errors.

    Unlike least squares, the sum of absolute errors tolerates a few arbitrary answers.
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
        raise InternalError("The linear program always has a solution, but none was found.")
    return np.asarray(solved.x[:people], dtype=np.float64)


# ------------------------------------------------------------------ exhaustive search
# A small database is recovered from noisy answers to all subset sums, by trying every
# candidate database.

MOST = 14
"""Maximum number of people: 2**14 databases are tried against 2**14 questions."""


def databases(people: int) -> NDArray[np.float32]:
    """Return all databases of ``people`` bits, one in each row; they are also all subsets.

    Example:
        >>> databases(2).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    if not 1 <= people <= MOST:
        raise InvalidValue(
            f"An exhaustive search supports 1 to {MOST} people, but {people} were given."
        )
    numbers = np.arange(2**people)[:, None]
    return np.asarray(numbers >> np.arange(people)[::-1] & 1, dtype=np.float32)


def worst_errors(answers: NDArray[Any], people: int) -> NDArray[np.float64]:
    """Return, for each database, its largest error over the answers to all subsets.

    ``answers`` are in the order of the subsets of `databases`.
    """
    rows = databases(people)
    given = np.asarray(answers, dtype=np.float32)
    blocks = np.array_split(rows, max(1, len(rows) // 1024))
    return np.concatenate([np.abs(block @ rows.T - given).max(axis=1) for block in blocks])


def consistent(answers: NDArray[Any], people: int, most: float) -> NDArray[np.float32]:
    """Return all databases whose error is at most ``most`` for every answer.

    Guarantee: if the error of the answers is at most ``most``, each of these databases differs
    from the true one in at most 4 * ``most`` people.
    Reference: Dinur, Nissim 2003, theorem 3 ("blatant non-privacy").

    Example:
        >>> truth = np.array([1.0, 0.0, 1.0])
        >>> consistent(databases(3) @ truth, 3, 0).tolist()
        [[1.0, 0.0, 1.0]]
    """
    return databases(people)[worst_errors(answers, people) <= most + 1e-3]


def nearest(answers: NDArray[Any], people: int) -> NDArray[np.float32]:
    """Return the database with the least sum of squared errors.

    An attacker uses it where no bound on the errors of the answers is known.

    Example:
        >>> truth = np.array([1.0, 0.0, 1.0])
        >>> nearest(databases(3) @ truth + 0.4, 3).tolist()
        [1.0, 0.0, 1.0]
    """
    rows = databases(people)
    # the sum of squared errors, without a constant that is the same for all databases
    misses = np.sum(rows @ (rows.T @ rows) * rows, axis=1) - 2 * rows @ (rows.T @ answers)
    found: NDArray[np.float32] = rows[np.argmin(misses)]
    return found


# ------------------------------------------------------------------ local sensitivity
# If noise is scaled to the local sensitivity of the data, the size of the noise reveals
# something about the data.


def median_sensitivity(values: NDArray[Any], low: float, high: float) -> float:
    """Return the local sensitivity of the median of an odd number of values.

    It is the largest change of the median when one value is added or replaced.

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
    """Measure how often the noise of one answer reveals which of two tables it is about.

    The tables differ in the value of one person, so that ``allowed`` is the limit of an
    exchange. Both have the median ``value``. In the first, whose answers are ``calm``, the
    local sensitivity is 0, so that there is no noise: an answer equal to ``value`` identifies
    it.

    Example:
        >>> calm, shaken = np.zeros(8), np.array([3, -9, 1, 4, -2, 7, 5, -1])
        >>> side_channel("noise of local sensitivity", calm, shaken, 0).success.value
        1.0
    """
    hits = np.count_nonzero(calm == value) + np.count_nonzero(shaken != value)
    tries = calm.size + shaken.size
    learns = "which of two values one person has, by the size of the noise"
    success = Measured.share(float(hits), tries)
    return Finding("local sensitivity", system, learns, success, 0.5, allowed)


# ------------------------------------------------------------------ outlier
# One outlier, such as a very rich person, changes a mean or the weights of a regression so much
# that everybody can see it.


def weights(features: NDArray[Any], target: NDArray[Any]) -> NDArray[np.float64]:
    """Return the least-squares weights that a hospital would publish; the constant is last.

    Example:
        >>> weights(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])).round(6)
        array([2., 1.])
    """
    with_constant = np.column_stack([features, np.ones(len(features))])
    found, *_ = np.linalg.lstsq(with_constant, target, rcond=None)
    return np.asarray(found, dtype=np.float64)


def odd_one_out(published: NDArray[Any]) -> NDArray[np.int64]:
    """Return, for each row, the hospital whose number is farthest from the median.

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
    """Measure how often the published numbers reveal which hospital has the outlier.

    Example:
        >>> rows, truth = np.array([[50.0, 51.0, 9000.0]]), np.array([2])
        >>> outlier("a mean", "exact", rows, truth).success.value
        1.0
    """
    hits = float(np.count_nonzero(odd_one_out(published) == truth))
    learns = f"in which of {published.shape[1]} hospitals the outlier is"
    success = Measured.share(hits, truth.size)
    return Finding(attack, system, learns, success, 1 / published.shape[1], allowed)
