"""The only dynamic imports of Tacit: optional dependencies, rarely used modules, and plug-ins.

A plug-in is foreign code that runs in the same process as secrets. So being installed is not
enough for it to be imported: the project file must name its distribution and exact version,
and then only the requested entry point is loaded. To find out whether a plug-in is installed,
only metadata is read.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distribution, entry_points, packages_distributions
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tacit.errors import InvalidValue, MissingExtra

# the extra that a user installs -> the library whose presence shows that it is installed
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


def is_installed(extra: str) -> bool:
    """Return whether the libraries of ``extra`` are installed.

    Example:
        >>> is_installed("testing")
        True
    """
    if extra not in EXTRAS:
        raise InvalidValue(
            f"{extra!r} is not an extra of Tacit. The extras are: {', '.join(EXTRAS)}."
        )
    return find_spec(EXTRAS[extra]) is not None


def load(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, which needs the libraries of ``extra``.

    Example:
        >>> load("tacit.testing.neighbours", extra="testing").__name__
        'tacit.testing.neighbours'
    """
    if not is_installed(extra):
        raise MissingExtra(f"{module} needs an optional dependency. {how_to_install(extra)}")
    return import_module(module)


def how_to_install(extra: str) -> str:
    """Return the command that installs ``extra``, also for a copy of the repository.

    Example:
        >>> print(how_to_install("ml"))
        Run: pip install "tacit[ml]" (in a copy of the repository: pip install ".[ml]")
    """
    return (
        f'Run: pip install "tacit[{extra}]" (in a copy of the repository: '
        f'pip install ".[{extra}]")'
    )


def system_module(name: str) -> ModuleType | None:
    """Import a module of the standard library that some systems lack; None if it is missing.

    Example:
        >>> system_module("no_system_has_this") is None
        True
    """
    try:
        return import_module(name)
    except ImportError:
        return None


def later(module: str) -> ModuleType:
    """Import a module of Tacit when it is first needed, because most sessions never need it.

    Example:
        >>> later("tacit.store.upgrade").__name__
        'tacit.store.upgrade'
    """
    return import_module(module)


ENGINES, ESTIMATORS, MECHANISMS = "tacit.engines", "tacit.estimators", "tacit.mechanisms"
"""The groups of entry points by which plug-ins are found."""

OURS = "tacit"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed distribution, which is not imported yet."""

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
            InvalidValue: The import fails, or ends the program. Only owners see this, before
                anything is charged.
        """
        try:
            return self.entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plug-in must not end `tacit freeze` by sys.exit
            raise InvalidValue(
                f"The plug-in {self} cannot be loaded ({type(error).__name__}). Install what "
                f"it needs, or remove it from [plugins]: {error}"
            ) from error


def plugins(group: str) -> tuple[Plugin, ...]:
    """Return the installed entry points of a group; only metadata is read.

    The metadata is read once by a process. A server therefore notices an installation, an
    upgrade or a removal after its restart, when it imports the code as well.

    Example:
        >>> plugins("tacit.nothing")
        ()
    """
    return _plugins_on(group, tuple(sys.path))


@cache
def _plugins_on(group: str, path: tuple[str, ...]) -> tuple[Plugin, ...]:
    del path  # tests and notebooks change the folders that Python searches
    found = []
    for entry in entry_points(group=group):
        name, version = _name_and_version(entry)
        if name and version:
            found.append(Plugin(group, entry.name, name, version, entry))
    return tuple(found)


def _name_and_version(entry: EntryPoint) -> tuple[str | None, str | None]:
    """Return the name and the version of an entry point's distribution.

    A distribution that was removed halfway has no metadata: the standard library then returns
    None, and a newer version of it, which other libraries bring, raises an error. No project
    file can name such a distribution, so that its entry points are left out.
    """
    if entry.dist is None:
        return None, None
    try:
        return entry.dist.name, entry.dist.version
    except Exception:  # noqa: BLE001 - of whatever library reads the metadata
        return None, None


def named_plugins(group: str, allowed: Mapping[str, str]) -> Iterator[Plugin]:
    """Yield the entry points of a group from the distributions that a project file names.

    Raises:
        InvalidValue: A distribution is installed in another version than the file names.
    """
    versions = {normalised_name(name): pinned for name, pinned in allowed.items()}
    for each in plugins(group):
        pinned = versions.get(normalised_name(each.distribution))
        if pinned is None:
            continue
        if pinned != each.version:
            raise InvalidValue(
                f"The project file names the plug-in {each.distribution} {pinned}, and "
                f"{each.version} is installed. Install {each.distribution}=={pinned}, or "
                f'review the changes and write "{each.distribution}" = "{each.version}" below '
                "[plugins]."
            )
        yield each


def find_plugin(group: str, name: str, allowed: Mapping[str, str]) -> Plugin | None:
    """Return the plug-in of that name that the project file allows, or None.

    Raises:
        InvalidValue: Two distributions have the name, or the version differs.
    """
    found = [each for each in named_plugins(group, allowed) if each.name == name]
    if len(found) > 1:
        both = " and ".join(sorted(map(str, found)))
        raise InvalidValue(f"{name!r} comes from two plug-ins, {both}. Uninstall one of them.")
    return found[0] if found else None


def hint(group: str, name: str) -> str:
    """Return advice for an owner: the line that allows an installed, unnamed plug-in.

    Analysts never see this text, because it reveals what is installed.
    """
    found = [each for each in plugins(group) if each.name == name]
    if not found:
        return ""
    return (
        f" The installed plug-in {found[0]} has {name!r}, but this project does not name it. "
        "To let it run with access to the data, write below [plugins]: "
        f'"{found[0].distribution}" = "{found[0].version}".'
    )


def check_installed(allowed: Mapping[str, str]) -> None:
    """Refuse a plug-in that the project file names but that is not installed."""
    here = {
        normalised_name(each.distribution)
        for group in (ENGINES, ESTIMATORS, MECHANISMS)
        for each in named_plugins(group, allowed)
    }
    for name, pinned in allowed.items():
        if normalised_name(name) not in here:
            raise InvalidValue(
                f"The project file names the plug-in {name} {pinned}, which is not installed "
                f"or has no entry point of Tacit. Run: pip install {name}=={pinned}"
            )


def maker_of(value: object) -> str | None:
    """Return the distribution of an object's class and its version; None for Tacit itself.

    Where no distribution is known to contain the class, the class itself is named.

    Example:
        >>> maker_of(Plugin) is None
        True
    """
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    top = module.partition(".")[0]
    if top == OURS:
        return None
    try:
        found = sorted(set(packages_distributions().get(top, ())))
        if len(found) > 1:  # a namespace package, of which each distribution has a part
            found = [name for name in found if _contains(name, module)]
        named = [f"{name} {distribution(name).version}" for name in found]
    except Exception:  # noqa: BLE001 - metadata of some distribution was removed halfway
        named = []
    return named[0] if len(named) == 1 else f"{module}.{kind.__qualname__}"


def _contains(name: str, module: str) -> bool:
    """Return whether one of the files of a distribution is the module."""
    path = module.replace(".", "/")
    wanted = {f"{path}.py", f"{path}/__init__.py"}
    return any(file.as_posix() in wanted for file in distribution(name).files or ())


def normalised_name(name: str) -> str:
    """Return the name of a Python package in lower case, with - for runs of -, _ and dots."""
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
                f"{package}.{name} needs an optional dependency. {how_to_install(extra)}"
            ) from None

    return find, lambda: sorted(homes)
