"""What can be shown: named values, each perhaps with a range around it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

Value = Fraction | str | int | None
"""One cell; None is shown as NULL is."""

Range = tuple[Fraction, Fraction] | None
"""The range around a value, where there is one."""


class Column(Protocol):
    """Values under a name. Where there is a ``confidence``, each has its range or None."""

    @property
    def name(self) -> str:
        """What the values are called."""
        ...

    @property
    def values(self) -> Sequence[Value]:
        """One for each row."""
        ...

    @property
    def intervals(self) -> Sequence[Range]:
        """One for each value, or none at all."""
        ...

    @property
    def confidence(self) -> Fraction | None:
        """How often a range holds what it is meant to hold."""
        ...
