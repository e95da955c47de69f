"""Was a person in the data that a model learned from? By how sure it is of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidValue

Predict = Callable[[NDArray[Any]], NDArray[Any]]
"""From features to the probability of each class, as scikit-learn's ``predict_proba``."""

Fit = Callable[[NDArray[Any], NDArray[Any]], Predict]
"""From features and labels, 0, 1, ..., to a model: whatever library it is of."""

LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1, where a logit would be endless."""


def confidences(
    fit: Fit, features: NDArray[Any], labels: NDArray[Any], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How sure each model is of each person's own label, as a logit: a row for each model.

    A row of ``used`` says whose data its model learns from.
    """
    rows = []
    for chosen in used:
        predict = fit(features[chosen], labels[chosen])
        own = predict(features)[np.arange(labels.size), labels]
        kept = np.clip(own, LEAST, 1 - LEAST)
        rows.append(np.log(kept / (1 - kept)))
    return np.array(rows)


def likelihood_ratios(
    shadows: NDArray[Any], used: NDArray[np.bool_], seen: NDArray[Any]
) -> NDArray[np.float64]:
    """For each person, how much likelier the attacked model is one that learned from them.

    ``shadows`` are `confidences` of models that the attacker trained, of which ``used`` says
    who was in; ``seen`` are those of the attacked model. Both laws are taken for normal ones.
    Reference: Carlini et al. 2022, algorithm 1 (LiRA).

    Example:
        >>> shadows = np.array([[3.0], [0.0], [3.2], [0.2]])
        >>> used = np.array([[True], [False], [True], [False]])
        >>> likelihood_ratios(shadows, used, np.array([3.1]))[0] > 0
        np.True_
    """
    if (used.sum(axis=0) < 2).any() or ((~used).sum(axis=0) < 2).any():  # noqa: PLR2004
        raise InvalidValue("Each person is in two shadow models or more, and out of two.")
    with_them = _log_likelihood(shadows, used, seen)
    return with_them - _log_likelihood(shadows, ~used, seen)


def _log_likelihood(
    shadows: NDArray[Any], chosen: NDArray[np.bool_], seen: NDArray[Any]
) -> NDArray[np.float64]:
    count = chosen.sum(axis=0)
    mean = np.where(chosen, shadows, 0).sum(axis=0) / count
    square = np.where(chosen, (shadows - mean) ** 2, 0).sum(axis=0) / count
    # few shadows know one person's spread badly: lean on everybody's
    spread = (square * count + square.mean() * 2) / (count + 2) + LEAST
    return np.asarray(-((seen - mean) ** 2) / (2 * spread) - np.log(spread) / 2)
