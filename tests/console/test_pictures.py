"""Pictures of the screens: `just console-pictures` takes them, and the reference shows all."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Visitors, clinic, publish_weekly
from playwright.sync_api import Browser, Page, expect
from postgres_cluster import PostgresCluster
from serving import Server
from setting_up import body, declare, new_clinic, setting_up, setup_token

from tacit.core import Loss

PLACE = Path(__file__).parents[2] / "docs" / "reference" / "console"
PAGE = PLACE.with_suffix(".md")
SCREENS = {
    "ask": ("ann", "answers"),  # whose newest answer is opened
    "answers": ("ann", "answers"),
    "catalogue": ("ann", "catalogue"),
    "budget": ("olga", "budget?population=patients"),
    "decide": ("omar", "decide"),
    "publications": ("ann", "publications"),
    "assure": ("ada", "assure?population=patients"),
}
"""From the name of a picture to who looks at which page."""

SETUP = {
    "connect-people": "connect/people",
    "connect-budget": "connect/budget",
    "connect-measure": "connect/measure?table=stays",
}
"""Pages of an owner who connects a database, in their order; the last one is applied before."""

LOOKS = (("", 1366, "light"), ("-dark", 1366, "dark"), ("-phone", 390, "light"))
ALL_LOOKS = frozenset({"ask", "budget"})
"""Screens that are shown in the dark and on a phone too."""

TALLEST = 1400


def wanted() -> Iterator[tuple[str, str, int, str]]:
    for name in SCREENS:
        for end, width, scheme in LOOKS if name in ALL_LOOKS else LOOKS[:1]:
            yield name, f"{name}{end}.png", width, scheme


def files() -> list[str]:
    """The files of all pictures."""
    return [*(file for _, file, _, _ in wanted()), *(f"{name}.png" for name in SETUP)]


def test_the_page_shows_each_picture_and_says_what_it_shows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"!\[([^\]]+)\]\(console/([a-z-]+\.png)\)", text))
    assert sorted(shown.values()) == sorted(files())
    for file in shown.values():
        assert (PLACE / file).read_bytes().startswith(b"\x89PNG")


if "TACIT_PICTURES" in os.environ:  # `just console-pictures` takes them again

    @pytest.fixture(scope="module")
    def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
        """A clinic with answers, a publication, a wish for more, and a raise that waits."""
        with clinic(tmp_path_factory.mktemp("pictures")) as running:
            publish_weekly(running)
            ledger = running.curator.home.ledger
            ledger.request_quota(
                "patients", Loss.zcdp("0.05"), by="bob", reason="the yearly report"
            )
            yield running

    def test_take_the_pictures(visitors: Visitors) -> None:
        PLACE.mkdir(exist_ok=True)
        for name, file, width, scheme in wanted():
            who, path = SCREENS[name]
            page = visitors.visitor(who, path, width=width, color_scheme=scheme)
            if name == "ask":
                page.get_by_role("link", name=re.compile("^Open")).first.click()
            take(page, file, width)

    def take(page: Page, file: str, width: int) -> None:
        page.wait_for_timeout(2000)
        page.evaluate("window.scrollTo(0, 0)")
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
        page.screenshot(path=PLACE / file)

    def test_take_the_pictures_of_a_setup(
        browser: Browser, cluster: PostgresCluster, tmp_path: Path
    ) -> None:
        new_clinic(cluster, "clinic_2026")
        with setting_up(tmp_path / "own", cluster) as (server, _):
            people, token = Visitors(browser, server, tmp_path), setup_token(server)
            place = body(cluster, "clinic_2026", population="patients_2026")
            assert server.call("POST", "/v1/setup/databases", token, json=place).ok
            declare(server, token)
            page = people.stranger(width=1366)
            people.sign_in(page, token)
            for name, path in SETUP.items():
                if name == list(SETUP)[-1]:
                    assert server.call("POST", "/v1/setup/apply", token).ok
                    page.goto(people.address("connect/done"))
                    expect(page.get_by_text("The tables are loaded")).to_be_visible()
                    page.goto(people.address(path))
                    page.get_by_role("button", name="Measure", exact=True).click()
                page.set_viewport_size({"width": 1366, "height": 768})
                page.goto(people.address(path))
                take(page, f"{name}.png", 1366)
            people.close()
