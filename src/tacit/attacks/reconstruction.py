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


# ------------------------------------------------------------------ estimates with a prior
# Least squares does not use that secrets are bits, and how many people have them. If few people
# have a secret and the noise is large, its estimates name half of all people.

LEAST = 1e-9
"""Smallest variance of the error of an estimate; rounding errors are larger than 0."""


def estimate_with_prior(
    questions: NDArray[Any], answers: NDArray[Any], share: float, rounds: int = 3 * ROUNDS
) -> tuple[NDArray[np.float64], float]:
    """Return an estimate of each bit, and the variance of its error.

    An estimate is the bit plus an error that is nearly normal. Each bit is 1 with probability
    ``share``, which the attacker knows. The algorithm is approximate message passing: the
    bits of all others are replaced by their posterior means, and the error that these means
    add to an estimate is taken away. For random questions about many people, no estimator of
    polynomial time is known that has less error.
    Reference: Donoho, Maleki, Montanari 2009; Bayati, Montanari 2011 (the variance).

    Example:
        >>> from tacit.attacks.people_generator import PeopleGenerator
        >>> asked = PeopleGenerator("questions").integers(2, (400, 40)).astype(float)
        >>> bits = np.arange(40) % 4 == 0
        >>> found, variance = estimate_with_prior(asked, asked @ bits, 0.25)
        >>> bool(((found > 1 / 2) == bits).all())
        True
    """
    count, people = questions.shape
    prior = min(max(share, 1 / (2 * people)), 1 - 1 / (2 * people))
    # a centred column tells how a person's questions differ from the others
    centred = questions - questions.mean(axis=0)
    scale = max(float(np.square(centred).sum()) / people, LEAST) ** 0.5
    design, target = centred / scale, (answers - answers.mean()) / scale
    means = np.full(people, prior)
    left = target - design @ means
    best = means, float(np.inf)
    for _ in range(rounds):
        variance = max(float(left @ left) / count, LEAST)
        found = means + design.T @ left
        if variance < best[1] * (1 - CLOSE):
            best = found, variance
        means = posterior_means(found, variance, prior)
        slope = float(np.mean(means * (1 - means))) / variance
        left = target - design @ means + (people / count) * slope * left
    return best


def posterior_means(
    estimates: NDArray[Any], variance: float, share: float
) -> NDArray[np.float64]:
    """Return the probability that each bit is 1, given an estimate with a normal error.

    Example:
        >>> posterior_means(np.array([0.5]), 1.0, 0.1).round(3).tolist()
        [0.1]
    """
    odds = np.log(share / (1 - share)) + (estimates - 1 / 2) / variance
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -500, 500))), dtype=np.float64)


def most_likely(estimates: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return 1 for the ``count`` people with the largest estimates, and 0 for all others.

    Example:
        >>> most_likely(np.array([0.2, 0.9, 0.4]), 2).tolist()
        [0, 1, 1]
    """
    named = np.zeros(estimates.size, dtype=np.int64)
    named[np.argsort(-estimates, kind="stable")[:count]] = 1
    return named


# ------------------------------------------------------------------ how much is recovered


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
