"""The text of a project file: where each value stands, and how one is changed in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import NonExistentKey, ParseError, TOMLKitError
from tomlkit.items import Item, Table

from tacit.errors import InternalError, InvalidValue
from tacit.project.entry import Entry, Fault

MARK = "the place that is looked for"


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name, and what is written in it."""

    name: str
    text: str

    @classmethod
    def at(cls, path: Path) -> "Source":
        """The file at ``path``."""
        try:
            return cls(path.name, path.read_text(encoding="utf-8"))
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
        changed = Source(self.name, document.as_string())
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
        return Source(self.name, document.as_string())


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
