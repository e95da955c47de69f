"""A key is text to a browser, whatever is written in it."""

from html.parser import HTMLParser

import pytest

from tacit.core.release import ReleasedColumn
from tacit.render import table as page
from tacit.render.table import html

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></tr></table><svg/onload=alert(1)>",
    "&lt;b&gt;",
    "' onmouseover='x",
)
OURS = {"table", "thead", "tbody", "tr", "th", "td", "p", "br"}


class Browser(HTMLParser):
    """What a browser would make of a text: its elements, their attributes and the text."""

    def __init__(self, given: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(given)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(key: str) -> Browser:
    return Browser(html((ReleasedColumn(key, (key,)),), notes=(key,)))


@pytest.mark.parametrize("key", HOSTILE)
def test_a_hostile_key_is_shown_as_it_is_written(key: str) -> None:
    seen = shown(key)
    assert seen.tags <= OURS
    assert seen.attributes <= {"style"}
    assert "".join(seen.text) == key * 3


def test_a_table_that_escapes_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "escape", lambda text: text)
    assert all(
        not shown(key).tags <= OURS or "".join(shown(key).text) != key * 3
        for key in HOSTILE[:4]
    )
