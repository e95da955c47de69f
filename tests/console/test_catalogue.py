"""The screen Catalogue: tables, columns, links and limits in words, and questions that work."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from browsing import Visitors, clinic
from playwright.sync_api import Browser, expect
from serving import OPEN_TIME, serving

from tacit.server.token_policy import Role, TokenScope
from tacit.session.project import apply_project

HOSTILE = "<img src=x onerror=alert(1)> \\u202Eevil {{ 7*7 }} javascript:alert(1)"
SHOWN = "<img src=x onerror=alert(1)> ⟨U+202E⟩evil {{ 7*7 }} javascript:alert(1)"


def test_an_analyst_sees_columns_with_what_is_declared_and_by_whom(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue")
    columns = page.get_by_role("table", name="Columns of visits")
    rows = {
        row.get_by_role("rowheader").inner_text(): row.get_by_role("cell").all_inner_texts()
        for row in columns.get_by_role("row").all()[1:]
    }
    assert rows["patient"] == ["integer", "→ patients.id", "link only"]
    assert rows["ward"] == ["text", "north, south, east, west; no other value occurs", "public"]
    assert rows["doctor"] == ["text", "values unknown", "not declared"]
    assert rows["day"] == ["date", "1 Jan to 31 Dec 2026", "public"]
    assert rows["cost"] == ["decimal, steps of 0.01", "0 to 1,000", "public"]
    labs = page.get_by_role("table", name="Columns of labs")
    expect(labs.get_by_role("row").last).to_contain_text("0 to 200")
    expect(labs.get_by_role("row").last.get_by_text("policy", exact=True)).to_be_visible()


def test_a_token_for_a_linked_table_shows_the_tables_that_link_it(visitors: Visitors) -> None:
    page = visitors.stranger()
    scope = TokenScope(("labs",))
    visitors.sign_in(page, visitors.server.token("lea", scope=scope))
    visitors.open(page, "catalogue")
    expect(page.get_by_role("table", name="Columns of visits")).to_be_visible()
    asked = page.get_by_role("main").get_by_role("link", name=re.compile("^Ask: "))
    found = asked.all_inner_texts()
    named = [each.get_attribute("aria-label") or "" for each in asked.all()]
    assert found
    assert all("labs" in each for each in named), named


def test_limits_are_told_in_words(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue")
    for sentence in (
        "A person counts once in an answer.",
        "A person counts in at most 3 groups of an answer, such as 3 wards.",
        "In each group, at most 11 of their rows count.",
        "No person has more than 11 rows: the insurer pays for 11 visits a year.",
        "A value above 200 counts as 200, and one below 0 as 0.",
    ):
        expect(page.get_by_text(sentence, exact=True)).to_be_visible()
    expect(page.get_by_text("A cost above")).to_have_count(0)  # its bounds are a public fact


def test_a_badge_is_explained_by_touch_and_by_key(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue", width=390, has_touch=True)
    explained = page.get_by_text("Known outside the tables").first
    expect(explained).to_be_hidden()
    page.get_by_text("public", exact=True).first.tap()
    expect(explained).to_be_visible()
    rule = page.get_by_text("A rule the owner set without looking at the data.")
    page.get_by_text("policy", exact=True).locator("xpath=..").focus()
    page.keyboard.press("Enter")
    expect(rule).to_be_visible()


@pytest.mark.parametrize(("width", "shown"), [(1366, "only-wide"), (390, "only-narrow")])
def test_links_are_drawn_for_the_width_and_told_in_words(
    visitors: Visitors, width: int, shown: str
) -> None:
    page = visitors.visitor("ann", "catalogue", width=width)
    drawings = page.get_by_role("img", name="The links between the tables")
    assert [each.get_attribute("class") for each in drawings.all()] == [f"chart {shown}"] * 2
    for text in ("whom we protect", "patient → patients.id", "visit → visits.id"):
        expect(drawings.first.get_by_text(text)).to_be_visible()
    page.get_by_text("The links in words").first.click()
    told = "Each row of labs belongs to the row of visits whose id is its visit."
    expect(page.get_by_text(told)).to_be_visible()


def test_each_example_opens_ask_is_priced_and_costs_nothing(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue")
    server, token = visitors.server, visitors.server.token("ann")
    before = server.call("GET", "/v1/status", token).json()
    links = page.get_by_role("main").get_by_role("link", name="Ask: ")
    found = [each.get_attribute("href") or "" for each in links.all()]
    assert len(found) >= 10
    for each in page.locator(".examples code").all_inner_texts():
        quote = server.call("POST", "/v1/quote", token, json={"sql": each})
        assert quote.status_code == 200, (each, quote.text)
    links.first.click()
    assert page.url.startswith(visitors.address("ask?sql=SELECT"))
    assert server.call("GET", "/v1/status", token).json() == before


def test_an_auditor_reads_the_catalogue_without_questions_to_ask(visitors: Visitors) -> None:
    page = visitors.visitor("ada", "catalogue")
    expect(page.get_by_role("table", name="Columns of visits")).to_be_visible()
    expect(page.get_by_role("link", name="Ask: ")).to_have_count(0)


def test_a_token_for_one_table_shows_no_other(visitors: Visitors) -> None:
    server = visitors.server
    page = visitors.stranger()
    visitors.sign_in(page, server.token("zoe", Role.ANALYST, TokenScope(("shifts",))))
    visitors.open(page, "catalogue")
    expect(page.get_by_role("table")).to_have_count(1)
    assert "visits" not in page.get_by_role("main").inner_text()


def test_a_table_is_found_by_its_name(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue?find=LAB")
    expect(page.get_by_role("table")).to_have_count(1)
    page.get_by_label("Find a table").fill("nowhere")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("No table has “nowhere” in its name.")).to_be_visible()


def test_what_others_do_does_not_change_an_analysts_catalogue(visitors: Visitors) -> None:
    page = visitors.visitor("bob", "catalogue")
    before = without_secrets(page.content())
    server = visitors.server
    answer = server.ask(server.token("ann"), "SELECT COUNT(*) AS n FROM visits", epsilon="0.01")
    assert answer.status_code == 200
    visitors.open(page, "catalogue")
    assert without_secrets(page.content()) == before
    visitors.open(page, "catalogue?find=visits")  # the lie: another page has other bytes
    assert without_secrets(page.content()) != before


def without_secrets(page: str) -> str:
    """A page without what each visit draws anew, and without the budget that all share."""
    page = re.sub(r'nonce" content="[^"]*"|csrf" value="[^"]*"|Token": "[^"]*"', "", page)
    return re.sub(r'(?s)<a class="nav-budget.*?</a>', "", page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_catalogue_fits_each_width_and_everyone(visitors: Visitors, scheme: str) -> None:
    page = visitors.visitor("ann", "catalogue", color_scheme=scheme)
    visitors.fits(page, "catalogue", scheme)


# ------------------------------------------------------------------ hostile and empty


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    """Visitors of a clinic whose names and keys are written by an enemy."""
    folder = tmp_path_factory.mktemp("hostile")
    long = "W" * 60
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(
            "CREATE TABLE \"a table\" AS SELECT 'p' || range AS person, "  # noqa: S608
            f'range AS "{long}", \'\' AS "<b>k</b>" FROM range(50)'
        )
    file = folder / "tacit.toml"
    keys = ", ".join(f'"{HOSTILE} {number}"' for number in range(300))
    file.write_text(
        OPEN_TIME
        + f"""
