"""The screen Connect: an owner connects a PostgreSQL and applies, and an analyst asks it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import BUILD, Visitors, violations
from conftest import Bar
from connecting import (
    STEPS,
    Clicks,
    bound,
    choose_way,
    declare_all,
    fill_database,
    owner_page,
    wait_for,
)
from playwright.sync_api import Browser, Page, expect
from postgres_cluster import PostgresCluster
from serving import Server
from setting_up import SECRET, TABLES, body, declare, new_clinic, setting_up, setup_token

ODD = "<b>x</b> \u202egnp"
"""The name of a table and a column, with markup and a mark that turns text around."""

WITH_ODD = (
    f'CREATE TABLE "{ODD}" (person text, "{ODD}" text, "&lt;i&gt;" int)',
    """CREATE TABLE "<img src=x onerror=alert(1)>" (person text, "'\\"--" int)""".replace(
        '\\"', '""'
    ),
)
FORMS = (SECRET, "hunter2", "hunter2%2F", SECRET.encode().hex())
"""Spellings of the password, which are in no page, address or log."""

CITIES = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
MOST_CLICKS = 15
MOST_SECONDS = 240
"""Without a person's reading and typing, on a machine that does other work."""


@pytest.fixture(scope="module")
def database(cluster: PostgresCluster) -> str:
    new_clinic(cluster, "connect_clinic", (*TABLES, *WITH_ODD))
    return "connect_clinic"


@pytest.fixture
def place(tmp_path: Path, cluster: PostgresCluster) -> Iterator[tuple[Server, Path]]:
    with setting_up(tmp_path / "own", cluster) as found:
        yield found


@pytest.fixture
def people(browser: Browser, place: tuple[Server, Path]) -> Iterator[Visitors]:
    """Visitors of the server on which a database may be connected."""
    found = Visitors(browser, place[0], BUILD / "connect")
    yield found
    found.close()


def test_an_owner_goes_from_sign_in_to_a_first_answer(
    people: Visitors,
    place: tuple[Server, Path],
    cluster: PostgresCluster,
    database: str,
    bar: Bar,
) -> None:
    server, file = place
    page = owner_page(people, server)
    seen = collect(page)
    clicks, began = Clicks(page), time.monotonic()
    expect(page).to_have_url(people.address("connect"))  # nothing can be asked yet
    fill_database(page, cluster, database)
    clicks.press("Connect")
    declare_all(clicks)
    shown = page.get_by_role("main").inner_text()
    assert "[populations.sick]" in shown
    assert 'password = "file:sick-' in shown
    assert "65 in 100" not in shown  # a step that is done is not said again
    clicks.press("Apply")
    expect(page.get_by_role("heading", name="sick is recorded")).to_be_visible()
    expect(page.get_by_text("The tables are loaded")).to_be_visible()
    clicks.follow("Measure a limit")
    page.get_by_role("link", name="stays", exact=True).click()
    clicks.press("Measure")
    expect(page.get_by_role("table")).to_contain_text("suggested")
    clicks.press("Use this limit")
    wait_for(page, "rows (99%)")
    seconds = time.monotonic() - began
    name, few = "journey of an owner who connects a database", clicks.count <= MOST_CLICKS
    bar(f"{name}: clicks on buttons", clicks.count, f"at most {MOST_CLICKS}", few)
    bar(f"{name}: seconds", seconds, f"below {MOST_SECONDS}", seconds < MOST_SECONDS)
    assert re.search(r"^\[datasets\.labs\]", file.read_text(), re.MULTILINE)
    sent = {"principal": "nina", "role": "analyst", "datasets": ["patients", "stays", "labs"]}
    token = server.call("POST", "/v1/tokens", setup_token(server), json=sent).json()["token"]
    answer = server.ask(token, CITIES, epsilon="1")
    assert answer.status_code == 200, answer.text
    assert not [form for form in FORMS for text in (*seen, *server.log) if form in text]


