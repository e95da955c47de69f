"""The vendored browser code is what its records say, and works under a strict policy.

A page with htmx, a bar chart with error bars and an editor is opened in Chromium under the
console's policy. The lies: a changed byte, a package without its licence, an inline script, and
a chart and a text of the analyst that try to leave their place.
"""

import gzip
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from conftest import Bar
from playwright.sync_api import Browser, Page, Request, expect
from respondents import chromium
from strict_page import STATIC, VENDOR, Site, page_of, script_of, serve

FOLDERS = [STATIC, VENDOR]
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"

CSS = """
:root { color-scheme: light dark; --bg: #f6f7f7; --surface: #fff; --sunken: #f2f5f4;
  --text: #14201e; --muted: #52605d; --control: #7d8a87; --grid: #e6ebe9; --accent: #0a6a5b;
  --accent-soft: #e1f1ed; --bad: #ae2419; --bad-soft: #fcebe9; --mono: monospace;
  --font: system-ui, sans-serif; --keyword: #8a3a86; --series-1: #0a6a5b; --series-2: #3b6bc9;
  --series-3: #b5651d; --series-4: #7a4fa3; }
@media (prefers-color-scheme: dark) { :root { --bg: #0d1312; --surface: #141c1b;
  --sunken: #101716; --text: #e7eeec; --muted: #a0afab; --control: #6f7e7b; --grid: #222c2a;
  --accent: #55cdb4; --accent-soft: #15332d; --bad: #ff9389; --bad-soft: #3a1a17;
  --keyword: #dd9bd8; --series-1: #47bfa6; --series-2: #82a9f5; } }
body { background: var(--bg); color: var(--text); }
.tok-keyword { color: var(--keyword); }
"""

WARDS = [("north", 412), ("south", 287), (HOSTILE, 534)]
CHART = {
    "description": "People by ward, with 95% intervals",
    "width": "container",
    "height": 160,
    "data": {
        "values": [{"ward": w, "people": n, "low": n - 49, "high": n + 49} for w, n in WARDS]
    },
    "encoding": {"x": {"field": "ward", "type": "nominal"}},
    "transform": [{"calculate": "datum.high - datum.low", "as": "width"}],
    "layer": [
        {"mark": "bar", "encoding": {"y": {"field": "people", "type": "quantitative"}}},
        {
            "mark": {"type": "errorbar", "ticks": {"size": 14}, "color": "var(--text)"},
            "encoding": {
                "y": {"field": "low", "type": "quantitative", "title": "people"},
                "y2": {"field": "high"},
            },
        },
    ],
}
OUTSIDE = CHART | {
    "data": {"url": "/secret.json"},
    "layer": [{"mark": {"type": "image", "url": "/secret.png"}, "encoding": {}}],
}
FAILING = CHART | {"transform": [{"calculate": "datum.no.such.field", "as": "width"}]}
SCHEMA = {
    "tables": [
        {
            "name": "visits",
            "detail": "one row for each visit",
            "columns": [{"name": "ward", "detail": "8 keys"}, {"name": 'odd "name"'}],
        },
        {"name": "patients", "columns": [{"name": "born"}, {"name": HOSTILE}]},
    ]
}


def figure(spec: object) -> str:
    return f"<figure data-chart>{script_of(spec)}<figcaption>People</figcaption></figure>"


EDITOR = f"""<form method="post" action="/ask"><label for="sql">Question</label>
<textarea id="sql" name="sql" rows="4" data-editor data-schema="catalogue"
  hx-post="/quote" hx-trigger="input changed delay:50ms" hx-target="#quote"></textarea>
<button id="next">Ask</button></form>{script_of(SCHEMA, "catalogue")}
<output id="quote"></output>"""

SWAP = '<button id="more" hx-get="/fragment" hx-target="#place">More</button>'
PAGES = {
    "/": page_of(figure(CHART) + EDITOR + SWAP + '<div id="place"></div>'),
    "/inline": page_of("<script>window.ran = true</script>"),
    "/evaluated": page_of('<script src="/static/evaluate.js"></script>'),
    "/styled": page_of('<p style="color: red">text</p>'),
    "/outside": page_of(figure(OUTSIDE) + figure({"mark": "no such mark"}) + figure(FAILING)),
    "/no-nonce": page_of(EDITOR).replace("csp-nonce", "nothing"),
    "/indicators": page_of("").replace("Styles&quot;: false", "Styles&quot;: true"),
    "/fragment": figure(CHART) + '<label for="b">B</label><textarea id="b" data-editor>',
    "/quote": "priced",
    "/static/style-of-test.css": CSS,
    "/static/evaluate.js": "try { new Function('window.ran = true')() } catch {}",
}


