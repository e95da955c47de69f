"""A report and a certificate in Chromium: wide, narrow, light, dark, and on paper.

Each check is made of a page that is spoiled as well, and must find that. `just officer` keeps
the pictures and the printed pages in `.cache/officer`.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page
from respondents import chromium

from tacit.cli.main import main
from tacit.session.project import open_project

SIZES = (1366, 390)
SCHEMES = ("light", "dark")
KINDS = ("report", "certificate")
A4 = {"width": 680, "height": 1010}
"""The part of a sheet inside of its margins, in pixels of CSS."""

WIDER = """[...document.querySelectorAll("body *")].filter(each => {
  const box = each.getBoundingClientRect()
  const cut = each.clientWidth && each.scrollWidth > each.clientWidth + 1
  return cut || (box.width && (box.right > innerWidth + 1 || box.left < -1))
}).map(each => each.tagName + " " + each.textContent.slice(0, 40))"""
"""The elements that reach over the sides of the window, or whose text reaches over theirs."""

ACTIVE = """[...document.querySelectorAll("*")].flatMap(each =>
  each.tagName === "SCRIPT" ? ["script"] : [...each.attributes].filter(
    found => /^on/i.test(found.name) || /^\\s*javascript:/i.test(found.value)
  ).map(found => found.name))"""

FIRST_SHEET = """for (const each of document.querySelectorAll(
  "section.page, section.page ~ *")) each.remove()"""
"""Leave what stands before the first section that begins on a sheet of its own."""

LETTERS = """[...document.querySelectorAll("svg")].filter(each => each.clientWidth).map(
  each => 12 * each.clientWidth / each.viewBox.baseVal.width)"""
"""The size of the letters of each picture that is shown, in pixels."""

CONTRAST = """[...document.querySelectorAll("p, td, li, dd, h1, h2, text")].map(each => {
  const light = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number).map(part =>
    (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  ).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0)
  const style = getComputedStyle(each)
  const ink = light(each.tagName === "text" ? style.fill : style.color)
  const page = light(getComputedStyle(document.body).backgroundColor)
  return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05)
})"""
"""The contrast of each text with the page, as WCAG 2 defines it."""


@dataclass(frozen=True)
class Written:
    """The documents of a demo, and the folder of the pictures."""

    folder: Path
    pictures: Path

    def url(self, kind: str) -> str:
        return (self.folder / f"{kind}.html").as_uri()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Documents with long names, an attack, a freeze and a failure to fit."""
    folder = tmp_path_factory.mktemp("browser")
    project = folder / "clinic" / "tacit.toml"

    def run(*words: object) -> None:
        done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output

    run("demo", "--folder", project.parent, "--as", "olga")
    with open_project(project, principal="a.very.long.name-of" + "-an-analyst" * 6) as session:
        wards = "SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward"
        receipt = session.sql(wards).ask(epsilon="0.4").receipt.hex()
    at = ("--project", project)
    run("freeze", "patients", "--as", "olga", *at)
    run("thaw", "patients", "--as", "olga", *at)
    finding = {"attack": "differencing", "success": 0.51, "chance": 0.5, "allowed": 0.6,
               "verdict": "no better than a guess", "system": "Tacit"}  # fmt: skip
    attack = folder / "attack.json"
    attack.write_text(
        json.dumps({"subject": "2 questions", "parts": [{"findings": [finding]}]})
    )
    run("report", "patients", *at, "--out", folder / "report.html", "--attack", attack)
    run("certificate", receipt, *at, "--out", folder / "certificate.html")
    pictures = Path(os.environ.get("TACIT_OFFICER_PICTURES", folder / "pictures"))
    pictures.mkdir(parents=True, exist_ok=True)
    return Written(folder, pictures)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", SIZES)
def test_a_document_is_readable(
    browser: Browser, written: Written, kind: str, scheme: str, width: int
) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    loaded: list[str] = []
    page.on("request", lambda each: loaded.append(each.url))
    page.goto(written.url(kind))
    page.screenshot(path=written.pictures / f"{kind}-{width}-{scheme}.png", full_page=True)

    assert loaded == [written.url(kind)]  # it needs no other file
    assert page.evaluate(ACTIVE) == []
    assert page.evaluate(WIDER) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert min(page.evaluate(CONTRAST)) >= 4.5
    letters = page.evaluate(LETTERS)
    assert len(letters) == (3 if kind == "report" else 0)
    assert all(size >= 10 for size in letters)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(18, 25, 29)" if scheme == "dark" else "rgb(255, 255, 255)")

    spoil(page)
    assert len(page.evaluate(ACTIVE)) == 3
    assert "PRE" in " ".join(page.evaluate(WIDER))
    assert min(page.evaluate(CONTRAST)) < 4.5
    assert [size for size in page.evaluate(LETTERS) if size < 10]
    page.close()


def spoil(page: Page) -> None:
    """Do to a page what the checks must find."""
    page.evaluate(
        """document.body.insertAdjacentHTML("beforeend", `<script>1</script>
        <a href="javascript:1" onclick="1">x</a><pre>${"wide".repeat(500)}</pre>
        <p style="color:var(--back)">faint</p>
        <svg viewBox="0 0 760 20" width="300" height="8"></svg>`)"""
    )


def sheets(page: Page, path: Path | None = None) -> int:
    """Return the number of sheets on which the page is printed."""
    printed = page.pdf(prefer_css_page_size=True, print_background=True, path=path)
    return len(re.findall(rb"/Type\s*/Page\b", printed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_printed(browser: Browser, written: Written, kind: str) -> None:
    """The certificate is on one sheet of two sides; the report begins with a whole summary."""
    page = browser.new_page(viewport=A4, color_scheme="dark")  # type: ignore[arg-type]
    page.goto(written.url(kind))
    page.emulate_media(media="print")
    page.screenshot(path=written.pictures / f"{kind}-printed.png", full_page=True)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"  # also if the screen is dark
    assert page.evaluate(WIDER) == []
    most = {"certificate": 2, "report": 7}[kind]
    assert 1 < sheets(page, written.pictures / f"{kind}.pdf") <= most
    if kind == "report":
        page.evaluate(FIRST_SHEET)
        said = page.inner_text("body")
        assert "Privacy report" in said
        assert "The guarantee" in said
        assert "What has left" not in said
        most = 1
        assert sheets(page) == most
    filler = '"<p>one more line</p>".repeat(60)'
    page.evaluate(f'document.body.insertAdjacentHTML("beforeend", {filler})')
    assert sheets(page) > most
    page.close()
