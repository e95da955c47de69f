"""How the address of one kind of engine is written in the project file, as a value.

The project file knows no engine: `tacit.engines.registry` fills in one `AddressRule` for each
kind, and a session hands the rules down when it reads a file.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tacit.project.entry import Entry

Plugins = Mapping[str, str]
"""Plug-ins that the project file names: a distribution's name and its exact version."""

PATH, ADDRESS = "path", "address"
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")


def accept(text: str, *, secret: bool) -> str | None:
    """Refuse no address."""
    del text, secret
    return None


def without_secret(address: str, secret: str) -> str:
    """Return an address of an engine that takes no secret."""
    del secret
    return address


@dataclass(frozen=True, slots=True)
class AddressRule:
    """How an engine of one kind is addressed.

    Example:
        >>> AddressRule("toy", PATH).is_path
        True
    """

    kind: str
    field: str = ADDRESS
    """The name of the field: ``path`` of a file, or ``address`` of a server."""
    refuse: Callable[..., str | None] = accept
    """Why an address is refused, given its text and whether a ``secret`` is named beside it.

    The message never repeats the address, which may hold a password.
    """
    with_secret: Callable[[str, str], str] = without_secret
    """The address with its secret, for the driver and nobody else."""
    in_place: bool = False
    """Whether an owner may say that its tables are served in place."""
    plugin: str | None = None
    """The plug-in with its version that brought this kind; None for Tacit's own."""

    @property
    def is_path(self) -> bool:
        """Whether it is the path of a file, which begins at the project file."""
        return self.field == PATH


RuleOf = Callable[[str, Plugins], AddressRule]
"""The rule for a kind, which a plug-in that the file names may have brought; else a refusal."""


def plugins_of(entry: Entry) -> Plugins:
    """The section ``[plugins]``: each distribution with the one version that may be loaded."""
    found: dict[str, str] = {}
    for name, part in entry.parts():
        if not NAME.fullmatch(name):
            raise part.fault("A plug-in is named by its distribution, such as tacit-toy.")
        if not VERSION.fullmatch(part.text()):
            raise part.fault('A plug-in has one exact version, such as "1.0"; no range.')
        found[name] = part.text()
    return found
