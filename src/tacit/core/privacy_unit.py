"""The privacy unit, the relation between neighbouring datasets, and the population."""

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from tacit.errors import InvalidValue


class Neighbours(Enum):
    """The relation between neighbouring datasets: a unit is added, removed or replaced."""

    ADD_REMOVE = "add or remove one"
    REPLACE_ONE = "replace one"

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have the same number of units, so that it may be published."""
        return self is Neighbours.REPLACE_ONE

    @property
    def additions(self) -> int:
        """Number of additions and removals between neighbours; a replacement is one of each."""
        return 2 if self is Neighbours.REPLACE_ONE else 1


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """The unit that is protected: one ``name``, with all its rows in all tables.

    Example:
        >>> print(PrivacyUnit("person"))
        adding or removing one person, with all their rows
    """

    name: str
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue(
                "A privacy unit needs a name that readers understand, such as 'person'."
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


@dataclass(frozen=True, slots=True)
class Population:
    """The people that one or more tables describe, who share one privacy budget.

    All tables about the same people must be in one population, also copies and views.

    Example:
        >>> Population("patients", PrivacyUnit("person")).name
        'patients'
    """

    name: str
    unit: PrivacyUnit

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A population needs a name, such as 'patients'.")
