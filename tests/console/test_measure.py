"""The screen Measure: an owner sees a price, measures how many rows limits cut, and chooses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import BUILD, Visitors
from conftest import Bar
from connecting import Clicks, owner_page, wait_for
from playwright.sync_api import Browser, Page, expect
from serving import Server
from setting_up import measuring, setup_token

from tacit.project.document import ProjectText

MOST_CLICKS = 4


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    with measuring(tmp_path / "clinic") as found:
        yield found


@pytest.fixture
def people(browser: Browser, place: tuple[Server, Path]) -> Iterator[Visitors]:
    found = Visitors(browser, place[0], BUILD / "measure")
    yield found
    found.close()


def charges(server: Server) -> int:
    status = server.curator.home.ledger.status("patients")
    return round(status.spent.amount / (status.cap.amount / 40))


def test_an_owner_measures_a_limit_and_uses_it(
    people: Visitors, place: tuple[Server, Path], bar: Bar
) -> None:
    server, file = place
    page = owner_page(people, server, "olga")
    clicks = Clicks(page)
    page.goto(people.address("catalogue"))
    clicks.follow("Measure the limits of visits")
    main = page.get_by_role("main")
    expect(main).to_contain_text("In each group, at most 5 of their rows count.")
    expect(main).to_contain_text("It costs epsilon")
    people.shoot(page, "priced")
    assert charges(server) == 0

    clicks.press("Measure")
    expect(page.get_by_role("table")).to_contain_text("suggested")
    assert charges(server) == 1
    page.reload()
    assert charges(server) == 1
    people.shoot(page, "measured")

    page.get_by_role("radio", name="4", exact=True).check()
    clicks.press("Use this limit")
    expect(page.get_by_role("status")).to_contain_text("The limit is recorded")
    assert charges(server) == 2
    assert ProjectText.at(file).root().value["datasets"]["visits"]["max_rows"] == 4
    wait_for(page, "more than 4 rows (99%)")
    expect(main).to_contain_text("In each group, at most 4 of their rows count.")
    people.shoot(page, "used")
    name, few = "clicks of an owner who measures a limit", clicks.count <= MOST_CLICKS
    bar(name, clicks.count, f"at most {MOST_CLICKS}", few)


def measure_page(people: Visitors, server: Server, who: str = "olga") -> Page:
    """The page of visits, before an owner who may set up."""
    page = owner_page(people, server, who)
    page.goto(people.address("connect/measure?table=visits"))
    return page


def test_a_form_that_is_sent_twice_is_charged_once(
    people: Visitors, place: tuple[Server, Path]
) -> None:
    server, _ = place
    page = measure_page(people, server)
    page.get_by_role("button", name="Measure", exact=True).dblclick()
    expect(page.get_by_role("table")).to_contain_text("suggested")
    assert charges(server) == 1


def test_a_refusal_is_shown_with_what_was_chosen(
    people: Visitors, place: tuple[Server, Path]
) -> None:
    server, file = place
    page = measure_page(people, server)
    page.get_by_role("button", name="Measure", exact=True).click()
    page.get_by_role("radio", name="2", exact=True).check()
    file.write_text(file.read_text().replace("max_groups = 2", "max_groups = 3"))
    people.expected.append("status of 422")
    page.get_by_role("button", name="Use this limit").click()
    expect(page.get_by_role("alert")).to_contain_text("Run `tacit apply` first")
    expect(page.get_by_role("radio", name="2", exact=True)).to_be_checked()
    assert charges(server) == 1


def test_the_page_fits_wide_and_narrow_light_and_dark(
    people: Visitors, place: tuple[Server, Path]
) -> None:
    server, _ = place
    token = setup_token(server, "olga")
    for scheme in ("light", "dark"):
        page = people.stranger(color_scheme=scheme)
        people.sign_in(page, token)
        page.goto(people.address("connect/measure?table=visits"))
        if scheme == "light":
            people.fits(page, "price", scheme)
            page.get_by_role("button", name="Measure", exact=True).click()
            expect(page.get_by_role("table")).to_be_visible()
        people.fits(page, "table", scheme)


def test_nobody_else_reaches_it(people: Visitors, place: tuple[Server, Path]) -> None:
    server, _ = place
    page = measure_page(people, server, "oscar")  # who owns another population
    expect(page.get_by_role("main")).to_contain_text("The limits of shifts")
    expect(page.get_by_role("main")).not_to_contain_text("visits")
