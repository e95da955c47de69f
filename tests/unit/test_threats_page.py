"""The page of threats names tests and recipes that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("docs/privacy/threats.md", "SECURITY.md", "docs/reference/server.md")
RECIPES = set(
    re.findall(r"^([a-z][a-z-]*)[^:\n]*:", (ROOT / "justfile").read_text(), re.MULTILINE)
)


def missing(text: str) -> list[str]:
    """Return the tests and recipes that ``text`` names and that do not exist."""
    tests = re.findall(r"`(tests/[\w/.]+)`", text)
    recipes = re.findall(r"`just ([a-z-]+)", text)
    return [path for path in tests if not (ROOT / path).exists()] + [
        name for name in recipes if name not in RECIPES
    ]


def test_every_named_test_and_recipe_exists() -> None:
    threats = (ROOT / PAGES[0]).read_text(encoding="utf-8")
    assert len(re.findall(r"`tests/", threats)) >= 25
    for page in PAGES:
        assert missing((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_name_without_a_test_is_found() -> None:
    said = "`tests/server/test_times.py`, `tests/server/test_nothing.py`, `just nothing`"
    assert missing(said) == ["tests/server/test_nothing.py", "nothing"]
