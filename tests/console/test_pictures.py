"""Pictures of the screens: `just console-pictures` takes them, and the reference shows all."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Visitors, clinic, publish_weekly
from serving import Server

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

LOOKS = (("", 1366, "light"), ("-dark", 1366, "dark"), ("-phone", 390, "light"))
ALL_LOOKS = frozenset({"ask", "budget"})
"""Screens that are shown in the dark and on a phone too."""

TALLEST = 1400


def wanted() -> Iterator[tuple[str, str, int, str]]:
    for name in SCREENS:
        for end, width, scheme in LOOKS if name in ALL_LOOKS else LOOKS[:1]:
            yield name, f"{name}{end}.png", width, scheme


def test_the_page_shows_each_picture_and_says_what_it_shows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"!\[([^\]]+)\]\(console/([a-z-]+\.png)\)", text))
    assert sorted(shown.values()) == sorted(file for _, file, _, _ in wanted())
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
            page.wait_for_timeout(2000)
            page.evaluate("window.scrollTo(0, 0)")
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
            page.screenshot(path=PLACE / file)
