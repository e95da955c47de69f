"""A pytest plugin that seeds one bug before any test is imported.

The environment variable ``TACIT_SEEDED_BUG`` names a module beside this one. It says where the
bug goes (``PLACE``: a module, a colon, an attribute), what goes there instead (``bug``, given
what stands there), which test must fail (``CAUGHT_BY``) and what the failure must say
(``SHOWN``), so that a bug which merely crashes does not count as caught.
"""

import os
from importlib import import_module
from types import ModuleType


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
    setattr(holder, name, bug.bug(original))


if "TACIT_SEEDED_BUG" in os.environ:
    seed(import_module(os.environ["TACIT_SEEDED_BUG"]))
