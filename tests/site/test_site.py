"""What `just docs` built: every link of every page ends somewhere, and every name is there."""

import ast
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
SOURCES = ROOT / "src" / "tacit"
ELSEWHERE = ("cli", "migrations")
"""Commands have a page of their own, and migrations are run by Alembic alone."""


class Page(HTMLParser):
    """The links of a page, and the places in it that a link can end at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        wanted = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag)
        if wanted in found:
            self.links.append(found[wanted])


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    found = {path: Page(path.read_text()) for path in SITE.rglob("*.html")}
    found.pop(SITE / "404.html", None)  # its links begin at the site's address
    if not found:
        pytest.fail("there is no site: run `just docs`", pytrace=False)
    return found


def broken(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """The links of a page that end nowhere on this site; others are not followed."""
    found = []
    for link in page.links:
        address, place = urldefrag(link)
        if urlsplit(address).scheme:
            continue
        target = (path.parent / unquote(address)).resolve() if address else path
        target = target / "index.html" if target.is_dir() else target
        there = target in pages if target.suffix == ".html" else target.is_file()
        if not there or (place and unquote(place) not in pages[target].places):
            found.append(link)
    return found


def public_names() -> list[str]:
    """Each class and function that a module of ours offers, by its full name."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        module = path.relative_to(SOURCES.parent).with_suffix("")
        if path.name.startswith("_") or set(module.parts) & set(ELSEWHERE):
            continue
        found += [
            ".".join([*module.parts, node.name])
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_"
        ]
    return found


def inventory() -> set[str]:
    """The names that have an entry on a page, as other projects' pages look them up."""
    packed = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}


def test_every_link_ends_somewhere(pages: dict[Path, Page]) -> None:
    assert len(pages) > 90
    assert sum(len(page.links) for page in pages.values()) > 5000
    wrong = {path: broken(path, page, pages) for path, page in pages.items()}
    assert {path: links for path, links in wrong.items() if links} == {}


def test_a_link_to_nowhere_is_found(pages: dict[Path, Page]) -> None:
    home = SITE / "index.html"
    said = '<a href="none/">x</a> <a href="adr/#nowhere">y</a> <a href="adr/">z</a>'
    assert broken(home, Page(said), pages) == ["none/", "adr/#nowhere"]


def test_every_class_and_function_has_an_entry() -> None:
    names = public_names()
    assert len(names) > 600
    known = inventory()
    assert [name for name in names if name not in known] == []


def test_a_name_without_an_entry_is_found() -> None:
    assert "tacit.core.loss.Loss" in inventory()
    assert inventory().isdisjoint({"tacit.core.loss.Gain", "tacit.query.pricing._spent"})


def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, Page]) -> None:
    """Reading about privacy tells nobody that you do."""
    for path in pages:
        text = path.read_text()
        assert 'src="http' not in text, path
        assert 'rel="stylesheet" href="http' not in text, path
