"""Load a served project anew when its declarations have changed."""

import os
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import CopyMissing, EngineUnreachable, TacitError
from tacit.session.curator import Curator
from tacit.session.project import served


class Reloading:
    """Gives a server the curator that takes over from its present one.

    Where the new project cannot be loaded, or does not say what the ledger holds about some
    populations, nothing about those is answered, and all others go on. It is tried again
    whenever the project file or a declaration changes, and all the time while an engine cannot
    be reached. The curator says why it waits, to operators and owners.
    """

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = file
        self._environment = environment
        self._tried: tuple[object, ...] = ()

    def __call__(self, curator: Curator) -> Curator:
        """The curator of now: the same, where nothing has changed."""
        ledger, names = curator.home.ledger, _names(curator)
        moved = ledger.moved(names)
        found = (self._written(), ledger.numbers())
        again = bool(ledger.refused()) and found != self._tried
        if not moved and not again:
            return curator
        self._tried = found
        try:
            return served(self._file, self._environment, home=curator.home)[0]
        except (TacitError, OSError) as error:
            if isinstance(error, EngineUnreachable):
                self._tried = ()
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

    def _written(self) -> tuple[int, int]:
        """When the project file was last written, and how long it is."""
        try:
            known = self._file.stat()
        except OSError:
            return 0, 0
        return known.st_mtime_ns, known.st_size


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