def records(folder: Path) -> dict[str, Any]:
    """Each vendored file of a folder, with what is recorded of it."""
    found: dict[str, Any] = json.loads((folder / "vendored.json").read_text())["files"]
    return found


def changed(content: bytes, record: dict[str, Any]) -> bool:
    """Return whether a file's bytes are others than those that were recorded."""
    return sha256(content).hexdigest() != record["sha256"]


def unlicensed(folder: Path, licences: str) -> set[str]:
    """The packages in a folder's files whose licence is not in a text."""
    headings = set(licences.splitlines())
    return {
        name
        for record in records(folder).values()
        for name, package in record["npm"].items()
        if f"{name} {package['version']} ({package['licence']})" not in headings
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_file_has_the_recorded_bytes(folder: Path) -> None:
    assert {path.name for path in folder.glob("*.min.*")} == set(records(folder))
    for name, record in records(folder).items():
        content = (folder / name).read_bytes()
        assert not changed(content, record)
        assert changed(content[:-1] + bytes([content[-1] ^ 1]), record)
        assert record["npm"]
        for package in record["npm"].values():
            assert package["integrity"].startswith("sha512-")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_package_has_its_licence(folder: Path) -> None:
    licences = (folder / "THIRD_PARTY_LICENSES.txt").read_text()
    assert unlicensed(folder, licences) == set()
    name, record = next(iter(records(folder).items()))
    lost = next(iter(record["npm"]))
    version = record["npm"][lost]["version"]
    assert unlicensed(folder, licences.replace(f"{lost} {version}", name)) == {lost}


def test_no_file_names_a_place_on_the_network() -> None:
    for folder in FOLDERS:
        text = (folder / "vendored.json").read_text()
        assert "://" not in text


def test_pages_stay_small(bar: Bar) -> None:
    limits = {"htmx.min.js": 18_000, "charts.min.js": 245_000, "editor.min.js": 135_000}
    assert set(limits) == set(records(STATIC))
    for name, most in limits.items():
        size = len(gzip.compress((STATIC / name).read_bytes(), 9))
        bar(f"{name}, compressed bytes", size, f"at most {most}", size <= most)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(PAGES) as found:
        yield found


SENTINEL = "http://sentinel.invalid/"


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The first page. An error, a violation or a request elsewhere fails the test."""
    opened = browser.new_page(color_scheme="light")
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text))
    opened.on("request", lambda request: faults.append(request.url) if away(request) else None)

    def away(request: Request) -> bool:
        return not request.url.startswith((site.address, "data:"))

    opened.goto(site.address)
    expect(opened.locator("figure[data-chart=drawn]")).to_have_count(1)
    yield opened
    assert faults == []
    # reports come in order, so that nothing may come before the one of this last image
    opened.evaluate("address => { new Image().src = address }", SENTINEL)
    assert [each["blocked-uri"] for each in site.wait_for_reports(1)] == [SENTINEL]
    opened.close()


def test_a_chart_with_error_bars_is_drawn_as_svg(page: Page) -> None:
    chart = page.locator("figure svg")
    expect(page.locator(".chart-view")).to_have_attribute("aria-label", CHART["description"])
    expect(chart.locator('[aria-roledescription="bar"]')).to_have_count(len(WARDS))
    assert chart.locator(".mark-rule line").count() >= len(WARDS)
    expect(chart).to_contain_text("north")
    expect(chart).to_contain_text("<img src=x")
    assert page.locator("figure img").count() == 0
    width = chart.bounding_box()
    assert width is not None
    assert width["width"] > 500


def test_a_chart_follows_the_width_and_the_colour_scheme(page: Page) -> None:
    chart = page.locator("figure svg")
    bars = chart.locator('[aria-roledescription="bar"]').first
    expect(bars).to_have_attribute("fill", "#0a6a5b")
    page.emulate_media(color_scheme="dark")
    expect(bars).to_have_attribute("fill", "#47bfa6")
    page.set_viewport_size({"width": 390, "height": 800})
    expect(chart).to_have_attribute("width", re.compile(r"^2\d\d$"))
    assert page.locator(".chart-view").count() == 1


def test_htmx_brings_charts_and_editors_and_takes_them_away(page: Page) -> None:
    for _ in range(2):
        page.get_by_role("button", name="More").click()
        expect(page.locator("#place figure[data-chart=drawn] svg")).to_have_count(1)
        expect(page.locator("#place .cm-editor")).to_have_count(1)
    stored = page.evaluate("[...Object.keys(sessionStorage), ...Object.keys(localStorage)]")
    assert stored == ["htmx-current-path-for-history"]


def test_completion_opens_by_keyboard_and_tab_leaves(page: Page) -> None:
    editor = page.get_by_role("textbox", name="Question")
    page.get_by_text("Question").click()
    expect(editor).to_be_focused()
    page.keyboard.type("SELECT COU")
    options = page.get_by_role("option")
    expect(options.first).to_have_text("COUNT")
    page.wait_for_timeout(100)  # an option is taken when the list has stood for 75 ms
    page.keyboard.press("Enter")
    page.keyboard.type("*) FROM visits v WHERE v.")
    page.keyboard.press("Control+Space")
    expect(options).to_have_text(['odd "name"', "ward8 keys"])
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(editor).to_be_focused()
    page.keyboard.type("od")
    expect(options).to_have_count(1)
    page.wait_for_timeout(100)
    page.keyboard.press("Enter")
    text = 'SELECT COUNT(*) FROM visits v WHERE v."odd ""name"""'
    expect(page.locator("#sql")).to_have_value(text)
    page.keyboard.press("Tab")
    expect(page.locator("#next")).to_be_focused()


def test_typing_reaches_the_form_and_asks_for_a_quote(page: Page, site: Site) -> None:
    page.get_by_role("textbox", name="Question").click()
    page.keyboard.type("SELECT 1 ")
    expect(page.locator("#sql")).to_have_value("SELECT 1 ")
    expect(page.locator("#quote")).to_have_text("priced")
    assert parse_qs(site.posted["/quote"][-1])["sql"] == ["SELECT 1 "]
    keyword = page.locator(".tok-keyword")
    expect(keyword).to_have_text("SELECT")
    expect(keyword).to_have_css("color", "rgb(138, 58, 134)")
    page.evaluate("sql.value = 'SELECT 2'; sql.dispatchEvent(new Event('change'))")
    expect(page.locator(".cm-content")).to_have_text("SELECT 2")


def test_hostile_text_is_shown_as_text(page: Page) -> None:
    page.get_by_role("textbox", name="Question").click()
    page.keyboard.insert_text(f"{HOSTILE}\u202e FROM patients WHERE ")
    page.keyboard.press("Control+Space")
    shown = page.get_by_role("option").filter(has_text="<img")
    expect(shown).to_have_count(1)
    expect(page.locator(".cm-content")).to_contain_text(HOSTILE)
    expect(page.locator(".cm-specialChar")).to_have_count(1)
    assert page.locator("img[src]").count() == 0


def test_an_accessibility_check_finds_nothing(page: Page, site: Site) -> None:
    page.get_by_role("textbox", name="Question").click()
    page.keyboard.type("SELECT w")
    expect(page.get_by_role("option").first).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.add_script_tag(url=f"{site.address}/static/axe.min.js")
        found = page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})"
        )
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


@pytest.mark.parametrize(
    ("address", "directive"),
    [
        ("/inline", "script-src-elem"),
        ("/evaluated", "script-src"),
        ("/styled", "style-src-attr"),
        ("/no-nonce", "style-src-elem"),
        ("/indicators", "style-src-elem"),
    ],
)
def test_what_the_policy_forbids_is_reported(
    browser: Browser, site: Site, address: str, directive: str
) -> None:
    opened = browser.new_page()
    opened.goto(site.address + address)
    reports = site.wait_for_reports(1)
    assert [each["effective-directive"] for each in reports] == [directive]
    assert opened.evaluate("window.ran") is None
    opened.close()


def test_a_chart_fetches_nothing_and_a_wrong_one_says_so(browser: Browser, site: Site) -> None:
    opened = browser.new_page()
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(f"{site.address}/outside")
    expect(opened.locator("figure[data-chart=drawn]")).to_have_count(1)
    expect(opened.locator("figure[data-chart=failed]")).to_have_count(2)
    opened.wait_for_load_state("networkidle")
    assert not [address for address in asked if "secret" in address]
    opened.close()
