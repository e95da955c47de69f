"""The secrets of people as few values, which an attacker guesses.

An attack is judged by how often it finds the value of a person's secret. A number that nobody
else has, such as a salary, must be split first: otherwise each value belongs to one person, and
"this person does not have it" is right nearly always.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.chance import RARE, Codes
from tacit.core import Kind
from tacit.errors import InvalidValue

MOST_VALUES = 30
"""Maximum number of values of a text that are guessed one by one; more are split in halves."""

NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}
ORDERED = NUMBERS | {Kind.DATE, Kind.TIMESTAMP}
"""The kinds whose values are split at the median."""

MISSING = "missing"


@dataclass(frozen=True, slots=True, eq=False)
class SecretValues:
    """A value for each person, as a number from 0, and the name of each value.

    Example:
        >>> pay = SecretValues.of(np.array(["20", "70", "50", "30"]), Kind.INTEGER)
        >>> pay.names, pay.codes.tolist()
        (('at most 30', 'above 30'), [0, 1, 1, 0])
        >>> SecretValues.of(np.array(["flu", "none", "none"]), Kind.TEXT).names
        ('flu', 'none')
    """

    codes: Codes
    names: tuple[str, ...]
    split: bool = False
    """Whether the values are halves of an order."""

    @classmethod
    def of(cls, texts: NDArray[Any], kind: Kind) -> "SecretValues":
        """Return the secrets, read as texts of a column of a ``kind``.

        Numbers and days are split at the median, and so are texts of which there are more than
        `MOST_VALUES`, in alphabetical order. A missing value is below the median.
        """
        if not texts.size:
            raise InvalidValue(
                "The table has no people, so that there is nothing to attack. Attack the table "
                "from which questions are answered."
            )
        values, codes = np.unique(texts, return_inverse=True)
        if kind not in ORDERED and values.size <= MOST_VALUES:
            names = tuple(str(value) or MISSING for value in values)
            return cls(np.asarray(codes, dtype=np.int64), names)
        ordered = np.array([_number(text) for text in values]) if kind in NUMBERS else values
        return _halves(ordered, values, np.asarray(codes, dtype=np.int64))

    @property
    def counts(self) -> Codes:
        """The number of people who have each value."""
        return np.asarray(np.bincount(self.codes, minlength=len(self.names)), dtype=np.int64)

    def targets(self) -> list[int]:
        """Return the values for which an attacker asks who has them.

        They are the value whose share is nearest to one half, and the least frequent value if
        it is rare. Of halves it is the upper one. There are none if all people have one value.
        """
        counts, people = self.counts, self.codes.size
        if int(counts.max()) == people:
            return []
        if len(self.names) == 2:  # noqa: PLR2004 - to find who has one is to find the other
            return [1 if self.split else int(np.argmin(counts))]
        middle = int(np.argmin(np.abs(counts / people - 1 / 2)))
        least = int(np.argmin(np.where(counts > 0, counts, people)))
        rare = counts[least] < RARE * people
        return list(dict.fromkeys([middle, least] if rare else [middle]))


def _halves(ordered: NDArray[Any], values: NDArray[Any], codes: Codes) -> SecretValues:
    """Split at the value above which the share of people is nearest to one half."""
    order = np.argsort(ordered, kind="stable")
    counts = np.bincount(codes, minlength=values.size)[order]
    # equal numbers that are written differently stay together
    ends = np.flatnonzero(np.append(ordered[order][1:] != ordered[order][:-1], True))
    above = 1 - np.cumsum(counts)[ends] / codes.size
    if ends.size == 1:  # everybody has the same value
        name = str(values[order][-1]) or MISSING
        return SecretValues(np.zeros(codes.size, dtype=np.int64), (name,))
    last = ends[:-1][int(np.argmin(np.abs(above[:-1] - 1 / 2)))]
    place = np.empty(values.size, dtype=np.int64)
    place[order] = np.arange(values.size)
    upper = np.asarray(place[codes] > last, dtype=np.int64)
    name = str(values[order][last]) or MISSING
    return SecretValues(upper, (f"at most {name}", f"above {name}"), split=True)


def _number(text: str) -> float:
    """Return a number, or minus infinity if it is missing or not a number."""
    try:
        found = float(text)
    except ValueError:
        return -np.inf
    return found if isfinite(found) or found > 0 else -np.inf
