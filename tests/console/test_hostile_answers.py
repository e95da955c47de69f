"""Keys that come from data are text: in the table, the picture, the files and the quote."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browsing import Visitors, clinic_project
from playwright.sync_api import Browser, expect
from serving import Server, serving

KEYS = (
    "<script>window.broken = 1</script>",
    '"><img src=x onerror="window.broken=1">',
    '=HYPERLINK("https://example.org","free")',
    "javascript:window.broken=1",
    "\u202eevil\u202c",
    "long " * 2000,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic whose doctors have hostile names."""
    cases = " ".join(
        f"WHEN 'Dr {chr(65 + place)}' THEN '{key.replace(chr(39), chr(39) * 2)}'"
        for place, key in enumerate(KEYS)
    )
    change = f"UPDATE visits SET doctor = CASE doctor {cases} ELSE doctor END"  # noqa: S608
    file = clinic_project(tmp_path_factory.mktemp("hostile"), tables=(change,))
    with serving(file) as running:
        yield running


def test_hostile_keys_are_text_everywhere(browser: Browser, server: Server) -> None:
    visitors = Visitors(browser, server)
    sql = "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor"
    query = urlencode({"sql": sql, "epsilon": "0.9", "delta": "1e-10"})
    page = visitors.visitor("ann", f"ask?{query}")
    page.set_default_timeout(90_000)
    page.get_by_role("button", name="Ask and spend ε").click()
    rows = page.locator("#answer tbody th")
    expect(rows.first).to_be_visible(timeout=90_000)
    shown = rows.all_inner_texts()
    assert KEYS[0] in shown
    assert KEYS[1] in shown
    assert "⟨U+202E⟩evil⟨U+202C⟩" in shown
    assert any(each.startswith("long long") for each in shown)
    assert page.evaluate("window.broken") is None
    picture = page.locator("#answer svg.bars")
    expect(picture).to_be_visible()
    assert picture.locator("script, img").count() == 0
    # nothing is wider than the page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download CSV").click()
    file: Path = kept.value.path()
    cells = [row[0] for row in csv.reader(io.StringIO(file.read_text("utf-8"), newline=""))]
    assert f"'{KEYS[2]}" in cells
    assert KEYS[2] not in cells
    assert KEYS[0] in cells
    visitors.open(page, "answers")
    expect(page.get_by_role("link", name="Open, free")).to_have_count(1)
    visitors.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '<script>window.broken=1</script>' AS x FROM visits",
        "SELECT nothing\u202e FROM visits",
        '"><img src=x onerror=window.broken=1>',
        "</textarea></script><script>window.broken=1</script>",
        "x" * 20_000,
    ],
)
def test_a_hostile_question_is_text_in_its_page(
    browser: Browser, server: Server, sql: str
) -> None:
    visitors = Visitors(browser, server)
    page = visitors.visitor("ann", f"ask?{urlencode({'sql': sql, 'error': sql[:40]})}")
    expect(page.get_by_text("cannot be answered", exact=True)).to_be_visible()
    assert page.evaluate("window.broken") is None
    assert page.locator("#sql").input_value() == sql
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visitors.close()
