"""An owner who connects a clinic in the browser, for tests of the screen Connect.

Each function does what a person does on one page: it fills in fields by their labels, and
clicks. `Clicks` counts those clicks.
"""

from browsing import Visitors
from playwright.sync_api import Page, expect
from postgres_cluster import PostgresCluster
from serving import Server
from setting_up import ROLE, SECRET, setup_token

STEPS = ("", "/people", "/limits", "/columns", "/budget", "/apply")
"""The ends of the addresses of the steps, in their order."""


class Clicks:
    """The clicks of an owner on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def press(self, name: str) -> None:
        """Press a button, and wait for the page that follows."""
        self.count += 1
        self.page.get_by_role("main").get_by_role("button", name=name, exact=True).click()
        self.page.wait_for_load_state()

    def follow(self, name: str) -> None:
        """Follow a link of the page."""
        self.count += 1
        self.page.get_by_role("main").get_by_role("link", name=name, exact=True).click()
        self.page.wait_for_load_state()


def owner_page(visitors: Visitors, server: Server, who: str = "petra") -> Page:
    """Return a page on which an owner with the right to set up has signed in."""
    page = visitors.stranger()
    visitors.sign_in(page, setup_token(server, who))
    return page


def fill_database(
    page: Page, cluster: PostgresCluster, name: str, password: str = SECRET
) -> None:
    """Fill in the first step, without sending it."""
    page.get_by_label("Host and port").select_option(f"127.0.0.1:{cluster.port}")
    page.get_by_role("textbox", name="Database").fill(name)
    page.get_by_role("textbox", name="Role", exact=True).fill(ROLE)
    page.get_by_label("Password of the role").fill(password)
    page.get_by_label("A name for the people in it").fill("sick")


def choose_way(page: Page, table: str, column: str, names: str) -> None:
    """Choose which column of a table names the person, or a row of another table."""
    group = page.get_by_role("group", name=table, exact=True)
    group.get_by_label("The column").select_option(label=column)
    group.get_by_label("names").select_option(label=names)


def declare_all(clicks: Clicks) -> None:
    """Go from the page of people to the page that applies, for the clinic of `setting_up`."""
    page = clicks.page
    choose_way(page, "patients", "id", "the person")
    choose_way(page, "stays", "patient", "a row of patients, by its id")
    choose_way(page, "labs", "visit", "a row of stays, by its id")
    clicks.press("Save and go on")
    limit(page, "stays", 2, 5)
    limit(page, "labs", 1, 9)
    clicks.press("Save and go on")
    bound(page, "value", "0", "200", "a public fact")
    clicks.press("Save and go on")
    bound(page, "born", "1900", "2026", "a public fact")
    city = page.get_by_role("group", name="city text")
    city.get_by_label("Keys of city").fill("Bern\nUlm")
    city.get_by_label("Known from").select_option(label="a policy, made without looking")
    clicks.press("Save and go on")
    bound(page, "cost", "0", "100", "a policy, made without looking")
    clicks.press("Save and go on")
    clicks.count += 1
    page.get_by_role("radio", name="65 in 100 ε 2").check(force=True)
    clicks.press("Choose these odds")
    clicks.follow("Go on")
    expect(page.get_by_role("button", name="Apply", exact=True)).to_be_visible()


def limit(page: Page, table: str, groups: int, rows: int) -> None:
    """Fill in the limits of a table."""
    group = page.get_by_role("group", name=table, exact=True)
    group.get_by_label("Most groups").fill(str(groups))
    group.get_by_label("Most rows of a person").fill(str(rows))


def bound(page: Page, column: str, low: str, high: str, known_from: str) -> None:
    """Fill in the bounds of a column."""
    group = page.get_by_role("group", name=column)
    group.get_by_label("Lowest").fill(low)
    group.get_by_label("Highest").fill(high)
    group.get_by_label("Known from").select_option(label=known_from)


def wait_for(page: Page, text: str) -> None:
    """Open the page again until the server has loaded the new declaration."""
    for _ in range(60):
        if text in page.get_by_role("main").inner_text():
            return
        page.wait_for_timeout(500)
        page.reload()
    raise AssertionError(page.get_by_role("main").inner_text())
