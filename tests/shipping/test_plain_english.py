"""Each rule about English finds its form, and leaves the common form next to it alone."""

from pathlib import Path

import pytest
from plain_english import GLOSSARY, Hit, forbidden_phrases, hits_in, is_participle
from prose import passages


def rules(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [hit.rule for hit in hits_in(path)]


PYTHON = {
    "function-verb": (
        'def f():\n    """The noise of a step."""',
        'def f():\n    """Return the noise of a step."""',
    ),
    "function-verb, code first": (
        'def f():\n    """``count`` draws."""',
        'def f():\n    """Draw ``count`` times."""',
    ),
    "function-verb, whether": (
        'def f():\n    """Whether it fits."""',
        'class A:\n    @property\n    def f(self):\n        """Whether the loss fits."""',
    ),
    "riddle-head": (
        'class A:\n    """What a session needs."""',
        'class A:\n    """The state of a session: what it needs."""',
    ),
    "riddle-head, that of": ('"""That of the model."""', '"""The loss of the model."""'),
    "riddle-head, in a comment": (
        "x = 1  # What fails here is ours.",
        "x = 1  # A failure here is our mistake, whatever it is.",
    ),
    "riddle-head, later in a docstring": (
        'class A:\n    """A session.\n\n    Reads data. What is read is charged."""',
        'class A:\n    """A session.\n\n    Reads data. Whatever is read is charged."""',
    ),
    "pronoun-head": ('X = 1\n"""Its name."""', 'X = 1\n"""The name of the session."""'),
    "pronoun-head, the same": (
        '"""The same without a bound."""',
        '"""Sums without a bound, in the same order."""',
    ),
    "participle-name": ("def kept(): ...", "def keep(): ..."),
    "participle-name, regular": ("def _ranked(): ...", "def _ranked_rows(): ..."),
    "participle-name, verb": ("def mixed(): ...", "def exceed(): ..."),
    "participle-name, property": (
        "def spent(): ...",
        "class A:\n    @property\n    def spent(self): ...",
    ),
    "glossary": ("# a column beside the key", "# a column next to the key, `beside`"),
    "glossary, over two lines": ("# it is below\n# the line", "# it is below\n# a line"),
    "is-no": (
        'raise ValueError(f"{x} is no number.")',
        'raise ValueError(f"{x} is not a number, and there is no number left.")',
    ),
    "is-no, longer": ("# it is no text", "# it is no longer a text"),
    "no-verb": (
        'raise ValueError("Unknown column in this table.")',
        'raise ValueError("This table has too many rows.")',
    ),
    "no-verb, names": (
        'raise ValueError("The second column of this table.")',
        'raise ValueError(f"{column} of this table")',
    ),
}


@pytest.mark.parametrize("name", PYTHON)
def test_each_form_is_found_and_its_better_form_is_not(tmp_path: Path, name: str) -> None:
    bad, good = PYTHON[name]
    assert rules(tmp_path / "a.py", bad) == [name.partition(",")[0]]
    assert rules(tmp_path / "a.py", good) == []


PAGES = {
    "riddle-head": ("Some rows. What is left is noise.", "Some rows.\n\n## What you need\n"),
    "riddle-head, question": ("What is charged is kept.", "What is charged? The price is."),
    "glossary": ("| a | told |", "| a | `told` |"),
    "glossary, code": ("It is told.", "It is fine.\n\n```\ntold\n```\n"),
    "glossary, links": ("The asker waits.", "The [analyst](asker.md) waits."),
    "glossary, parts of words": ("The door is open.", "The outdoor and next-door tables."),
    "is-no": ("Zero is no number.", "There is no number."),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_read_without_their_code(tmp_path: Path, name: str) -> None:
    bad, good = PAGES[name]
    assert rules(tmp_path / "a.md", bad) == [name.partition(",")[0]]
    assert rules(tmp_path / "a.md", good) == []


def test_a_passage_counts_once_for_its_head(tmp_path: Path) -> None:
    found = rules(tmp_path / "a.py", 'def f():\n    """What is read. What is read is x."""')
    assert found == ["function-verb"]


def test_a_hit_says_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text('"""Words."""\n\n\ndef f():\n    """All words."""\n')
    assert hits_in(path) == [Hit(path, 5, "function-verb", "All words.")]
    assert str(hits_in(path)[0]) == f"{path}:5: function-verb: All words."
    page = tmp_path / "a.md"
    page.write_text("# Title\n\n```\na\nb\n```\n\nA line.\nIt was told.\n")
    assert [hit.line for hit in hits_in(page)] == [8]


def test_examples_and_references_are_not_prose(tmp_path: Path) -> None:
    text = (
        'def f():\n    """Return x.\n\n    Example:\n        >>> told\n        What beside\n\n'
        '    Reference: Doe 2016, who told it.\n    """'
    )
    assert rules(tmp_path / "a.py", text) == []


def test_messages_show_placeholders_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        'raise E(f"{self.rows} of {len(keys)} keys; " f"{", ".join(a)!r} are {1 + 1}")'.replace(
            '", ".join', "', '.join"
        )
    )
    assert [each.text for each in passages(path)] == [
        "<rows> of <keys> keys; <list> are <value>"
    ]


def test_the_glossary_is_the_list_of_words() -> None:
    table = forbidden_phrases(GLOSSARY.read_text())
    assert len(table) > 30
    assert table["asker"] == "analyst"
    assert all(phrase == phrase.lower() for phrase in table)
    fewer = GLOSSARY.read_text().replace("| `asker` | analyst |\n", "")
    assert "asker" not in forbidden_phrases(fewer)


def test_the_glossary_keeps_its_own_rules() -> None:
    assert hits_in(GLOSSARY) == []


def test_names_that_look_like_participles() -> None:
    assert [
        name for name in ("seed", "need", "red", "bound", "of", "embed") if is_participle(name)
    ] == []
    assert is_participle("held")
    assert is_participle("_shown")
