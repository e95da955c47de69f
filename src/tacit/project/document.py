"""The text of the project file and its values, with the line at which a fault is reported.

`TomlEntry` is one value with its path in the file. `ProjectText` is the whole text: it finds
the line of a value, changes a value without touching comments, and is saved atomically.
"""

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
from tomlkit.container import Container
from tomlkit.exceptions import ParseError
from tomlkit.items import InlineTable, Item, Table

from tacit.errors import Conflict, InternalError, InvalidValue
from tacit.extras import system_module
from tacit.numeric import exact

WRITERS = {
    "budget": "tacit budget POPULATION --epsilon 3 --delta 1e-6",
    "max_groups": "tacit protect DATASET --max-groups 1 --max-rows 10",
    "max_rows": "tacit protect DATASET --max-groups 1 --max-rows 10",
}
"""The commands that write a missing value into the file."""


class Fault(Exception):
    """A fault in the project file: the value at ``path`` is wrong or missing."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


@dataclass(frozen=True, slots=True)
class TomlEntry:
    """A value in the file. Each method that reads it refuses a value of another kind."""

    value: Any
    path: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of this value: the last part of its path, such as ``epsilon``."""
        return self.path[-1]

    def project_error(self, message: str) -> Fault:
        """Return an exception that reports ``message`` at the line of this value."""
        return Fault(self.path, message)

    def fields(self, *known: str) -> dict[str, "TomlEntry"]:
        """Return the values of a TOML table by name; refuse a name that is not in ``known``."""
        parts = dict(self.parts())
        for name, part in parts.items():
            if name not in known:
                raise part.project_error(
                    f"{name!r} is not a known name in this part of the file. Known names: "
                    f"{', '.join(known)}."
                )
        return parts

    def parts(self) -> Iterator[tuple[str, "TomlEntry"]]:
        """Yield the names and values of a TOML table."""
        if not isinstance(self.value, dict):
            raise self.project_error(
                f"{self._called} must be a table of names and values, as a section "
                "[part.name] or in braces: name = { this = 1, that = 2 }."
            )
        for name, value in self.value.items():
            yield name, TomlEntry(value, (*self.path, name))

    def part(self, name: str) -> "TomlEntry":
        """Return the value called ``name`` in a TOML table; refuse a table without it."""
        for found, entry in self.parts():
            if found == name:
                return entry
        command = f", or run `{WRITERS[name]}`" if name in WRITERS else ""
        raise self.project_error(
            f"{name!r} is missing in this part of the file. Add it{command}."
        )

    def text(self) -> str:
        """Return the value as a text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.project_error(f'{self._called} must be a text, such as "visits".')
        return self.value

    def whole(self) -> int:
        """Return the value as a whole number."""
        if type(self.value) is not int:
            raise self.project_error(f"{self._called} must be a whole number, such as 3.")
        return self.value

    def truth(self) -> bool:
        """Return the value as a Boolean."""
        if not isinstance(self.value, bool):
            raise self.project_error(f"{self._called} must be true or false.")
        return self.value

    def number(self) -> Fraction:
        """Return the value as an exact number; one with many digits is written as text."""
        try:
            return exact(self.value)
        except InvalidValue as error:
            raise self.project_error(
                f'{self._called} must be a number, such as 0.5 or "1e-6".'
            ) from error

    def number_or_day(self) -> Fraction | date:
        """Return the value as an exact number or a day."""
        if isinstance(self.value, date) and not isinstance(self.value, datetime):
            return self.value
        return self.number()

    def items(self, example: str = "[0, 100]") -> list["TomlEntry"]:
        """Return the values of a list such as ``example``; each has the path of the list."""
        if not isinstance(self.value, list):
            raise self.project_error(f"{self._called} must be a list, such as {example}.")
        return [TomlEntry(value, self.path) for value in self.value]

    @property
    def _called(self) -> str:
        return f"{'.'.join(self.path)!r}" if self.path else "the file"


# ------------------------------------------------------------------ source
# The text of a project file: how the line of a value is found, and how a value is changed.

MARK = "the place that is looked for"


@dataclass(frozen=True, slots=True)
class ProjectText:
    """The name and the text of a project file."""

    name: str
    text: str
    read: str | None = field(default=None, compare=False)
    """The text of the file when it was read, on which changes are based; None if unknown."""

    @classmethod
    def at(cls, path: Path) -> "ProjectText":
        """Read the file at ``path``."""
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path.name, text, text)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidValue(
                f"{path} cannot be read as a text file. `tacit demo` creates an example."
            ) from error

    def root(self) -> TomlEntry:
        """Return the root of all values."""
        try:
            return TomlEntry(tomlkit.parse(self.text).unwrap())
        except ParseError as error:
            raise InvalidValue(
                f"{self.name}:{error.line}: this is not valid TOML: {error}"
            ) from error

    def refusal(self, fault: Fault) -> InvalidValue:
        """Return the error for a fault: its line, and what is wrong."""
        return InvalidValue(f"{self.name}:{self.line_of(fault.path)}: {fault.message}")

    def line_of(self, path: tuple[str, ...]) -> int:
        """Return the line where the value at ``path`` begins, or else the table around it.

        TOMLKit does not report lines. So a comment is added to the value in a copy of the
        document, and the line of that comment is searched.
        """
        for length in range(len(path), 0, -1):
            document = tomlkit.parse(self.text)
            item = _find(document, path[:length])
            while isinstance(item, Table) and item.is_super_table():
                item = next(iter(item.value.body))[1]  # a super table has no line of its own
            if item is None:
                continue
            item.comment(MARK)
            lines = document.as_string().split("\n")
            marked = [place for place, line in enumerate(lines, 1) if line.endswith(MARK)]
            if marked:
                written = 0 if isinstance(item, Table) else item.as_string().count("\n")
                return marked[0] - written
        return 1

    def comment_of(self, path: tuple[str, ...]) -> str:
        """Return the comment after a value, with its #; it is empty if there is none."""
        item = _find(tomlkit.parse(self.text), path)
        return "" if item is None else item.trivia.comment

    def with_value(
        self, path: tuple[str, ...], value: Any, comment: str | None = None
    ) -> "ProjectText":
        """Return the text with one value changed or added; comments and order stay.

        A new ``comment`` replaces the one after the value.

        Example:
            >>> text = ProjectText("tacit.toml", "b = 1  # why")
            >>> text.with_value(("b",), 2).text, text.with_value(("b",), 2, "measured").text
            ('b = 2  # why', 'b = 2  # measured')
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
        if comment is not None:
            value = tomlkit.item(value)
            value.comment(comment)
            value.trivia.comment_ws = "  "
        inner[path[-1]] = value
        changed = replace(self, text=document.as_string())
        if changed.root().value != document.unwrap():
            raise InternalError(
                "The changed project file would be read with other values than intended."
            )
        return changed

    def without(self, path: tuple[str, ...]) -> "ProjectText":
        """Return the text without one value; it need not exist."""
        document = tomlkit.parse(self.text)
        inner: Any = document
        for name in path[:-1]:
            inner = inner.get(name, {})
        inner.pop(path[-1], None)
        return replace(self, text=document.as_string())

    def save(self, path: Path) -> None:
        """Replace the file by this text.

        Guarantee: the file contains the old text or the new one, also after a full disk, a
        crash, or a write of another process. A file that has changed since it was read is
        left as it is.
        """
        with _folder_lock(path.resolve()) as file:
            if self.read is not None and ProjectText.at(file).text != self.read:
                raise Conflict(
                    f"{self.name} has changed since it was read, and was not overwritten. "
                    "Run the command again."
                )
            try:
                _put(file, self.text.encode())
            except OSError as error:
                raise InvalidValue(
                    f"{self.name} cannot be written: {error.strerror}. The file is unchanged."
                ) from error


@contextmanager
def _folder_lock(file: Path) -> Iterator[Path]:
    """Hold the lock of the file's folder, so that no other process saves a file in it.

    Windows has no such lock (``fcntl``). There, two processes may save at the same time.
    """
    fcntl = system_module("fcntl")
    if fcntl is None:
        yield file
        return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(folder)


def _put(file: Path, body: bytes) -> None:
    """Write a new file next to ``file``, and rename it when all of it is on the disk."""
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


def _find(container: Container, path: tuple[str, ...]) -> Item | None:
    """Return the item at ``path``, or None if the text has no separate item for it.

    A table such as ``datasets`` may be in several places of the text, with other tables between
    them. TOMLKit shows such a table as a copy, so all places are searched here.
    """
    first, *rest = path
    for key, item in container.body:
        if key is None or key.key != first:
            continue
        inner = item.value if isinstance(item, Table | InlineTable) else None
        if not rest:
            return item
        found = None if inner is None else _find(inner, tuple(rest))
        if found is not None:
            return found
    return None
