"""A few ratings that somebody mentioned, found among the ratings of thousands without names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import Finding
from tacit.attacks.measured import Measured

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
