"""One value of the project file, the way to it, and how it is read or refused."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import tomlkit
from tomlkit.exceptions import NonExistentKey, ParseError, TOMLKitError
from tomlkit.items import Item, Table

from tacit.errors import Conflict, InternalError, InvalidValue
from tacit.numeric import exact


class Fault(Exception):
    """Something in the file is wrong, at ``path``."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


@dataclass(frozen=True, slots=True)
class TomlEntry:
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

    def fields(self, *known: str) -> dict[str, "TomlEntry"]:
        """The parts of a table, none of them unknown."""
        parts = dict(self.parts())
        for name, part in parts.items():
            if name not in known:
                raise part.fault(f"{name!r} is not known here; these are: {', '.join(known)}.")
        return parts

    def parts(self) -> Iterator[tuple[str, "TomlEntry"]]:
        """The parts of a table by their names."""
        if not isinstance(self.value, dict):
            raise self.fault(f"{self._called} is a table of names and values.")
        for name, value in self.value.items():
            yield name, TomlEntry(value, (*self.path, name))

    def part(self, name: str) -> "TomlEntry":
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

    def items(self) -> list["TomlEntry"]:
        """The values of a list; they stand at the place of the list."""
        if not isinstance(self.value, list):
            raise self.fault(f"{self._called} is a list, such as [0, 100].")
        return [TomlEntry(value, self.path) for value in self.value]

    @property
    def _called(self) -> str:
        return f"{'.'.join(self.path)!r}" if self.path else "the file"


# ------------------------------------------------------------------ source
# The text of a project file: where each value stands, and how one is changed in it.

MARK = "the place that is looked for"


@dataclass(frozen=True, slots=True)
class ProjectText:
    """A file's name, and what is written in it."""

    name: str
    text: str
    read: str | None = field(default=None, compare=False)
    """What stood in the file when it was read: a change is made of that."""

    @classmethod
    def at(cls, path: Path) -> "ProjectText":
        """The file at ``path``."""
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path.name, text, text)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidValue(
                f"{path} is no text file that can be read; `tacit demo` makes an example."
            ) from error

    def root(self) -> TomlEntry:
        """All values."""
        try:
            return TomlEntry(tomlkit.parse(self.text).unwrap())
        except ParseError as error:
            raise InvalidValue(
                f"{self.name}:{error.line}: this is not TOML: {error}"
            ) from error

    def refusal(self, fault: Fault) -> InvalidValue:
        """What is told of a fault: the line that it stands at, and what is wrong."""
        return InvalidValue(f"{self.name}:{self.line_of(fault.path)}: {fault.message}")

    def line_of(self, path: tuple[str, ...]) -> int:
        """The line where the value at ``path`` begins, or else what it stands in.

        The value is marked by a comment in a copy, and the mark is looked for.
        """
        for length in range(len(path), 0, -1):
            document = tomlkit.parse(self.text)
            item = _find(document, path[:length])
            while isinstance(item, Table) and item.is_super_table():
                item = next(iter(item.value.body))[1]  # it has no line, but what is in it has
            if item is None:
                continue
            item.comment(MARK)
            lines = document.as_string().split("\n")
            marked = [place for place, line in enumerate(lines, 1) if line.endswith(MARK)]
            if marked:
                written = 0 if isinstance(item, Table) else item.as_string().count("\n")
                return marked[0] - written
        return 1

    def changed(self, path: tuple[str, ...], value: Any) -> "ProjectText":
        """The same text with one value changed or added; comments and order stay.

        Example:
            >>> ProjectText("tacit.toml", "b = 1  # why").changed(("b",), 2).text
            'b = 2  # why'
        """
        document = tomlkit.parse(self.text)
        inner: Any = document
        for name in path[:-1]:
            if name not in inner:
                inner[name] = tomlkit.table()
            inner = inner[name]
        if isinstance(value, dict):
            written = tomlkit.inline_table()
            written.update(value)
            value = written
        inner[path[-1]] = value
        changed = replace(self, text=document.as_string())
        if changed.root().value != document.unwrap():
            raise InternalError(
                "A change of the project file would not be read as it is meant."
            )
        return changed

    def without(self, path: tuple[str, ...]) -> "ProjectText":
        """The same text without one value, where it is there."""
        document = tomlkit.parse(self.text)
        inner: Any = document
        for name in path[:-1]:
            inner = inner.get(name, {})
        inner.pop(path[-1], None)
        return replace(self, text=document.as_string())

    def save(self, path: Path) -> None:
        """Put this text in the place of the file that it was read from.

        Guarantee: the file holds the old text or the new one, whatever happens meanwhile: a
        full disk, a crash, or another who writes. A file that somebody else has changed since
        it was read is left as it is.
        """
        with _locked(path.resolve()) as file:
            if self.read is not None and ProjectText.at(file).text != self.read:
                raise Conflict(
                    f"{self.name} was changed by somebody else meanwhile, and stays as they "
                    "left it; do it again."
                )
            try:
                _put(file, self.text.encode())
            except OSError as error:
                raise InvalidValue(
                    f"{self.name} cannot be written: {error.strerror}. It is as it was."
                ) from error


@contextmanager
def _locked(file: Path) -> Iterator[Path]:
    """Nobody else who asks for the same saves a file of this folder meanwhile."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows, where two may save at once
    except ImportError:
        yield file
        return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(folder)


def _put(file: Path, body: bytes) -> None:
    """Write a new file beside ``file``, and give it that name once all of it is on the disk."""
    mode = file.stat().st_mode & 0o777
    made, name = mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(made, "wb") as new:
            new.write(body)
            new.flush()
            os.fsync(new.fileno())
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _find(document: tomlkit.TOMLDocument, path: tuple[str, ...]) -> Item | None:
    """The item at ``path``, where it has a place of its own."""
    found: Any = document
    for name in path:
        inner = found.value if isinstance(found, Item) else found
        if not hasattr(inner, "item"):
            return None
        try:
            found = inner.item(name)
        except (NonExistentKey, TOMLKitError):
            return None
    return found if isinstance(found, Item) else None
