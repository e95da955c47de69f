"""The same question again, or in other words: fresh noise averages out, kept noise does not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured


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
