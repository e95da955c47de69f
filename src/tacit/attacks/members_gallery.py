"""Attacks that identify the people behind published statistics, models and ratings.

Each section holds one attack from the literature: correlations, tracing from means,
membership inference against a model, and linkage of sparse ratings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding, Measured
from tacit.attacks.membership import presence_of_two
from tacit.errors import InvalidValue


def products(people: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each person, the products of all pairs of standardised attributes.

    Example:
        >>> products(np.array([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 3.0, 6.0]]
    """
    first, second = np.triu_indices(people.shape[1], 1)
    return np.asarray(people[:, first] * people[:, second], dtype=np.float64)


def table(people: NDArray[Any]) -> NDArray[np.float64]:
    """Return the correlations that a study would publish: the mean product of each pair."""
    return np.asarray(products(people).mean(axis=0), dtype=np.float64)


def correlation_scores(published: NDArray[Any], people: NDArray[Any]) -> NDArray[np.float64]:
    """Return a score for each person: how well the person's pairs agree with the table.

    Reference: Wang, Li, Wang, Tang, Zhou 2009; Homer et al. 2008.

    Example:
        >>> one = np.array([[1.0, -1.0, 1.0]])
        >>> correlation_scores(table(one), one).tolist()
        [3.0]
    """
    return np.asarray(products(people) @ published, dtype=np.float64)


def expected_correlation_score(people: int, attributes: int) -> float:
    """Return the expected AUC for exact correlations of independent attributes.

    Example:
        >>> (
        ...     round(expected_correlation_score(50, 100), 2),
        ...     round(expected_correlation_score(1000, 100), 2),
        ... )
        (1.0, 0.94)
    """
    pairs = attributes * (attributes - 1) / 2
    return NormalDist().cdf(sqrt(pairs / (2 * people)))


# ------------------------------------------------------------------ tracing from means
# A study publishes only the means of many attributes. Together, they reveal whether a person
# was in the study.


