"""One very rich person moves a mean, and the weights of a regression, for all to see."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured


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
