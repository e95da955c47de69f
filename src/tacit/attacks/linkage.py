"""Linkage attacks on rows without names, and attacks on k-anonymity.

Rows without names are joined with a list of names by the public facts that both contain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.chance import Guesses, judge
from tacit.attacks.finding import Finding, Measured
from tacit.errors import InvalidValue


def cells(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return a number for each row, which is equal for rows that agree in all columns.

    Example:
        >>> cells([np.array(["a", "a", "b"]), np.array([1, 1, 1])]).tolist()
        [0, 0, 1]
    """
    if not columns or len({len(column) for column in columns}) != 1:
        raise InvalidValue("Give at least one column, and columns of the same length.")
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        pairs = found * (int(codes.max(initial=0)) + 1) + codes
        _, found = np.unique(pairs, return_inverse=True)
    return found.astype(np.int64)


def uniqueness(columns: Sequence[NDArray[Any]], system: str = "rows without names") -> Finding:
    """Measure the share of people whose values in ``columns`` are unique.

    Reference: Sweeney 2000 (ZIP code, birth date and sex: 87% of the people of the United
    States); Golle 2006 (63%).

    Example:
        >>> uniqueness([np.array([1, 1, 2, 3])]).success.value
        0.5
    """
    place = cells(columns)
    alone = np.bincount(place)[place] == 1
    learns = "people alone with their public facts"
    found = int(np.count_nonzero(alone))
    success = Measured.share(found, alone.size)
    return Finding("uniqueness", system, learns, success, 0.0, proved=found)


def expected_uniqueness(people: int, shares: NDArray[Any]) -> float:
    """Return the expected share of unique people; ``shares`` are the cell probabilities.

    Example:
        >>> round(expected_uniqueness(100, np.full(1000, 1 / 1000)), 2)
        0.91
    """
    return float(np.sum(shares * np.exp((people - 1) * np.log1p(-shares))))


