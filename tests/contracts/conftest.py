"""What contracts share: files that pin a surface, compared or written anew."""

import os
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest

SURFACE = Path(__file__).parent / "golden" / "surface"
REWRITE = bool(os.environ.get("TACIT_GOLDEN"))


class Pinned:
    """The files under ``golden/surface``; ``TACIT_GOLDEN=1`` writes them anew."""

    def text(self, name: str) -> str:
        """Return what was pinned under that name."""
        return (SURFACE / name).read_text(encoding="utf-8")

    def changes(self, name: str, now: str) -> str:
        """Return how ``now`` differs from what was pinned; nothing where it does not."""
        lines = (part.rstrip("\n").splitlines() for part in (self.text(name), now))
        return "\n".join(unified_diff(*lines, "pinned", "now", lineterm=""))

    def check(self, name: str, make: Callable[[], str]) -> None:
        """Fail with a diff where what is made now is not what was pinned."""
        now = make()
        if REWRITE:
            stripped = now.rstrip("\n")
            (SURFACE / name).write_text(f"{stripped}\n", encoding="utf-8")
        different = self.changes(name, now)
        if different:
            pytest.fail(f"{name} has changed:\n{different}", pytrace=False)


@pytest.fixture
def pinned() -> Pinned:
    return Pinned()
