"""One thing that was looked at, what came of it, and whether a promise was kept."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A promise that was put to the test, in words and in figures.

    Example:
        >>> print(Check("neighbours", "200 pairs, none told apart", True, {"pairs": 200}))
        kept: neighbours: 200 pairs, none told apart
    """

    name: str
    found: str
    kept: bool
    figures: Mapping[str, float | int]

    def to_dict(self) -> dict[str, object]:
        """For machines."""
        return {
            "check": self.name,
            "kept": self.kept,
            "found": self.found,
            "figures": dict(self.figures),
        }

    def __str__(self) -> str:
        return f"{'kept' if self.kept else 'BROKEN'}: {self.name}: {self.found}"


@dataclass(frozen=True, slots=True)
class Part:
    """What the checks were about: a question, or the build itself."""

    subject: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What was not looked at, and why."""