def collect(page: Page) -> list[str]:
    """Return a list that gets the text and the address of each answer that a page gets."""
    seen: list[str] = []

    def note(response: object) -> None:
        seen.append(response.url)  # type: ignore[attr-defined]
        if response.status < 300:  # type: ignore[attr-defined]
            seen.append(response.text())  # type: ignore[attr-defined]

    page.on("requestfinished", lambda request: note(request.response()))
    return seen


def test_a_wrong_password_is_said_in_words(
    people: Visitors, place: tuple[Server, Path], cluster: PostgresCluster, database: str
) -> None:
    people.expect("status of 422")
    page = owner_page(people, place[0])
    fill_database(page, cluster, database, "not the pass<word>")
    Clicks(page).press("Connect")
    said = page.get_by_role("alert").inner_text()
    assert "did not let this role in" in said
    assert "not the pass" not in page.content()
    assert page.get_by_label("Password of the role").input_value() == ""
    assert page.get_by_label("Password of the role").get_attribute("type") == "password"
    # the rest stays as it was typed, so that only the password is typed again
    assert page.get_by_role("textbox", name="Database").input_value() == database
    page.get_by_label("Password of the role").fill(SECRET)
    Clicks(page).press("Connect")
    expect(page).to_have_url(people.address("connect/people"))


def connected(people: Visitors, server: Server, cluster: PostgresCluster, name: str) -> Page:
    """Return the page of an owner whose database is connected."""
    page, token = owner_page(people, server), setup_token(server)
    sent = body(cluster, name)
    assert server.call("POST", "/v1/setup/databases", token, json=sent).status_code == 201
    return page


def test_reload_and_back_keep_what_was_saved_and_errors_what_was_typed(
    people: Visitors, place: tuple[Server, Path], cluster: PostgresCluster, database: str
) -> None:
    people.expect("status of 422")
    page = connected(people, place[0], cluster, database)
    clicks = Clicks(people.open(page, "connect/people"))
    choose_way(page, "stays", "patient", "a row of patients, by its id")
    clicks.press("Save and go on")
    # a link to a table without a person is said here, and what to do
    expect(page).to_have_url(people.address("connect/people"))
    stays = page.get_by_role("group", name="stays", exact=True)
    assert "patients" in page.locator(".notice.warn").first.inner_text()
    page.reload()
    assert stays.get_by_label("The column").input_value() == "patient"
    choose_way(page, "patients", "id", "the person")
    clicks.press("Save and go on")
    page.go_back()
    page.goto(people.address("connect/columns?table=patients"))
    born = page.get_by_role("group", name="born")
    bound(page, "born", "1900", "2026", "choose")
    clicks.press("Save and go on")
    assert "Say where this is known from" in page.get_by_role("alert").inner_text()
    assert born.get_by_label("Highest").input_value() == "2026"
    bound(page, "born", "2026", "1900", "a public fact")
    clicks.press("Save and go on")
    page.goto(people.address("connect/columns?table=patients"))
    wanted = page.get_by_role("group", name="born").get_by_label("Known from")
    assert wanted.input_value() in {"", "public"}
    page.goto(people.address("connect/limits"))
    assert "At most 1 row of stays counts for one person." in page.inner_text("main")


def test_names_from_a_database_are_text(
    people: Visitors, place: tuple[Server, Path], cluster: PostgresCluster, database: str
) -> None:
    server, token = place[0], setup_token(place[0])
    page = connected(people, server, cluster, database)
    tables = server.call("GET", "/v1/setup/draft", token).json()["draft"]["tables"]
    odd = [each for each in tables if "<" in each["name"] and not each["why_left_out"]]
    assert odd
    for each in odd:
        sent = {"name": each["name"], "unit": "person", "max_groups": 1, "max_rows": 1}
        answer = server.call("POST", "/v1/setup/tables", token, json=sent)
        assert answer.status_code == 200, answer.text
    server.call("POST", "/v1/setup/budget", token, json={"epsilon": 1})
    for step in STEPS:
        people.open(page, f"connect{step}")
        main = page.get_by_role("main")
        assert main.locator("img, b, i").count() == 0, step
        assert "\u202e" not in page.content()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    # what a form sends is the name itself, whatever is shown of it
    people.open(page, "connect/people")
    name = odd[0]["name"]
    group = page.get_by_role("group").filter(has=page.locator(f"input[value={quoted(name)}]"))
    group.get_by_label("The column").select_option("")
    Clicks(page).press("Save and go on")
    tables = server.call("GET", "/v1/setup/draft", token).json()["draft"]["tables"]
    assert [each["declared"] for each in tables if each["name"] == name] == [None]


