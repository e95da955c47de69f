"""One value of the project file, the way to it, and how it is read or refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidValue
from tacit.numeric.exact import exact


class Fault(Exception):
    """Something in the file is wrong, at ``path``."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


@dataclass(frozen=True, slots=True)
class Entry:
    """A value in the file; each way to read it refuses what is of another kind."""

    value: Any
    path: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path[-1]

    def fault(self, message: str) -> Fault:
        """The refusal of this value."""
        return Fault(self.path, message)

    def fields(self, *known: str) -> dict[str, "Entry"]:
        """The parts of a table, none of them unknown."""
        parts = dict(self.parts())
        for name, part in parts.items():
            if name not in known:
                raise part.fault(f"{name!r} is not known here; these are: {', '.join(known)}.")
        return parts

    def parts(self) -> Iterator[tuple[str, "Entry"]]:
        """The parts of a table by their names."""
        if not isinstance(self.value, dict):
            raise self.fault(f"{self._called} is a table of names and values.")
        for name, value in self.value.items():
            yield name, Entry(value, (*self.path, name))

    def part(self, name: str) -> "Entry":
        """A part that must be there."""
        for found, entry in self.parts():
            if found == name:
                return entry
        raise self.fault(f"{name!r} is missing here.")

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fault(f'{self._called} is a text, such as "visits".')
        return self.value

    def whole(self) -> int:
        """A whole number."""
        if type(self.value) is not int:
            raise self.fault(f"{self._called} is a whole number, such as 3.")
        return self.value

    def truth(self) -> bool:
        """Whether something is so."""
        if not isinstance(self.value, bool):
            raise self.fault(f"{self._called} is true or false.")
        return self.value

    def number(self) -> Fraction:
        """An exact number; one that needs many digits is written as text."""
        try:
            return exact(self.value)
        except InvalidValue as error:
            raise self.fault(f'{self._called} is a number, such as 0.5 or "1e-6".') from error

    def number_or_day(self) -> Fraction | date:
        """An exact number, or a day."""
        if isinstance(self.value, date) and not isinstance(self.value, datetime):
            return self.value
        return self.number()

    def items(self) -> list["Entry"]:
        """The values of a list; they stand at the place of the list."""
        if not isinstance(self.value, list):
            raise self.fault(f"{self._called} is a list, such as [0, 100].")
        return [Entry(value, self.path) for value in self.value]

    @property
    def _called(self) -> str:
        return f"{'.'.join(self.path)!r}" if self.path else "the file"
