"""The only dynamic imports: an optional part by name, and what is seldom needed and slow."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

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
