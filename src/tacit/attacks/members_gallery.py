"""Tables of correlations, as of genes, tell who was in the study and in which group."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding, Measured
from tacit.attacks.membership import presence
from tacit.errors import InvalidValue


def products(people: NDArray[Any]) -> NDArray[np.float64]:
    """For each person, the product of every pair of their standardised attributes.

    Example:
        >>> products(np.array([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 3.0, 6.0]]
    """
    first, second = np.triu_indices(people.shape[1], 1)
    return np.asarray(people[:, first] * people[:, second], dtype=np.float64)


def table(people: NDArray[Any]) -> NDArray[np.float64]:
    """The correlations that a study would publish: the mean product of every pair."""
    return np.asarray(products(people).mean(axis=0), dtype=np.float64)


def correlation_scores(published: NDArray[Any], people: NDArray[Any]) -> NDArray[np.float64]:
    """How much each person's own pairs agree with the table.

    Reference: Wang, Li, Wang, Tang, Zhou 2009; Homer et al. 2008.

    Example:
        >>> one = np.array([[1.0, -1.0, 1.0]])
        >>> correlation_scores(table(one), one).tolist()
        [3.0]
    """
    return np.asarray(products(people) @ published, dtype=np.float64)


def expected_correlation_score(people: int, attributes: int) -> float:
    """The area under the curve for exact correlations of independent attributes.

    Example:
        >>> (
        ...     round(expected_correlation_score(50, 100), 2),
        ...     round(expected_correlation_score(1000, 100), 2),
        ... )
        (1.0, 0.94)
    """
    pairs = attributes * (attributes - 1) / 2
    return NormalDist().cdf(sqrt(pairs / (2 * people)))


# ------------------------------------------------------------------ tracing
# Was a person in a study that published nothing but means? By many of them, yes.


def tracing_scores(
    people: NDArray[Any], means: NDArray[Any], reference: NDArray[Any]
) -> NDArray[np.float64]:
    """How far each person leans to where the published means lean from the reference.

    Both are centred by the reference: without that, the product of a mean and a record tells
    little where attributes are biased.
    Reference: Homer et al. 2008; Dwork, Smith, Steinke, Ullman, Vadhan 2015.

    Example:
        >>> tracing_scores(
        ...     np.array([[1, 1], [0, 0]]), np.array([0.6, 0.7]), np.array([0.5, 0.5])
        ... )
        array([ 0.15, -0.15])
    """
    lean = np.asarray(means, dtype=np.float64) - reference
    # the people stay as they are: centring 20,000 columns of each would copy them
    return np.asarray(people @ lean - reference @ lean, dtype=np.float64)


def expected_tracing_score(people: int, attributes: int, noise: float = 0.0) -> float:
    """The area under the curve for even attributes of -1 and 1, with noise of that size.

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
    """How often `scores` tell a member of the study from somebody else."""
    return presence("tracing from means", system, members, others, allowed)


# ------------------------------------------------------------------ model membership
# Was a person in the data that a model learned from? By how sure it is of them.

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


# ------------------------------------------------------------------ sparse linkage
# A few ratings that somebody mentioned, found among the ratings of thousands without names.

RATING_WIDTH, DAY_WIDTH = 1.5, 30.0
"""How fast a likeness falls off with the difference of ratings, and of days."""

ECCENTRICITY = 1.5
"""The best is taken where it stands out from the second by so many standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Who rated which item, how, and on which day: one entry each, sorted by item."""

    person: NDArray[np.int64]
    rating: NDArray[np.int64]
    day: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where the entries of each item begin, and after the last one where they end."""
    people: int

    @classmethod
    def of(
        cls,
        person: NDArray[np.int64],
        item: NDArray[np.int64],
        rating: NDArray[np.int64],
        day: NDArray[np.int64],
    ) -> "Ratings":
        """Entries in any order; people and items are numbered from 0."""
        order = np.argsort(item, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(item))])
        people = int(person.max()) + 1
        return cls(person[order], rating[order], day[order], starts, people)

    def scores(
        self, item: NDArray[np.int64], rating: NDArray[np.int64], day: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """How much each person looks like the one of whom these few ratings are known.

        Rare items count more, by the logarithm of how many rated them.
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
    """The one whose score is far above all others', or nobody.

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
    """How often the right one of ``people`` was named; -1 stands for nobody.

    Example:
        >>> identification("rows", np.array([3, -1, 4]), np.array([3, 5, 4]), 10).chance
        0.1
    """
    success = Measured.share(float(np.count_nonzero(named == truth)), truth.size)
    learns = f"which of {people:,} people it is"
    return Finding("sparse linkage", system, learns, success, 1 / people, allowed)
