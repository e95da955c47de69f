"""Real browsers on a real server over a clinic, for the tests of the console.

`clinic_project` makes the clinic of `tacit demo` with two owners, quotas, a second population
and answers that were asked before. `Visitors` opens signed-in pages. When it closes, it fails
if a browser reported an error or a violation of the page's policy that nobody expected.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
from playwright.sync_api import Browser, BrowserContext, Page, expect
from respondents import chromium
from serving import NOTHING, STAFF, Server, serving

from tacit.cli.demo import PROJECT, TABLES
from tacit.core import Loss
from tacit.plan import Span
from tacit.publish import Publication, Publications
from tacit.server.token_policy import Role
from tacit.session import Session
from tacit.session.project import apply_project
from tacit.stream import EACH, Periods

__all__ = ["Visitors", "chromium", "clinic", "clinic_project", "violations"]

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "console"
"""The folder for screenshots, which git ignores and CI keeps as build output."""

AXE = HERE / "vendor" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

WIDTHS = (390, 820, 1366, 1920)
AXE_WIDTHS = (390, 1366)

PATIENCE = 90_000
"""Milliseconds for which a test waits for a page: a busy machine takes long for some."""

expect.set_options(timeout=PATIENCE)

PEOPLE: Mapping[str, Role] = {
    "olga": Role.OWNER,  # of the patients, with omar
    "omar": Role.OWNER,
    "oscar": Role.OWNER,  # of the staff
    "ann": Role.ANALYST,  # who has a quota, as bob has
    "bob": Role.ANALYST,
    "eve": Role.ANALYST,  # whose quota is too small for any question
    "ada": Role.AUDITOR,
    "opal": Role.OPERATOR,
}

QUOTAS = """\
quotas.ann = { epsilon = 1, delta = "1e-9" }
quotas.bob = { epsilon = "0.5", delta = "1e-9" }
quotas.eve = { epsilon = "0.0001", delta = "1e-12" }
"""
SHIFTS = (
    "CREATE TABLE shifts AS SELECT 'n' || range AS nurse, 8::BIGINT AS hours FROM range(50)",
)
ASKED = (
    ("ann", "SELECT city, COUNT(*) AS n FROM patients GROUP BY city", "0.1"),
    ("ann", "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", "0.2"),
    ("bob", "SELECT COUNT(*) AS n FROM labs WHERE value > 100", "0.05"),
)
"""The answers that the clinic has given: by whom, to which question, at which epsilon."""

CITIES = ASKED[0][1]


def clinic_project(
    folder: Path,
    more: str = "",
    tables: tuple[str, ...] = (),
    environment: Mapping[str, str] = NOTHING,
) -> Path:
    """Return the file of a new project: the clinic of `tacit demo`, and its staff.

    ``more`` goes to the top of the file. ``tables`` are statements that change the rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        for statement in (*TABLES, *SHIFTS, *tables):
            owner.execute(statement)
    patients = PROJECT.replace("[OWNER]", '["olga", "omar"]')
    patients = patients.replace("\n\n[anchors]", f"\n{QUOTAS}\n[anchors]", 1)
    file = folder / "tacit.toml"
    file.write_text(f"{more}\n{patients}")
    apply_project(file, by="olga", environment=environment)
    staff = STAFF.replace('engine = "warehouse"', 'engine = "clinic"')
    file.write_text(f"{more}\n{patients}{staff}")
    apply_project(file, by="oscar", environment=environment)
    return file


@contextmanager
def clinic(folder: Path, *, is_asked: bool = True, **settings: Any) -> Iterator[Server]:
    """A server over a new clinic, which has answered the questions in `ASKED`."""
    with serving(clinic_project(folder), **settings) as server:
        for who, sql, epsilon in ASKED if is_asked else ():
            answer = server.ask(server.token(who), sql, epsilon=epsilon)
            assert answer.status_code == 200, answer.text
        yield server


WEEKLY, WEEKS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", 4


