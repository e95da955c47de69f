"""The public values that a column may take."""

from dataclasses import dataclass

from tacit.core.bounds import Provenance
from tacit.errors import InvalidValue

Key = str | int
"""What a group can be named by; dates are written as ISO 8601 text."""

Group = tuple[Key, ...]
"""The values of a group's keys, in the order of the question."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A public list of values, in the order in which groups are shown.

    Every one appears, with or without rows.

    Example:
        >>> Keys(("north", "south")).values
        ('north', 'south')
    """

    values: tuple[Key, ...]
    provenance: Provenance = Provenance.PUBLIC

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidValue(
                "Keys need at least one value; leave keys out where they are not public."
            )
        if len(set(self.values)) != len(self.values):
            raise InvalidValue(
                f"Keys are distinct, and of these {len(self.values)} some are equal."
            )
        if {type(value) for value in self.values} not in ({str}, {int}):
            raise InvalidValue("Keys are all text or all integers; these are not.")
