"""The declarations of an owner about how many rows a person has and how many of them count.

`Limits` are enforced, so that privacy depends on them. The others are facts and assumptions
about the data: `PublicMost` is a public fact, `RowsProfile` was measured with noise for a
charge, and `TailAssumption` is a belief of the owner. Privacy does not depend on any of these
three. They say what the limits can leave out of an answer, and so close its intervals.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from tacit.errors import InvalidValue
from tacit.numeric import plain


@dataclass(frozen=True, slots=True)
class Limits:
    """Contribution limits: the most groups of one unit in an answer, and rows in each group.

    With ``max_rows_in_all``, at most that many rows of a unit are read, which is fast. Without
    it, all rows of a unit are read, and more of its groups are found.

    The numbers of a unit's rows in its groups are a vector. With ``max_length``, rows are kept
    while this vector is at most so long: the root of the sum of the squared numbers of rows.
    Gaussian noise is as large as this length. A unit with few rows in many groups, or with many
    rows in one group, fits into a length for which ``max_groups`` and ``max_rows`` together
    would need more noise.

    Example:
        >>> Limits(11, 11, max_length=Fraction("5.7")).squares
        32
    """

    max_groups: int
    max_rows: int
    max_rows_in_all: int | None = None
    max_length: Fraction | None = None

    def __post_init__(self) -> None:
        in_all = 1 if self.max_rows_in_all is None else self.max_rows_in_all
        if min(self.max_groups, self.max_rows, in_all, self.max_length or 1) < 1:
            length = "" if self.max_length is None else f", max_length={plain(self.max_length)}"
            raise InvalidValue(
                f"Limits must be at least 1, but max_groups={self.max_groups}, "
                f"max_rows={self.max_rows}, max_rows_in_all={self.max_rows_in_all}{length} "
                "were given."
            )

    @property
    def squares(self) -> int | None:
        """The most that the squared numbers of rows can add up to, by the length."""
        return None if self.max_length is None else floor(self.max_length**2)


MOST_ROWS = 10**9
"""Largest number of rows of one unit that can be declared."""


@dataclass(frozen=True, slots=True)
class PublicMost:
    """A public fact: nobody has more than ``rows`` rows in a table; ``source`` says why.

    With it an interval can be closed above, because nothing is missing beyond a limit of as
    many rows. If the fact is false, intervals may not contain the exact value. Privacy does not
    depend on it: rows above the contribution limits are dropped anyway.

    Example:
        >>> PublicMost(12, "the clinic is open once a month").rows
        12
    """

    rows: int
    source: str

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS:
            raise InvalidValue(
                f"The most rows of one unit must be from 1 to {MOST_ROWS}; {self.rows} was "
                "given."
            )
        if not self.source.strip():
            raise InvalidValue(
                f"Say from which public fact it follows that nobody has more than {self.rows} "
                "rows, such as the rules of a registration."
            )


@dataclass(frozen=True, slots=True)
class RowsProfile:
    """A measurement: with probability 99%, at most ``people`` have more than ``rows`` rows.

    It was made with noise and charged, for the data of ``epoch`` only: it says nothing about
    the rows of a later epoch. The probability is over the noise of this one measurement, so
    that all intervals that use it are wrong together if it is wrong. ``release`` is the
    receipt of the charge, in hexadecimal digits.

    Example:
        >>> RowsProfile(12, 24, "2026-W46").people
        24
    """

    rows: int
    people: int
    epoch: str
    release: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS or not 0 <= self.people <= MOST_ROWS:
            raise InvalidValue(
                f"A profile must be of 1 to {MOST_ROWS} rows and of 0 to {MOST_ROWS} people; "
                f"rows = {self.rows} and people = {self.people} were given."
            )


@dataclass(frozen=True, slots=True)
class TotalProfile:
    """A measurement: with probability 99%, at most ``people`` have a total above ``amount``.

    It is about the sum of one column over all rows of a person, in the data of ``epoch``, as a
    `RowsProfile` is about their number.

    Example:
        >>> TotalProfile(Fraction(8000), 24, "2026-W46").people
        24
    """

    amount: Fraction
    people: int
    epoch: str
    release: str = ""

    def __post_init__(self) -> None:
        if self.amount <= 0 or not 0 <= self.people <= MOST_ROWS:
            raise InvalidValue(
                f"A profile of totals must be of an amount above 0 and of 0 to {MOST_ROWS} "
                f"people; amount = {plain(self.amount)} and people = {self.people} were given."
            )


@dataclass(frozen=True, slots=True)
class TailAssumption:
    """An assumption: people beyond a limit have few further rows on average.

    People with more than ``beyond`` rows have at most ``rows`` further ones each, on average;
    ``source`` says why that is believed. It is printed with every interval that is closed by
    it, and is used only for a profile of the same limit.

    Example:
        >>> TailAssumption(12, "the register of last year", beyond=12).rows
        12
    """

    rows: int
    source: str
    beyond: int

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS or not 1 <= self.beyond <= MOST_ROWS:
            raise InvalidValue(
                "The rows that are assumed of people beyond a limit, and the limit, must be "
                f"from 1 to {MOST_ROWS}; rows = {self.rows} and beyond = {self.beyond} were "
                "given."
            )
        if not self.source.strip():
            raise InvalidValue(
                f"Say why people beyond the limit are assumed to have at most {self.rows} "
                "further rows on average, such as an earlier year."
            )
