"""Whose presence is hidden, and which two datasets an observer must not tell apart."""

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from tacit.errors import InvalidValue


class Neighbours(Enum):
    """How neighbouring datasets differ: one unit is there or not, or says something else."""

    ADD_REMOVE = "add or remove one"
    REPLACE_ONE = "replace one"

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have equally many units, so that the number may be told."""
        return self is Neighbours.REPLACE_ONE

    @property
    def additions(self) -> int:
        """How many additions and removals make one step; replacing takes one of each."""
        return 2 if self is Neighbours.REPLACE_ONE else 1


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Who is protected: one ``name``, with all its rows in all tables, at all times.

    Example:
        >>> print(PrivacyUnit("person"))
        adding or removing one person, with all their rows
    """

    name: str
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue(
                "A privacy unit needs a name that a reader knows, such as 'person'."
            )

    def __str__(self) -> str:
        match self.neighbours:
            case Neighbours.ADD_REMOVE:
                return f"adding or removing one {self.name}, with all their rows"
            case Neighbours.REPLACE_ONE:
                return f"replacing one {self.name}, with all their rows, by another"
            case _:
                assert_never(self.neighbours)


# ------------------------------------------------------------------ population
# The people to be protected.


@dataclass(frozen=True, slots=True)
class Population:
    """The people behind one or more tables.

    Everything that leaves about them adds up in one budget.

    Tables that speak of the same people belong to one population, however they are named,
    copied or viewed.

    Example:
        >>> Population("patients", PrivacyUnit("person")).name
        'patients'
    """

    name: str
    unit: PrivacyUnit

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A population needs a name, such as 'patients'.")
