"""A draw shows texts without code, and a seed gives the same draw."""

from pathlib import Path

from prose import Passage, passages
from strangers import draw, page

SOURCE = '''
"""A module."""

def f(n: int) -> int:
    """Return more."""
    if n < 0:
        raise ValueError(f"{n} is negative: give a number from 0 up.")
    return n + 1  # never shown
'''


def passages_of(tmp_path: Path, copies: int = 1) -> list[Passage]:
    every = []
    for number in range(copies):
        path = tmp_path / f"m{number}.py"
        path.write_text(SOURCE.replace("more", f"more {number}").strip())
        every += passages(path)
    return every


def test_code_is_not_shown(tmp_path: Path) -> None:
    shown = page(draw(passages_of(tmp_path), "1", 40, 20))
    assert "function f\n   Return more 0." in shown
    assert "error ValueError\n   <n> is negative: give a number from 0 up." in shown
    assert "return n" not in shown
    assert "never shown" not in shown


def test_a_seed_is_a_draw(tmp_path: Path) -> None:
    every = passages_of(tmp_path, copies=30)
    once = draw(every, "1", 10, 5)
    assert [len(part) for part in once] == [10, 5]
    assert draw(every[::-1], "1", 10, 5)[0] == once[0]
    assert draw(every, "2", 10, 5)[0] != once[0]