[engines.clinic]
kind = "duckdb"
path = "clinic.duckdb"
[populations."<script>alert(2)</script>"]
unit = "person"
owners = ["olga"]
budget = {{ epsilon = 1 }}
[datasets."a table"]
population = "<script>alert(2)</script>"
engine = "clinic"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 2
most_rows = {{ rows = 2, source = "{HOSTILE}" }}
[datasets."a table".columns]
person = "text"
{long} = {{ kind = "integer", bounds = [0, 9], provenance = "policy" }}
"<b>k</b>" = {{ kind = "text", keys = [{keys}], provenance = "public" }}
"""
    )
    apply_project(file, by="olga")
    with serving(file) as server:
        found = Visitors(browser, server, folder)
        yield found
        found.close()


def test_hostile_names_and_keys_are_text(hostile: Visitors) -> None:
    page = hostile.visitor("ann", "catalogue")
    text = page.get_by_role("main").inner_text()
    assert "How the tables of <script>alert(2)</script> are linked" in text
    assert f"{SHOWN} 0, {SHOWN} 1" in text
    assert f"No person has more than 2 rows: {SHOWN}." in text
    page.get_by_text("and 292 more").click()
    expect(page.get_by_text(f"{SHOWN} 299")).to_be_visible()
    assert page.locator("main script, main img, main b").count() == 0
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for sql in page.locator(".examples code").all_inner_texts():
        token = hostile.server.token("ann")
        quote = hostile.server.call("POST", "/v1/quote", token, json={"sql": sql})
        assert quote.status_code == 200, (sql, quote.text)


def test_without_tables_one_sentence_and_one_action(browser: Browser, tmp_path: Path) -> None:
    with clinic(tmp_path, is_asked=False) as server:
        visitors = Visitors(browser, server, tmp_path)
        for who, role, action in (
            ("zoe", Role.ANALYST, "Ask an owner for tables"),
            ("olga", Role.OWNER, "Protect a table"),
        ):
            page = visitors.stranger()
            visitors.sign_in(page, server.token(who, role, TokenScope(())))
            visitors.open(page, "catalogue")
            expect(page.get_by_role("heading", name="No table is declared yet")).to_be_visible()
            expect(page.get_by_text(action)).to_be_visible()
        visitors.close()
