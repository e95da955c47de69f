"""Reconstruction of secret bits from many counts of random groups, by least squares."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding, Measured

STEPS = 100
ROUNDS = 20
CLOSE = 1e-5
"""Relative residual of the normal equations at which the solver stops."""


def least_squares(
    questions: Any, answers: NDArray[Any], steps: int = STEPS
) -> NDArray[np.float64]:
    """Return the value of each person by least squares from ``answers`` to ``questions``.

    ``questions`` has a row for each question and a column for each person, with 1 where the
    person is counted. It is an array, or a sparse array of SciPy. The solver is the method of
    conjugate gradients, so that the matrix is never multiplied by its transpose.
    Reference: Dinur, Nissim 2003; Hestenes, Stiefel 1952 (the solver).

    Example:
        >>> asked = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> np.abs(least_squares(asked, np.array([1, 1, 2, 2])).round(6)).tolist()
        [1.0, 0.0, 1.0]
    """
    found = np.zeros(questions.shape[1])
    left = np.asarray(answers, dtype=np.float64)
    toward = slope = questions.T @ left
    first = size = float(slope @ slope)
    for _ in range(steps):
        if size <= CLOSE**2 * first:
            break
        seen = questions @ toward
        step = size / float(seen @ seen)
        found = found + step * toward
        left = left - step * seen
        slope = questions.T @ left
        before, size = size, float(slope @ slope)
        toward = slope + size / before * toward
    return found


def refine_estimate(
    questions: Any, answers: NDArray[Any], estimate: NDArray[Any], rounds: int = ROUNDS
) -> NDArray[np.float64]:
    """Return improved values, each computed from the residual of all others' rounded values.

    Rounding uses the fact that secrets are bits, which least squares does not use.

    Example:
        >>> asked = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> rough = np.array([0.9, 0.4, 0.7])
        >>> np.abs(refine_estimate(asked, np.array([1, 1, 2, 2]), rough).round(6)).tolist()
        [1.0, 0.0, 1.0]
    """
    count = questions.shape[0]
    sums = np.asarray(questions.sum(axis=0), dtype=np.float64)
    # after centring, the columns of different people are nearly orthogonal
    size = np.maximum(sums - sums**2 / count, 1e-9)
    found = np.asarray(estimate, dtype=np.float64)
    for _ in range(rounds):
        bits = (found > 1 / 2).astype(np.float64)
        left = answers - questions @ bits
        found = bits + (questions.T @ (left - left.mean())) / size
        if np.array_equal(found > 1 / 2, bits > 1 / 2):
            break
    return found


def expected_recovery(secrets: int, questions: int, noise: float) -> float:
    """Return the expected share of bits that least squares recovers from random halves.

    ``noise`` is the standard deviation of the noise of each answer.

    Example:
        >>> round(expected_recovery(512, 4096, 512**0.5 / 2), 2)
        0.91
    """
    return NormalDist().cdf(sqrt(questions - secrets) / (4 * noise))


def bits_recovered(
    attack: str,
    system: str,
    estimate: NDArray[Any],
    secrets: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """Measure the share of secret bits that an estimate recovers.

    A blind guess recovers the share of the more frequent bit.

    Example:
        >>> bits = np.array([1, 0, 1, 0])
        >>> bits_recovered(
        ...     "least squares", "exact", np.array([0.9, 0.2, 0.8, 0.1]), bits
        ... ).chance
        0.5
    """
    hits = float(np.count_nonzero((estimate > 1 / 2) == (secrets > 1 / 2)))
    ones = float(secrets.mean())
    learns = f"{secrets.size:,} secret bits"
    success = Measured.share(hits, secrets.size)
    return Finding(attack, system, learns, success, max(ones, 1 - ones), allowed)
