"""The lists of ordinary questions are counted as they should be, and no figure falls.

`just language` compares the figures with what is wanted. Here they are compared with what was
reached before, so that a change which makes Tacit refuse more is noticed.
"""

import pytest
from language import bar, refusals
from questions import CLINIC, FIELDS, PEOPLE, TOOLS

from tacit.core import Catalog

REACHED = {"people": 45, "tools": 20, "fields": 92}
"""The numbers of questions that are understood so far; raise them when more are."""


def test_the_lists_are_whole() -> None:
    of_fields = [text for _, texts in FIELDS for text in texts]
    assert [len(PEOPLE), len(TOOLS), len(of_fields)] == [50, 20, 100]
    assert len({*PEOPLE, *TOOLS, *of_fields}) == 170


@pytest.mark.parametrize(
    ("name", "asked"),
    [("people", ((CLINIC, PEOPLE),)), ("tools", ((CLINIC, TOOLS),)), ("fields", FIELDS)],
)
def test_no_fewer_questions_are_understood(
    name: str, asked: tuple[tuple[Catalog, list[str]], ...]
) -> None:
    understood = sum(len(texts) - len(refusals(catalog, texts)) for catalog, texts in asked)
    assert understood >= REACHED[name]


def test_a_refused_question_is_counted_and_a_short_figure_is_told() -> None:
    found = refusals(
        CLINIC, ["SELECT * FROM visits", "SELECT 1", "SELECT COUNT(*) FROM visits"]
    )
    assert list(found) == ["SELECT * FROM visits"]
    line = "bar questions understood of 100: 79 (wanted at least 80) short"
    assert bar("questions understood", 21, 100, 80) == (line, False)
    assert bar("questions understood", 20, 100, 80)[1]
