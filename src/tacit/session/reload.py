"""Load a served project anew when its declarations have changed."""

import os
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import TacitError
from tacit.session.curator import Curator
from tacit.session.project import differing, served


class Reloading:
    """Gives a server the curator that takes over from its present one.

    Where the new project cannot be loaded, or does not say what the ledger holds about some
    populations, nothing about those is answered, and all others go on. It is tried again
    whenever the project file or a declaration changes.
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
        except (TacitError, OSError):
            return self._without(curator, moved)

    def _without(self, curator: Curator, moved: frozenset[str]) -> Curator:
        """The old curator, which answers nothing about the populations that ``moved``."""
        why = {name: differing(self._file, name) for name in moved}
        return curator.refusing(why)

    def _written(self) -> tuple[int, int]:
        """When the project file was last written, and how long it is."""
        try:
            known = self._file.stat()
        except OSError:
            return 0, 0
        return known.st_mtime_ns, known.st_size


def _names(curator: Curator) -> tuple[str, ...]:
    return tuple(people.name for people in curator.catalog.populations)
