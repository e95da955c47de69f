"""The people to be protected."""

from dataclasses import dataclass

from tacit.core.unit import PrivacyUnit
from tacit.errors import InvalidValue


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
