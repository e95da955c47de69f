"""The README's Python runs as it is printed."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def failures(text: str) -> tuple[int, int]:
    """How many examples of the Python blocks fail, and how many there are."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "README", "README.md", 0)
    results = doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
    return results.failed, results.attempted


def test_the_first_minute_runs_as_printed() -> None:
    failed, attempted = failures((ROOT / "README.md").read_text())
    assert failed == 0
    assert attempted >= 15


def test_a_wrong_line_would_be_seen() -> None:
    assert failures("```python\n>>> 1 + 1\n3\n```") == (1, 1)
