"""The arithmetic on the page about scale is right, and its table repeats it."""

import doctest
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/explanation/scale.md").read_text()
WORKED_OUT, TABLE = PAGE.split("### Side by side")
FIGURES = ("8.8 TB", "12.8 TB", "10.9 TB", "25 TB", "15 TB", "0.5 GB", "0.8 GB", "0.7 GB")


def failures(text: str) -> int:
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "scale", "scale.md", 0)
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed


def test_the_arithmetic_is_right() -> None:
    assert failures(PAGE) == 0


def test_another_figure_is_noticed() -> None:
    assert failures(PAGE.replace("25 TB shuffled\n", "24 TB shuffled\n", 1)) == 1


def test_the_table_repeats_what_was_worked_out() -> None:
    for figure in FIGURES:
        assert figure in WORKED_OUT
        assert figure in TABLE
