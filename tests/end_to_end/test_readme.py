"""The README's Python runs as it is printed, and so does the page on the floors."""

import ast
import doctest
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", flags=re.DOTALL)
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def shown(code: str, names: dict[str, object]) -> str:
    """What a person sees who types ``code``."""
    with redirect_stdout(io.StringIO()) as printed:
        for statement in ast.parse(code).body:
            typed = compile(ast.Interactive([statement]), "README.md", "single")
            exec(typed, names)  # noqa: S102 - our own page
    return printed.getvalue()


def shape(text: str) -> str:
    """A text without its numbers and its spaces: noise changes both."""
    return " ".join(NUMBER.sub("#", text).split())


def wrong(page: str) -> list[str]:
    """What the cells of a page show otherwise than it stands below them."""
    names: dict[str, object] = {}
    told = [(shown(code, names), said) for code, said in BLOCK.findall(page)]
    return [got for got, said in told if shape(got) != shape(said)]


def failures(page: str) -> tuple[int, int]:
    """How many examples with a prompt fail, and how many there are."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "page", "page.md", 0)
    results = doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
    return results.failed, results.attempted


def test_the_first_lines_show_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "README.md").read_text()
    assert len(BLOCK.findall(page)) == 3
    assert wrong(page) == []
    assert (tmp_path / ".tacit" / "ledger.db").exists()


def test_another_shape_would_be_seen() -> None:
    page = "```python\nprint('n 4 [3, 5]')\n```\n\n```text\n{}\n```\n"
    assert wrong(page.format("n   -71 [6.5, 8]")) == []
    assert len(wrong(page.format("m 4 [3, 5]"))) == 1
    assert len(wrong(page.format("n 4"))) == 1
    assert len(wrong("```python\n1 + 1\n```\n")) == 1


def test_the_floors_can_be_used_by_hand() -> None:
    failed, attempted = failures((ROOT / "docs/how-to/use-the-floors.md").read_text())
    assert failed == 0
    assert attempted >= 20


def test_a_wrong_line_would_be_seen() -> None:
    assert failures("```python\n>>> 1 + 1\n3\n```") == (1, 1)
