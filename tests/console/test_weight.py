"""Pages are light, do not move while they load, and show their main action at once."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from browsing import CITIES, PEOPLE, Visitors, clinic, publish_weekly
from conftest import Bar
from page_list import PAGES, PageOf
from playwright.sync_api import Browser, Page
from serving import Server
from test_attacks_on_visits import Visiting

MOST_BYTES, MOST_SHIFT = 300_000, 0.01
WIDTH, FOLD = 1366, 768
HEAVY = ("editor.min.js", "charts.min.js")
"""The editor and the chart library, which only pages with an editor or a chart load."""

SHIFTS = """
window.shifts = 0;
new PerformanceObserver(list => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifts += each.value;
}).observe({type: 'layout-shift', buffered: true});
"""
PLACES = """name => [...document.querySelectorAll('main a, main button, nav a')]
  .filter(each => (each.innerText || each.value || '').trim() == name)
  .map(each => each.getBoundingClientRect()).filter(each => each.width && each.height)
  .map(each => each.bottom)"""
LATE = """() => {
  for (let n = 0; n < 20; n++) {
    const notice = document.createElement('h1');
    notice.textContent = 'A late notice';
    document.querySelector('main').prepend(notice);
  } }"""
LINK = re.compile(r'<(?:script|link)[^>]*(?:src|href)="/console/static/([^"]+)"')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic that has answered questions and publishes one."""
    with clinic(tmp_path_factory.mktemp("clinic")) as running:
        publish_weekly(running)
        yield running


@pytest.fixture(scope="module")
def addresses(server: Server) -> dict[str, str]:
    """The address of each page."""
    listed = server.call("GET", "/v1/answers", server.token("ann")).json()["answers"]
    facts = {
        "asked": urlencode({"sql": CITIES, "epsilon": "0.1"}),
        "receipt": listed[0]["receipt"],
        "population": quote("patients"),
    }
    return {name: each.address.format(**facts) for name, each in PAGES.items()}


def weigh(server: Server, each: PageOf, address: str) -> int:
    """The compressed bytes of a page, its styles and scripts, but for the `HEAVY` ones."""
    visitor = Visiting(server, each.who) if each.who else Visiting(server)
    page = visitor.get(address)
    assert page.status_code == each.status, (address, page.status_code)
    total = len(gzip.compress(page.content, 6))
    for name in set(LINK.findall(page.text)) - set(HEAVY):
        file = visitor.get(f"static/{name}", stream=True)
        assert file.headers["Content-Encoding"] == "gzip"
        total += len(file.raw.read(decode_content=False))
    return total


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(
    server: Server, addresses: dict[str, str], name: str, bar: Bar
) -> None:
    weight = weigh(server, PAGES[name], addresses[name])
    bar(
        f"page {name}, compressed bytes without editor and charts",
        weight,
        f"at most {MOST_BYTES}",
        weight <= MOST_BYTES,
    )


def test_what_is_heavy_is_weighed(
    server: Server, addresses: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: a page that carries the editor as its own weighs as much more."""
    light = weigh(server, PAGES["/ask"], addresses["/ask"])
    monkeypatch.setitem(globals(), "HEAVY", ())
    assert weigh(server, PAGES["/ask"], addresses["/ask"]) > light + 100_000


class Opened:
    """Pages that are opened once each, with what moved and where the actions are."""

    def __init__(self, browser: Browser, server: Server, folder: Path) -> None:
        self.visitors = Visitors(browser, server, folder)
        self._pages: dict[str, Page] = {}

    def page(self, each: PageOf, address: str) -> Page:
        """Open a page, and wait until nothing is loaded any more."""
        if each.who not in self._pages:
            page = self.visitors.stranger(width=WIDTH, height=FOLD)
            page.add_init_script(SHIFTS)
            if each.who:
                token = self.visitors.server.token(each.who, PEOPLE[each.who])
                self.visitors.sign_in(page, token)
            self._pages[each.who] = page
        page = self.visitors.open(self._pages[each.who], address, each.status)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(300)
        return page


def test_nothing_moves_and_the_main_action_is_above_the_fold(
    browser: Browser, server: Server, addresses: dict[str, str], tmp_path: Path, bar: Bar
) -> None:
    opened = Opened(browser, server, tmp_path)
    moved, below = dict[str, float](), list[str]()
    for name, each in PAGES.items():
        page = opened.page(each, addresses[name])
        moved[name] = page.evaluate("window.shifts")
        ends = page.evaluate(PLACES, each.action) if each.action else [0]
        if not ends or min(ends) > FOLD:
            below.append(f"{name}: {each.action} at {ends}")
    worst = max(moved, key=moved.__getitem__)
    bar(
        f"layout shift of {len(moved)} pages, most ({worst})",
        round(moved[worst], 4),
        f"below {MOST_SHIFT}",
        moved[worst] < MOST_SHIFT,
    )
    bar(f"main actions below the fold at {WIDTH}x{FOLD}", len(below), "0", not below)
    assert max(moved.values()) < MOST_SHIFT, moved
    assert not below, below
    opened.visitors.close()


def test_what_moves_and_what_is_below_is_found(
    browser: Browser, server: Server, addresses: dict[str, str], tmp_path: Path
) -> None:
    """The lie: a late notice moves the page, and its button is pushed below the fold."""
    opened = Opened(browser, server, tmp_path)
    page = opened.page(PAGES["/decide/token"], addresses["/decide/token"])
    page.evaluate(LATE)
    page.wait_for_timeout(300)
    assert page.evaluate("window.shifts") > MOST_SHIFT
    assert min(page.evaluate(PLACES, PAGES["/decide/token"].action)) > FOLD
    opened.visitors.close()
