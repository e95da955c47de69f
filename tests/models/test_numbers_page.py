"""The page of numbers lists every place where a float may become an integer near noise."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/privacy/numbers.md"
FOLDERS = ("ml", "robust", "mechanisms", "stream", "local", "engines")
"""The packages whose integers may reach a gateway; those of `noise` are draws."""


def casts(source: str) -> int:
    """How many calls make 64-bit integers of an array, or round one, in a module."""
    found = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            to_whole = node.func.attr == "astype" and "int" in ast.unparse(node)
            found += to_whole or node.func.attr in {"rint", "floor"}
    return found


def unlisted(page: str) -> list[str]:
    """The modules with such a call that ``page`` does not name."""
    places = [path for name in FOLDERS for path in (ROOT / "src/tacit" / name).rglob("*.py")]
    named = {path: path.relative_to(ROOT / "src").as_posix() for path in places}
    return sorted(
        name for path, name in named.items() if casts(path.read_text()) and name not in page
    )


def test_every_place_is_listed() -> None:
    assert unlisted(PAGE.read_text()) == []


def test_a_place_that_is_not_listed_is_found() -> None:
    page = PAGE.read_text().replace("tacit/ml/clipped_sum.py", "")
    assert unlisted(page) == ["tacit/ml/clipped_sum.py"]
    assert casts("whole = np.rint(x).astype(np.int64)") == 2