def quoted(text: str) -> str:
    """Return a text as a string of a selector of CSS."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_every_step_fits_wide_and_narrow_light_and_dark(
    people: Visitors, place: tuple[Server, Path], cluster: PostgresCluster, database: str
) -> None:
    server, token = place[0], setup_token(place[0])
    empty = owner_page(people, server)
    people.fits(people.open(empty, "connect"), "empty", "light")
    assert server.call("POST", "/v1/setup/databases", token, json=body(cluster, database)).ok
    people.fits(people.open(empty, "connect/people"), "people-empty", "light")
    people.fits(people.open(empty, "connect/apply"), "apply-empty", "light")
    declare(server, token)
    for scheme in ("light", "dark"):
        page = people.stranger(color_scheme=scheme)
        people.sign_in(page, token)
        for step in STEPS:
            name = step.strip("/") or "database"
            people.fits(people.open(page, f"connect{step}"), name, scheme)
    answer = server.call("POST", "/v1/setup/apply", token)
    assert answer.status_code == 200, answer.text
    page.goto(people.address("connect/done"))
    expect(page.get_by_text("The tables are loaded")).to_be_visible()
    people.fits(page, "done", "dark")


def test_the_keyboard_alone_connects_and_protects(
    people: Visitors, place: tuple[Server, Path], database: str
) -> None:
    page = owner_page(people, place[0])
    keys = page.keyboard
    page.get_by_label("Host and port").focus()
    for text in (database, "tacit_setup", SECRET, "sick"):
        keys.press("Tab")
        keys.insert_text(text)
    keys.press("Tab")
    keys.press("Enter")
    expect(page).to_have_url(people.address("connect/people"))
    group = page.get_by_role("group", name="patients", exact=True)
    group.get_by_label("The column").focus()
    keys.type("id")
    keys.press("Tab")
    keys.press("Tab")
    while page.evaluate("document.activeElement.textContent") != "Save and go on":
        keys.press("Tab")
    keys.press("Enter")
    expect(page).to_have_url(people.address("connect/limits"))
    assert page.get_by_role("group", name="patients", exact=True).count() == 1


def test_without_the_right_the_page_has_the_refusal_and_the_commands(
    people: Visitors, place: tuple[Server, Path]
) -> None:
    page = people.visitor("olga")
    navigation = page.get_by_role("navigation", name="Main")
    assert navigation.get_by_text("Budget").count() == 1  # it has others
    assert navigation.get_by_text("Connect").count() == 0
    for step in STEPS:
        people.open(page, f"connect{step}", status=403)
        shown = page.get_by_role("main").inner_text()
        assert "does not permit to set up a population" in shown
        assert all(f"tacit {each}" in shown for each in ("init", "protect", "domain", "apply"))
    assert violations(page) == []
    place[0].app.state.setup = None  # a server without [server.setup]
    page = owner_page(people, place[0])
    assert page.get_by_role("navigation", name="Main").get_by_text("Connect").count() == 1
    people.open(page, "connect", status=404)
    assert "[server.setup] allow" in page.get_by_role("main").inner_text()
    people.open(people.visitor("ann"), "connect", status=403)
    assert "tacit init" not in page.get_by_role("navigation").first.inner_text()
