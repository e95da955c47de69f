"""Seed one bug, and run tests with it in a process of their own.

Such a process is forked where all of Tacit is loaded already, which is most of what it costs.
Modules that took a function from the one that defines it hold the function itself, so a bug
goes wherever the original stands, and the tests are loaded after it.

A bug is a module beside this one. It says where it goes (``PLACE``: a module, a colon, an
attribute), what goes there instead (``bug``, given what stands there), which test must fail
(``CAUGHT_BY``) and what the failure must say (``SHOWN``), so that a bug which merely crashes
does not count as caught.
"""

import gc
import os
import sys
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[2]
OTHERS = [
    *("pytest", "hypothesis.strategies", "numpy", "scipy.stats", "cryptography.fernet"),
    *("sqlalchemy.dialects.postgresql", "alembic.command", "psycopg", "duckdb", "sqlglot"),
]
"""What processes have loaded of other people's code when they are forked."""

SRC = ROOT / "src"
OURS = [
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SRC.glob("tacit/**/*.py"))
    if "migrations" not in path.parts and path.stem != "__main__"
]
"""All modules of Tacit: a module that lacks its library is left to whoever imports it."""


class PlaceIsGone(Exception):
    """What a bug replaces is no longer there: the bug must move, or it tests nothing."""


def seed(bug: ModuleType) -> None:
    """Put the bug in its place."""
    module, _, path = bug.PLACE.partition(":")
    *outer, name = path.split(".")
    try:
        holder = import_module(module)
        for part in outer:
            holder = getattr(holder, part)
        original = vars(holder)[name]
    except (ImportError, AttributeError, KeyError) as gone:
        raise PlaceIsGone(f"{bug.__name__} replaces {bug.PLACE}, which is gone.") from gone
    seeded = bug.bug(original)
    setattr(holder, name, seeded)
    if callable(original) and original.__module__ != module:
        return  # it was taken from elsewhere, and the bug is in whoever took it
    for each in [found for at, found in sys.modules.items() if at.startswith("tacit")]:
        for held, value in list(vars(each).items()):
            # a constant may be the same object as another one, so it must have the name too
            if value is original and (callable(original) or held == name):
                setattr(each, held, seeded)


def run(*tests: str, bug: str | None = None) -> tuple[int | None, str]:
    """How pytest ends in a new process, with the bug or without, and what it says."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*OTHERS, *OURS])
    with TemporaryDirectory(prefix="tacit-bug-") as place:
        said = Path(place) / "said"
        process = context.Process(target=_pytest, args=(tests, bug, said))
        process.start()
        process.join()
        return process.exitcode, said.read_text()


def _pytest(tests: tuple[str, ...], bug: str | None, said: Path) -> None:
    """What the new process does: before any test is imported, the bug is seeded."""
    gc.freeze()  # pytest collects garbage when it ends, and need not look at what was loaded
    output = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, sys.stdout.fileno())
    os.dup2(output, sys.stderr.fileno())
    os.chdir(ROOT)
    # the same examples each time, and a failure need not be made small
    settings.register_profile(
        "seeded",
        max_examples=200,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    os.environ["TACIT_HYPOTHESIS_PROFILE"] = "seeded"
    # a stage of CI counts the bugs, and not the tests that catch them
    os.environ.pop("TACIT_COUNTED", None)
    if bug:
        seed(import_module(bug))
    # plugins that were loaded before are as good as new
    loaded = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    sys.exit(pytest.main(["-p", "no:cacheprovider", "-W", loaded, "-q", *tests]))
