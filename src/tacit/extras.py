"""The only dynamic imports: an optional part by name, what is seldom needed, and plug-ins.

A plug-in is somebody else's code that runs beside secrets. So none is imported because it is
installed: the project file names its distribution and its exact version, and only then is the
entry point loaded that is asked for. To look whether one is there reads metadata alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tacit.errors import InvalidValue, MissingExtra

# what a user installs -> the library that shows that it is there
EXTRAS = {
    "arrow": "pyarrow",
    "client": "httpx",
    "deep": "jax_privacy",
    "keyring": "keyring",
    "attacks": "scipy",
    "ml": "sklearn",
    "pandas": "pandas",
    "pld": "dp_accounting",
    "polars": "polars",
    "postgres": "psycopg",
    "server": "fastapi",
    "spark": "pyspark",
    "testing": "hypothesis",
}


def installed(extra: str) -> bool:
    """Whether the optional part ``extra`` can be loaded here.

    Example:
        >>> installed("testing")
        True
    """
    if extra not in EXTRAS:
        raise InvalidValue(
            f"{extra!r} is not an extra of Tacit; these are: {', '.join(EXTRAS)}."
        )
    return find_spec(EXTRAS[extra]) is not None


def load(module: str, *, extra: str) -> ModuleType:
    """The module ``module``, which needs the optional part ``extra``.

    Example:
        >>> load("tacit.testing.neighbours", extra="testing").__name__
        'tacit.testing.neighbours'
    """
    if not installed(extra):
        raise MissingExtra(f'{module} needs an optional part: pip install "tacit[{extra}]"')
    return import_module(module)


def later(module: str) -> ModuleType:
    """A module of Tacit that is loaded when it is first needed, since most never need it.

    Example:
        >>> later("tacit.store.upgrade").__name__
        'tacit.store.upgrade'
    """
    return import_module(module)


ENGINES, ESTIMATORS, MECHANISMS = "tacit.engines", "tacit.estimators", "tacit.mechanisms"
"""The groups of entry points that plug-ins are found by."""

OURS = "tacit"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed distribution; nothing of it is loaded yet."""

    group: str
    name: str
    distribution: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"

    def load(self) -> Any:
        """Import the entry point's value.

        Raises:
            InvalidValue: Its import fails. Owners read this, before anything is charged.
        """
        try:
            return self.entry.load()
        except Exception as error:
            raise InvalidValue(
                f"The plug-in {self} fails when it is loaded, by a {type(error).__name__}; "
                f"install what it needs, or take it out of [plugins]: {error}"
            ) from error


def plugins(group: str) -> tuple[Plugin, ...]:
    """Return what installed distributions bring to a group, by their metadata alone.

    Example:
        >>> plugins("tacit.nothing")
        ()
    """
    found = []
    for entry in entry_points(group=group):
        if entry.dist is not None:
            dist = entry.dist
            found.append(Plugin(group, entry.name, dist.name, dist.version, entry))
    return tuple(found)


def named_plugins(group: str, allowed: Mapping[str, str]) -> Iterator[Plugin]:
    """Give the entry points of the distributions that a project file names, with versions.

    Raises:
        InvalidValue: A distribution is there in another version, or one is not installed.
    """
    versions = {_normal(name): pinned for name, pinned in allowed.items()}
    for each in plugins(group):
        pinned = versions.get(_normal(each.distribution))
        if pinned is None:
            continue
        if pinned != each.version:
            raise InvalidValue(
                f"The project file names the plug-in {each.distribution} {pinned}, and "
                f"{each.version} is installed. Install {each.distribution}=={pinned}, or look "
                f'at what changed and write "{each.distribution}" = "{each.version}" below '
                "[plugins]."
            )
        yield each


def find_plugin(group: str, name: str, allowed: Mapping[str, str]) -> Plugin | None:
    """Return the one plug-in of that name that the project file allows; None without one.

    Raises:
        InvalidValue: Two distributions bring the name, or the version is another.
    """
    found = [each for each in named_plugins(group, allowed) if each.name == name]
    if len(found) > 1:
        told = " and ".join(sorted(map(str, found)))
        raise InvalidValue(f"{name!r} comes from two plug-ins, {told}; uninstall one.")
    return found[0] if found else None


def hint(group: str, name: str) -> str:
    """Say to an owner which line allows a plug-in that is installed and not named.

    Analysts never read this: it tells what is installed.
    """
    found = [each for each in plugins(group) if each.name == name]
    if not found:
        return ""
    return (
        f" The installed plug-in {found[0]} brings {name!r}, and this project does not name "
        f"it; to let it run beside the data, write below [plugins]: "
        f'"{found[0].distribution}" = "{found[0].version}".'
    )


def check_installed(allowed: Mapping[str, str]) -> None:
    """Refuse a plug-in that the project file names and that is not installed."""
    here = {
        _normal(each.distribution)
        for group in (ENGINES, ESTIMATORS, MECHANISMS)
        for each in named_plugins(group, allowed)
    }
    for name, pinned in allowed.items():
        if _normal(name) not in here:
            raise InvalidValue(
                f"The project file names the plug-in {name} {pinned}, which is not installed "
                f"or brings nothing to Tacit: pip install {name}=={pinned}"
            )


def maker_of(value: object) -> str | None:
    """Return the distribution that an object's class comes from; None for Tacit itself.

    Example:
        >>> maker_of(Plugin) is None
        True
    """
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    top = module.partition(".")[0]
    if top == OURS:
        return None
    found = packages_distributions().get(top)
    return f"{found[0]} {version(found[0])}" if found else f"{module}.{kind.__qualname__}"


def _normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lazy_face(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are loaded when used.

    ``homes`` maps each public name to its module. A module that needs an optional dependency
    is imported when one of its names is first used, and a missing dependency is reported with
    the command that installs it.

    Example:
        >>> getattribute, _ = lazy_face(
        ...     "tacit.testing", {"ExampleTable": "tacit.testing.tables"}
        ... )
        >>> getattribute("ExampleTable").__name__
        'ExampleTable'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            library = (error.name or "").split(".")[0]
            extra = next((extra for extra, shows in EXTRAS.items() if shows == library), None)
            if extra is None:
                raise
            raise MissingExtra(
                f'{package}.{name} needs an optional part: pip install "tacit[{extra}]"'
            ) from None

    return find, lambda: sorted(homes)
