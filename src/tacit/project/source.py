"""The text of a project file: where each value stands, and how one is changed in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import tomlkit
from tomlkit.exceptions import NonExistentKey, ParseError, TOMLKitError
from tomlkit.items import Item, Table

from tacit.errors import Conflict, InternalError, InvalidValue
from tacit.project.entry import Entry, Fault

MARK = "the place that is looked for"


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name, and what is written in it."""

    name: str
    text: str
    read: str | None = field(default=None, compare=False)
    """What stood in the file when it was read: a change is made of that."""

    @classmethod
    def at(cls, path: Path) -> "Source":
        """The file at ``path``."""
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path.name, text, text)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidValue(
                f"{path} is no text file that can be read; `tacit demo` makes an example."
            ) from error

    def root(self) -> Entry:
        """All values."""
        try:
            return Entry(tomlkit.parse(self.text).unwrap())
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

    def changed(self, path: tuple[str, ...], value: Any) -> "Source":
        """The same text with one value changed or added; comments and order stay.

        Example:
            >>> Source("tacit.toml", "b = 1  # why").changed(("b",), 2).text
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

    def without(self, path: tuple[str, ...]) -> "Source":
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
            if self.read is not None and Source.at(file).text != self.read:
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
