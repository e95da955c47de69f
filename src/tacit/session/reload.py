"""Load a served project anew when its declarations have changed, or a copy was made anew."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tacit.errors import CopyMissing, EngineUnreachable, TacitError
from tacit.session.curator import Curator
from tacit.session.project import served
from tacit.session.project_file import read_project


class Reloading:
    """Gives a server the curator that takes over from its present one.

    Where the new project cannot be loaded, or does not say what the ledger holds about some
    populations, nothing about those is answered, and all others go on. It is tried again
    whenever the project file or a declaration changes, and all the time while an engine cannot
    be reached. The curator says why it waits, to operators and owners.

    A copy that was made anew has other tables, and those of before will be dropped: the server
    reads the new ones as soon as the project file speaks of them.
    """

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = file
        self._environment = environment
        self._tried: tuple[object, ...] = ()
        self._seen: bytes | None = None
        """What the project file was when its copies were last compared."""

    def __call__(self, curator: Curator) -> Curator:
        """The curator of now: the same, where nothing has changed."""
        ledger, names = curator.home.ledger, _names(curator)
        moved = ledger.moved(names)
        found = (self._written(), ledger.numbers())
        again = bool(ledger.refused()) and found != self._tried
        copied = self._copied_anew(curator)
        if not moved and not again and not copied:
            return curator
        self._tried = found
        try:
            return served(self._file, self._environment, home=curator.home)[0]
        except (TacitError, OSError) as error:
            if isinstance(error, EngineUnreachable):
                self._tried, self._seen = (), None
            return self._without(curator, moved | ledger.refused(), error)

    def _without(
        self, curator: Curator, names: frozenset[str], error: TacitError | OSError
    ) -> Curator:
        """The old curator, which answers nothing about the populations in ``names``."""
        told = waiting if isinstance(error, CopyMissing) else unread
        why = {name: told(self._file, name) for name in names}
        # the words of a system are not ours
        reason = str(error) if isinstance(error, TacitError) else type(error).__name__
        return curator.refusing(why, dict.fromkeys(names, reason))

    def _copied_anew(self, curator: Curator) -> bool:
        """Whether the project file speaks of other copies of tables than are read."""
        written = self._written()
        if written == self._seen:
            return False
        self._seen = written
        try:
            said = read_project(self._file).catalog.tables
        except (TacitError, OSError):
            return False
        read = {each.name: each.copy for each in curator.catalog.tables}
        return any(
            each.copy is not None and each.name in read and each.copy != read[each.name]
            for each in said
        )

    def _written(self) -> bytes:
        """A digest of the project file, whose time and length may be those of another."""
        try:
            return sha256(self._file.read_bytes()).digest()
        except OSError:
            return b""


def waiting(_: Path, population: str) -> str:
    """What is told of a population whose new declaration has no copies yet."""
    return (
        f"This server waits for its operator to prepare the tables of the new declaration of "
        f"{population!r}. Nothing about them is answered here until then, and nothing was "
        "charged; send the same request again later."
    )


def unread(file: Path, population: str) -> str:
    """What is told of a population whose new declaration could not be loaded otherwise."""
    return (
        f"What {file.name} on this server says about {population!r} could not be loaded after "
        "their owners declared something else. Nothing about them is answered here until it "
        "is, and nothing was charged; tell an operator, whose log says why."
    )


def _names(curator: Curator) -> tuple[str, ...]:
    return tuple(people.name for people in curator.catalog.populations)
