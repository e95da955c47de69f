"""Hostile data on every page: 300 texts are shown as text, and nothing of them runs.

A clinic in which all names, keys and questions are hostile is compared with its harmless twin:
in real Chromium, every page has the same elements, and the texts are found as text.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browsing import Visitors
from conftest import Bar
from hostile_clinic import HostileClinic, as_harmless, as_hostile, hostile_clinic
from hostile_texts import COUNT, made_texts
from jinja2 import Environment, FunctionLoader
from page_list import NOT_PAGES, PAGES, get_routes
from playwright.sync_api import Browser, Page

from tacit.server.console.templates_of import SHOWN, Templates, visible
from tacit.server.token_policy import Role

ELEMENTS = """() => [...document.querySelectorAll('*')]
  .filter(each => !each.closest('svg.chart, svg.bar, figure, .cm-editor, .count'))
  .map(each => each.tagName + ' ' + each.getAttributeNames().sort().join(' '))"""
TEXTS = """() => {
  const found = [], walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest('script, style, textarea'))
      found.push(walker.currentNode.data);
  for (const each of document.querySelectorAll('[aria-label], [title], [alt]'))
    for (const name of ['aria-label', 'title', 'alt'])
      found.push(each.getAttribute(name) || '');
  return found; }"""
RUNS = """() => [...document.querySelectorAll('*')].flatMap(each => [
  ...(['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'IMG', 'LINK', 'META', 'FORM',
       'foreignObject', 'FOREIGNOBJECT', 'VIDEO', 'AUDIO', 'TEMPLATE'].includes(each.tagName)
     ? [each.tagName] : []),
  ...each.getAttributeNames().filter(name => /^on|^hx-on|^style$|^srcdoc$/.test(name)),
  ...['href', 'src', 'action', 'formaction', 'data', 'xlink:href']
     .filter(name => each.hasAttribute(name)
       && /^\\s*(javascript|data:text|vbscript):/i.test(each.getAttribute(name)))
])"""


def plain(text: str) -> str:
    """A text as a page shows it, with single spaces."""
    return " ".join(visible(text).split())


class Watch:
    """What a browser did that no page of the console asks for."""

    def __init__(self, page: Page, origin: str) -> None:
        self.dialogs: list[str] = []
        self.requests: list[str] = []
        self._origin = origin
        page.on("dialog", self._dismiss)
        page.on("request", lambda each: self._note(each.url))

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _note(self, address: str) -> None:
        if not address.startswith((f"{self._origin}/console/", "data:,")):
            self.requests.append(address)


class Reader:
    """Opens the pages of a clinic, and remembers what its browsers did."""

    def __init__(self, browser: Browser, made: HostileClinic, folder: Path) -> None:
        self.made = made
        self.visitors = Visitors(browser, made.server, folder)
        self._pages: dict[str, Page] = {}
        self._watches: dict[str, Watch] = {}

    def open(self, who: str, path: str, status: int) -> Page:
        """Open a page as ``who``, a name or nobody."""
        if who not in self._pages:
            page = self.visitors.stranger()
            self._watches[who] = Watch(page, self.made.server.address)
            if who:
                role = {"olga": Role.OWNER}.get(who, Role.ANALYST)
                self.visitors.sign_in(page, self.made.server.token(who, role))
            self._pages[who] = page
        self.visitors.open(self._pages[who], path, status)
        return self._pages[who]

    def done(self) -> tuple[list[str], list[str], int]:
        """Return dialogs, requests to elsewhere, and reports of broken policies."""
        state = self.made.server.app.state.console.state
        dialogs = [each for watch in self._watches.values() for each in watch.dialogs]
        others = [each for watch in self._watches.values() for each in watch.requests]
        return dialogs, others, state.policy_reports


def addresses(made: HostileClinic) -> Iterator[tuple[str, str, str, int]]:
    """The pages of a clinic: the name of each, who opens it, its path, and its status."""
    facts = {
        "asked": _asked(made.answers[0]),
        "receipt": made.receipt,
        "population": quote(made.populations[0], safe=""),
    }
    for name, each in PAGES.items():
        yield name, each.who, each.address.format(**facts), each.status
    yield "/ask other keys", "ann", f"ask?{_asked(made.answers[1])}", 200
    yield "/catalogue wide", "ann", "catalogue?find=wide", 200
    first = {"sql": made.keys[0], "error": made.keys[1]}
    yield "/ask refused", "ann", f"ask?{urlencode(first)}", 200
    yield "/budget change", made.people[0], f"budget?change={facts['population']}", 200


def _asked(sql: str) -> str:
    return urlencode({"sql": sql, "epsilon": "0.1"})


def shown_on(made: HostileClinic) -> dict[str, tuple[str, ...]]:
    """The texts that a page must show."""
    one = (made.populations[0],)
    return {
        "/ask": (*made.keys[::2], *made.saved),
        "/ask other keys": made.keys[1::2],
        "/answers": (*made.asked, made.people[0]),
        "/answers/{receipt}": made.keys[::2],
        "/catalogue": (*made.tables, *made.populations),
        "/catalogue wide": made.columns,
        "/budget": (*made.people, *one),
        "/budget/freeze": one,
        "/decide": (*made.people, *made.reasons, *made.populations),
        "/decide/declarations": one,
        "/decide/token": made.tables,
        "/publications": made.keys[::2],
        "/assure": made.populations,
        "/budget change": (made.people[0],),
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileClinic]:
    """A clinic of hostile texts."""
    with hostile_clinic(tmp_path_factory.mktemp("hostile"), as_hostile) as made:
        yield made


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileClinic]:
    """Its twin with harmless words."""
    with hostile_clinic(tmp_path_factory.mktemp("harmless"), as_harmless) as made:
        yield made


def test_every_page_is_listed(hostile: HostileClinic) -> None:
    found = get_routes(hostile.server.app.state.console)
    listed = {*PAGES, *NOT_PAGES} - {"an error", "another role"}
    assert found - listed == set(), "Add these pages to tests/console/page_list.py."
    assert listed - found == set(), "These are pages no more: tests/console/page_list.py."


def test_300_texts_are_text_on_every_page(
    browser: Browser,
    hostile: HostileClinic,
    harmless: HostileClinic,
    tmp_path: Path,
    bar: Bar,
) -> None:
    assert len({each.raw for each in made_texts()}) == COUNT
    reader, twin = Reader(browser, hostile, tmp_path), Reader(browser, harmless, tmp_path)
    wanted = shown_on(hostile)
    missing: dict[str, list[str]] = {}
    differing: dict[str, Any] = {}
    seen = set[str]()
    for (name, *opened), (_, *opened_twin) in zip(
        addresses(hostile), addresses(harmless), strict=True
    ):
        page = reader.open(*opened)
        elements, runs = Counter(page.evaluate(ELEMENTS)), Counter(page.evaluate(RUNS))
        parts = [" ".join(each.split()) for each in page.evaluate(TEXTS)]
        text = "\n".join(parts)
        lost = [each for each in wanted.get(name, ()) if plain(each) not in text]
        marks = [f"U+{ord(each):04X}" for each in set(text) - {"\n"} if ord(each) in SHOWN]
        if lost or marks:
            missing[name] = [each[:60] for each in lost] + marks
        seen |= {plain(each) for each in wanted.get(name, ())}
        other = twin.open(*opened_twin)
        usual, usual_runs = Counter(other.evaluate(ELEMENTS)), Counter(other.evaluate(RUNS))
        if elements != usual or runs != usual_runs:
            differing[name] = (elements - usual, usual - elements, runs - usual_runs)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    everywhere = {plain(each) for each in (*hostile.keys, *hostile.people, *hostile.columns)}
    assert len(seen & everywhere) >= COUNT
    dialogs, others, reports = reader.done()
    lost_texts = sum(len(each) for each in missing.values())
    name = f"hostile texts on every page, of {COUNT}: not shown as text"
    bar(name, lost_texts, "0", not missing)
    bar("pages with other elements than the harmless page", len(differing), "0", not differing)
    bar("reports at the policy's endpoint", reports, "0", not reports)
    ran = [*dialogs, *others]
    bar("dialogs and requests to other origins", len(ran), "0", not ran)
    assert not missing, missing
    assert not differing, differing
    assert not ran
    reader.visitors.close()
    twin.visitors.close()


# ------------------------------------------------------------------ the lies


def without_escapes(pages: Environment) -> None:
    """The lie: templates that escape nothing."""
    pages.autoescape = False


def with_one_safe_text(pages: Environment) -> None:
    """The lie: one template that takes the name of a table for markup."""
    load = pages.loader
    assert load is not None

    def source(name: str) -> str:
        text, _, _ = load.get_source(pages, name)
        return text.replace("{{ each.table.name }}", "{{ each.table.name|safe }}")

    pages.loader = FunctionLoader(source)


@pytest.mark.parametrize("lie", [without_escapes, with_one_safe_text])
def test_a_template_that_does_not_escape_is_caught(
    browser: Browser,
    hostile: HostileClinic,
    tmp_path: Path,
    lie: Callable[[Environment], None],
    bar: Bar,
) -> None:
    state = hostile.server.app.state.console.state
    honest, lying = state.templates, Templates()
    lie(lying._pages)
    reader = Reader(browser, hostile, tmp_path)
    path = "catalogue"
    usual = Counter(reader.open("ann", path, 200).evaluate(RUNS))
    state.templates = lying
    try:
        page = reader.open("ann", path, 200)
        runs = Counter(page.evaluate(RUNS)) - usual
        text = "\n".join(" ".join(each.split()) for each in page.evaluate(TEXTS))
        lost = [each for each in shown_on(hostile)["/catalogue"] if plain(each) not in text]
    finally:
        state.templates = honest
    _, others, reports = reader.done()
    name = lie.__name__.replace("_", " ")
    bar(f"{name}: elements that run", runs.total(), "at least 1", runs.total() > 0)
    assert lost or others or reports
    state.policy_reports = 0
    reader.visitors.expect(".")
    reader.visitors.close()