def linkage(
    released: Sequence[NDArray[Any]],
    secret: NDArray[Any],
    named: Sequence[NDArray[Any]],
    truth: NDArray[Any],
    system: str = "rows without names",
) -> Finding:
    """Measure how often a join reveals the secret of a named person.

    If exactly one row matches, the attacker takes its secret, and is certain of it if all named
    people are in the rows. If several match, the attacker guesses the value that is most
    frequent among them, compared with all rows; if none does, the most frequent value of all.
    The success is the balanced accuracy (`tacit.attacks.chance`). The same attack without the
    row of each person shows what would be known if they had not taken part.

    Example:
        >>> rows, secret = [np.array([1, 2, 2])], np.array(["flu", "none", "none"])
        >>> names, truth = [np.array([1, 2, 3])], np.array(["flu", "none", "none"])
        >>> linkage(rows, secret, names, truth).success.value
        1.0
    """
    together = [np.concatenate(pair) for pair in zip(released, named, strict=True)]
    place = cells(together)
    rows, asked = place[: secret.size], place[secret.size :]
    # the values of named people come first, because only these can be guessed rightly
    present, right = np.unique(truth, return_inverse=True)
    others = np.setdiff1d(secret, present)
    codes = np.empty(secret.size, dtype=np.int64)
    for values, start in ((present, 0), (others, present.size)):
        inside = np.isin(secret, values)
        codes[inside] = start + np.searchsorted(values, secret[inside])
    right = np.asarray(right, dtype=np.int64)
    table = GroupedSecrets.of(rows, codes, int(place.max()) + 1, present.size + others.size)
    guesses = Guesses(table.guess(asked), right)
    absent = Guesses(table.guess(asked, right), right).balanced_accuracy().value
    alone = (table.sizes[asked] == 1) & (guesses.guesses == right)
    return judge(
        "linkage",
        system,
        "named people's secrets",
        guesses,
        without=max(absent, guesses.chance),
        proved=int(np.count_nonzero(alone)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class GroupedSecrets:
    """How often each value of a secret occurs in each group of rows.

    Only the values that occur in a group are stored: a table of all groups and values would be
    too large if most people have a value of their own.
    """

    sizes: NDArray[np.int64]
    """The number of rows of each group."""
    pairs: NDArray[np.int64]
    """A group times the number of values, plus a value; sorted."""
    counts: NDArray[np.int64]
    """The number of rows of each pair."""
    totals: NDArray[np.int64]
    """The number of rows of each value."""

    @classmethod
    def of(
        cls, rows: NDArray[np.int64], codes: NDArray[np.int64], groups: int, values: int
    ) -> "GroupedSecrets":
        """Count the rows of each group and value."""
        pairs, counts = np.unique(rows * values + codes, return_counts=True)
        sizes = np.bincount(rows, minlength=groups).astype(np.int64)
        totals = np.bincount(codes, minlength=values).astype(np.int64)
        return cls(sizes, pairs.astype(np.int64), counts.astype(np.int64), totals)

    def guess(
        self, asked: NDArray[np.int64], left_out: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return a guess for each person, who is in one of the groups.

        With ``left_out``, the value of each person, one row of theirs is not counted.
        """
        values = self.totals.size
        commonest = int(np.argmax(self.totals))
        group, value = np.divmod(self.pairs, values)
        score = self.counts / self.totals[value]
        order = np.lexsort((value, -score, group))
        starts = np.searchsorted(group[order], asked)
        ends = np.searchsorted(group[order], asked, side="right")
        first = order[np.minimum(starts, order.size - 1)]
        found = np.where(ends > starts, value[first], commonest)
        if left_out is None:
            return np.asarray(found, dtype=np.int64)
        own = asked * values + left_out
        at = np.minimum(np.searchsorted(self.pairs, own), self.pairs.size - 1)
        mine = self.pairs[at] == own
        fewer = np.where(mine, (self.counts[at] - 1) / self.totals[left_out], 0.0)
        # a row of the person's own value may have been what made it the best of the group
        second = order[np.minimum(starts + 1, order.size - 1)]
        more = ends > starts + 1
        rival = np.where(more, score[second], 0.0)
        kept = np.where(fewer >= rival, left_out, value[second])
        without = np.where((fewer > 0) | more, kept, commonest)
        return np.asarray(np.where(mine & (found == left_out), without, found), dtype=np.int64)


# ------------------------------------------------------------------ k-anonymity
# k-anonymity does not protect a secret that a whole group shares, or against attackers with
# background knowledge. As in Sweeney's definition, a group is defined by public facts only, and
# not by the secret.


def anonymity(columns: Sequence[NDArray[Any]]) -> int:
    """Return the k of a table: the smallest number of rows that share their public facts.

    Example:
        >>> anonymity([np.array([1, 1, 2, 2, 2])])
        2
    """
    counts = np.bincount(cells(columns))
    return int(counts[counts > 0].min())


def homogeneity(columns: Sequence[NDArray[Any]], secret: NDArray[Any]) -> Finding:
    """Measure the share of people whose secret is revealed because their group shares it.

    Reference: Machanavajjhala et al. 2007, section 2.

    Example:
        >>> grades = np.array(["A"] * 100)
        >>> homogeneity([np.zeros(100)], grades).success.value
        1.0
    """
    return _shared_secrets("homogeneity", "a secret that all in a group share", columns, secret)


def background(
    columns: Sequence[NDArray[Any]], secret: NDArray[Any], ruled_out: object
) -> Finding:
    """Measure the share of people whose secret is revealed by background knowledge.

    The attacker knows that they do not have the value ``ruled_out``. People who have it are
    left out.

    Example:
        >>> group, secret = np.zeros(4), np.array(["flu", "flu", "cancer", "flu"])
        >>> background([group], secret, "cancer").success.value
        1.0
    """
    kept = secret != ruled_out
    inside = [column[kept] for column in columns]
    learns = f"a secret, once {ruled_out} is ruled out"
    return _shared_secrets("background knowledge", learns, inside, secret[kept])


def _shared_secrets(
    attack: str, learns: str, columns: Sequence[NDArray[Any]], secret: NDArray[Any]
) -> Finding:
    place = cells(columns)
    _, codes = np.unique(secret, return_inverse=True)
    kinds = np.unique(np.stack([place, codes]), axis=1)[0]
    alike = np.bincount(kinds)[place] == 1
    found = int(np.count_nonzero(alike))
    success = Measured.share(found, alike.size)
    system, fact = f"k-anonymous rows, k = {anonymity(columns)}", bool(codes.max() == 0)
    return Finding(attack, system, learns, success, 0.0, fact=fact, proved=found)