def tracing_scores(
    people: NDArray[Any], means: NDArray[Any], reference: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the inner product of each person with the published means, both centred.

    Both are centred at the reference means. Without centring, the product would have little
    power where attributes are biased.
    Reference: Homer et al. 2008; Dwork, Smith, Steinke, Ullman, Vadhan 2015.

    Example:
        >>> tracing_scores(
        ...     np.array([[1, 1], [0, 0]]), np.array([0.6, 0.7]), np.array([0.5, 0.5])
        ... )
        array([ 0.15, -0.15])
    """
    lean = np.asarray(means, dtype=np.float64) - reference
    # the data is not centred itself, because that would copy 20,000 columns
    return np.asarray(people @ lean - reference @ lean, dtype=np.float64)


def expected_tracing_score(people: int, attributes: int, noise: float = 0.0) -> float:
    """Return the expected AUC for attributes of -1 and 1 with equal probability.

    ``noise`` is the standard deviation of the noise of each mean.

    Example:
        >>> (
        ...     round(expected_tracing_score(100, 1000), 2),
        ...     round(expected_tracing_score(100, 10_000, noise=2), 2),
        ... )
        (0.99, 0.64)
    """
    width = people * sqrt(2 * (1 / people + noise**2))
    return NormalDist().cdf(sqrt(attributes) / width)


def tracing(
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """Measure how often scores distinguish a member of the study from another person.

    The study has the same size with either of them, so that ``allowed`` is the limit of an
    exchange.
    """
    return presence_of_two("tracing from means", system, members, others, allowed)


# ------------------------------------------------------------------ training data of a model
# A model is often more confident about the people in its training data. The attacker compares
# the model's confidence with that of shadow models, which the attacker trained.

Predict = Callable[[NDArray[Any]], NDArray[Any]]
"""A function from features to class probabilities, as scikit-learn's ``predict_proba``."""

Fit = Callable[[NDArray[Any], NDArray[Any]], Predict]
"""A function from features and labels (0, 1, ...) to a model of any library."""

LEAST = 1e-6
"""Smallest distance of a probability from 0 and 1, where its logit would be infinite."""


def confidences(
    fit: Fit, features: NDArray[Any], labels: NDArray[Any], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the logit confidence of each model in each person's label, one row for a model.

    A row of ``used`` says which people are in the training data of the model.
    """
    rows = []
    for chosen in used:
        predict = fit(features[chosen], labels[chosen])
        own = predict(features)[np.arange(labels.size), labels]
        clipped = np.clip(own, LEAST, 1 - LEAST)
        rows.append(np.log(clipped / (1 - clipped)))
    return np.array(rows)


def likelihood_ratios(
    shadows: NDArray[Any], used: NDArray[np.bool_], seen: NDArray[Any]
) -> NDArray[np.float64]:
    """Return, for each person, the log likelihood ratio of being in the training data.

    ``shadows`` are the `confidences` of models that the attacker trained, and ``used`` says who
    was in the training data of each. ``seen`` are the confidences of the attacked model. Both
    distributions are assumed to be normal.
    Reference: Carlini et al. 2022, algorithm 1 (LiRA).

    Example:
        >>> shadows = np.array([[3.0], [0.0], [3.2], [0.2]])
        >>> used = np.array([[True], [False], [True], [False]])
        >>> likelihood_ratios(shadows, used, np.array([3.1]))[0] > 0
        np.True_
    """
    if (used.sum(axis=0) < 2).any() or ((~used).sum(axis=0) < 2).any():  # noqa: PLR2004
        raise InvalidValue(
            "Each person must be in the training data of two shadow models or more, and not "
            "in that of two others or more."
        )
    with_them = _log_likelihood(shadows, used, seen)
    return with_them - _log_likelihood(shadows, ~used, seen)


def _log_likelihood(
    shadows: NDArray[Any], chosen: NDArray[np.bool_], seen: NDArray[Any]
) -> NDArray[np.float64]:
    count = chosen.sum(axis=0)
    mean = np.where(chosen, shadows, 0).sum(axis=0) / count
    square = np.where(chosen, (shadows - mean) ** 2, 0).sum(axis=0) / count
    # few shadow models estimate one person's variance badly: shrink it to the mean of all
    spread = (square * count + square.mean() * 2) / (count + 2) + LEAST
    return np.asarray(-((seen - mean) ** 2) / (2 * spread) - np.log(spread) / 2)


# ------------------------------------------------------------------ linkage of sparse data
# The attacker knows a few ratings of a person, and finds the person among thousands of people
# without names.

RATING_WIDTH, DAY_WIDTH = 1.5, 30.0
"""Widths of the exponential decay of similarity with the difference of ratings and of days."""

ECCENTRICITY = 1.5
"""Number of standard deviations by which the best score must exceed the second."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings of items by people, with their days: one entry for each, sorted by item."""

    person: NDArray[np.int64]
    rating: NDArray[np.int64]
    day: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Index of the first entry of each item, and then the number of entries."""
    people: int

    @classmethod
    def of(
        cls,
        person: NDArray[np.int64],
        item: NDArray[np.int64],
        rating: NDArray[np.int64],
        day: NDArray[np.int64],
    ) -> "Ratings":
        """Return ratings from entries in any order; people and items are numbered from 0."""
        order = np.argsort(item, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(item))])
        people = int(person.max()) + 1
        return cls(person[order], rating[order], day[order], starts, people)

    def scores(
        self, item: NDArray[np.int64], rating: NDArray[np.int64], day: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the similarity of each person to the person with these known ratings.

        An item with few ratings has more weight: the weight is the inverse of the logarithm of
        the number of its ratings.
        Reference: Narayanan, Shmatikov 2008, section 4 (Scoreboard-RH).
        """
        found = np.zeros(self.people)
        for which, how, when in zip(item, rating, day, strict=True):
            if which + 1 >= self.starts.size:
                continue
            here = slice(self.starts[which], self.starts[which + 1])
            support = max(2, here.stop - here.start)
            like = np.exp(-np.abs(self.rating[here] - how) / RATING_WIDTH)
            like += np.exp(-np.abs(self.day[here] - when) / DAY_WIDTH)
            found[self.person[here]] += like / np.log(support)
        return found


def stands_out(scores: NDArray[Any], eccentricity: float = ECCENTRICITY) -> int | None:
    """Return the person whose score is far above all other scores, or None.

    Example:
        >>> stands_out(np.array([0.0, 0.1, 5.0, 0.2])), stands_out(np.array([1.0, 1.1, 1.2]))
        (2, None)
    """
    second, best = np.partition(scores, -2)[-2:]
    spread = float(scores.std())
    far = spread > 0 and (best - second) / spread >= eccentricity
    return int(np.argmax(scores)) if far else None


def identification(
    system: str,
    named: NDArray[Any],
    truth: NDArray[Any],
    people: int,
    allowed: float | None = None,
) -> Finding:
    """Measure how often the right person of ``people`` was named; -1 means no person.

    Example:
        >>> identification("rows", np.array([3, -1, 4]), np.array([3, 5, 4]), 10).chance
        0.1
    """
    success = Measured.share(float(np.count_nonzero(named == truth)), truth.size)
    learns = f"which of {people:,} people it is"
    return Finding("sparse linkage", system, learns, success, 1 / people, allowed)