def publish_weekly(running: Server) -> None:
    """Publish the visits by ward each week, and release four weeks."""
    session = Session(running.curator.asked_by("olga"))
    weeks = Periods("day", Span.WEEKS, date(2026, 1, 5), WEEKS)
    found = Publications(session.states)
    found.declare(Publication("weekly", WEEKLY, weeks, Loss.zcdp("0.001"), EACH), session)
    stream = found.open("weekly", session)
    for number in range(WEEKS):
        stream.release(number)


class Visitors:
    """Browsers of people who visit a server, and what the browsers reported.

    A path is written without ``/console``: `open` of ``"budget"`` shows ``/console/budget``.
    """

    def __init__(self, browser: Browser, server: Server, folder: Path = BUILD) -> None:
        self.server = server
        self.folder = folder
        self.reported: list[str] = []
        """Errors that browsers reported, and that no pattern in `expected` matches."""
        self.expected: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def address(self, path: str = "") -> str:
        """Return the address of a page of the console."""
        return f"{self.server.address}/console/{path.lstrip('/')}"

    def stranger(self, *, width: int = 1366, height: int = 768, **settings: Any) -> Page:
        """Return a page of a browser of somebody who has not signed in.

        ``settings`` are those of a context of playwright, such as ``color_scheme="dark"``.
        """
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, **settings
        )
        self._contexts.append(context)
        context.on("weberror", lambda each: self._report(str(each.error)))
        context.on("console", lambda each: self._note(each.type, each.text, each.location))
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    def visitor(self, who: str = "ann", path: str = "", **settings: Any) -> Page:
        """Return a page of a new browser in which ``who`` has signed in, at ``path``.

        A name of `PEOPLE` has its role there; other names are those of analysts.
        """
        page = self.stranger(**settings)
        self.sign_in(page, self.server.token(who, PEOPLE.get(who, Role.ANALYST)))
        if path:
            self.open(page, path)
        return page

    def sign_in(self, page: Page, token: str) -> None:
        """Sign in with ``token`` as a person does."""
        page.goto(self.address("sign-in"))
        page.get_by_label("Token").fill(token)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        page.wait_for_load_state()

    def open(self, page: Page, path: str, status: int = 200) -> Page:
        """Open a page of the console, which must answer with ``status``."""
        if status >= 400:
            self.expect(f"status of {status}")
        answer = page.goto(self.address(path))
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status} instead of {status}"
        return page

    def expect(self, *patterns: str) -> None:
        """Allow reported errors that one of these regular expressions matches."""
        self.expected.extend(patterns)

    def shoot(self, page: Page, name: str, *, full: bool = True) -> Path:
        """Save a screenshot as build output, and return its file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}.png"
        page.screenshot(path=file, full_page=full)
        return file

    def fits(self, page: Page, name: str, scheme: str) -> None:
        """Look at a page at each width: it stands within its edges.

        axe is asked at the two widths between which most changes: a telephone and a desk.
        """
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 768})
            self.shoot(page, f"{name}-{width}-{scheme}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert width not in AXE_WIDTHS or violations(page) == []

    def close(self) -> None:
        """Close all browsers, and fail if one of them reported what nobody expected."""
        for context in self._contexts:
            context.close()
        found = [each for each in self.reported if not self._is_expected(each)]
        broken = self.server.app.state.console.state.policy_reports
        assert not found, f"The browser reported: {json.dumps(found, indent=1)}"
        assert not broken, f"Pages broke their policy {broken} times."

    def _is_expected(self, text: str) -> bool:
        return any(re.search(pattern, text) for pattern in self.expected)

    def _note(self, kind: str, text: str, place: Any) -> None:
        if kind in {"error", "warning"}:
            self._report(f"{text} ({place.get('url', '')})")

    def _report(self, text: str) -> None:
        self.reported.append(text)


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return what axe-core finds wrong in the page: a rule, and the element, in each line."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    settings = {"runOnly": {"type": "tag", "values": rules or RULES}}
    found = page.evaluate("settings => axe.run(document, settings)", settings)
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:200]} {node.get('failureSummary')}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
