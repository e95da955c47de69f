"""Walks of people through the console, made from a number: pages, forms and odd texts.

A walk opens a page and goes on by its forms and links, as they are on that page. So it knows no
screen: it fills in what a page asks for, and finds the screens that are added later.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from random import Random
from typing import Any
from urllib.parse import urlencode

import requests
from browsing import CITIES, PEOPLE
from serving import Server

WAIT = 120
STEPS = 3
SCREENS = (
    *("", "ask", "answers", "catalogue", "budget", "decide", "publications", "assure"),
    *("nothing", "sign-in", "entry?code=x", "static/console.css"),
)
WALKERS = ("ann", "bob", "eve", "olga", "omar", "ada")
QUESTIONS = (
    CITIES,
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT AVG(cost) AS cost FROM visits WHERE cost > 100",
    "SELECT COUNT(*) AS n FROM patients WHERE person = 'ann'",
    "SELECT MAX(value) AS v FROM labs",
    "SELECT * FROM patients",
    "SELECT COUNT(*) AS n FROM shifts",
    "SELECT city FROM",
    "DROP TABLE patients",
)
ODD = ("", "0", "-1", "1e9", "<b>x</b>", "\u202e", "patients", "staff", "25", "0.01", "x" * 300)
KNOWN: dict[str, Sequence[str]] = {
    "sql": QUESTIONS,
    "epsilon": ("0.001", "0.05", "0.5", "50", "x"),
    "within": ("10", "100", "3000", "0"),
    "population": ("patients", "staff", "ghosts"),
    "dataset": ("patients", "visits", "ghosts"),
}
NEVER = ("sign-out",)
"""Forms that no walk sends, because the next walk of the same person would be a stranger's."""


@dataclass
class PageForm:
    """A form of a page: where it goes, and its fields with what they hold at first."""

    method: str
    action: str
    fields: list[tuple[str, str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """The forms and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: list[str] = []
        self._area: int | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: text or "" for name, text in attrs}
        if tag == "form":
            action = told.get("hx-post") or told.get("action") or told.get("hx-get", "")
            is_post = "hx-post" in told or told.get("method", "get").lower() == "post"
            self.forms.append(PageForm("POST" if is_post else "GET", action))
        elif tag == "a" and told.get("href", "").startswith("/console/"):
            self.links.append(told["href"])
        elif self.forms and tag in {"input", "select", "textarea", "button"}:
            if "formaction" in told:
                form = self.forms[-1]
                self.forms.append(PageForm(form.method, told["formaction"], form.fields))
            kind = "text" if tag == "textarea" else told.get("type", tag)
            self.forms[-1].fields.append((told.get("name", ""), kind, told.get("value", "")))
            self._area = len(self.forms[-1].fields) - 1 if tag == "textarea" else None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            name, kind, before = self.forms[-1].fields[self._area]
            self.forms[-1].fields[self._area] = (name, kind, before + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None


class Walker:
    """Everybody who walks through the console of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._sessions = {who: self._signed_in(who) for who in WALKERS}
        self._sessions["nobody"] = self._session()

    def walk(self, number: int) -> Iterator[tuple[str, requests.Response]]:
        """Take one walk; yield what was asked for and the response at each step."""
        drawn = Random(number)  # noqa: S311 - the same walk at every server
        who = drawn.choice((*WALKERS, *WALKERS, "nobody"))
        path = f"/console/{drawn.choice(SCREENS)}"
        if drawn.random() < 0.5 and "?" not in path:
            names = drawn.sample(sorted(KNOWN), 2)
            path += "?" + urlencode({name: drawn.choice(KNOWN[name]) for name in names})
        is_part = drawn.random() < 0.2
        for _ in range(STEPS):
            headers = {"HX-Request": "true"} if is_part else {}
            response = self._send(who, "GET", path, headers=headers)
            yield f"{who} GET {path}", response
            page = Page(
                response.text if "html" in response.headers.get("Content-Type", "") else ""
            )
            forms = [each for each in page.forms if not each.action.endswith(NEVER)]
            if forms and drawn.random() < 0.8:
                form = drawn.choice(forms)
                given = self._filled(form, drawn)
                query = {"params": given} if form.method == "GET" else {"data": given}
                response = self._send(who, form.method, form.action, headers=headers, **query)
                yield f"{who} {form.method} {form.action} {given}", response
            if not page.links:
                return
            path = drawn.choice(page.links)

    def _filled(self, form: PageForm, drawn: Random) -> dict[str, str]:
        """Return the fields of a form, as somebody fills them in who tries odd texts too."""
        found = {}
        for name, kind, value in form.fields:
            pool = KNOWN.get(name, ODD)
            luck = drawn.random()  # always drawn, so that each server goes the same way
            text = drawn.choice(pool)
            if kind in {"checkbox", "radio", "submit", "button"} and luck < 0.4:
                continue
            is_kept = kind == "hidden" or luck < (0.5 if value else 0.2)
            if name:
                found[name] = value if is_kept or kind in {"radio", "submit"} else text
        return found

    def _send(self, who: str, method: str, path: str, **more: Any) -> requests.Response:
        address = self.server.address + (path if path.startswith("/") else "/console/")
        return self._sessions[who].request(
            method, address, timeout=WAIT, allow_redirects=False, **more
        )

    @staticmethod
    def _session() -> requests.Session:
        session = requests.Session()
        session.headers["Sec-Fetch-Site"] = "same-origin"
        session.headers["Connection"] = "close"  # an idle one may end as it is used
        return session

    def _signed_in(self, who: str) -> requests.Session:
        session, token = self._session(), self.server.token(who, PEOPLE[who])
        answer = session.post(
            f"{self.server.address}/console/sign-in",
            data={"token": token},
            timeout=WAIT,
            allow_redirects=False,
        )
        assert answer.status_code == 303
        return session


DRAWN = re.compile(
    r"\btacit_[\w-]+|(?<=nonce-)[\w-]{43}|(?<![\w-])[\w-]{43}(?![\w-])|\b[0-9a-f]{16,}\b|\b[0-9]{13}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-\w+"
    r"|\b\d\d:\d\d(:\d\d)?\b|127\.0\.0\.1:\d+|tacit-console-\d+|expires=[^;]+"
    r"|(?<=inode )\w+|(?<=path )\w+"
)
"""Tokens, nonces, hashes, times, ports and marks of files."""

NUMBER = re.compile(r"[-\u2212]?\d[\d,.]*(e[-+]?\d+)?")


def masked(response: requests.Response, *, numbers: bool) -> tuple[Any, ...]:
    """Return all of a response but what is drawn; without ``numbers`` if they have noise."""
    told = {name.lower(): text for name, text in response.headers.items()}
    for name in ("date", "content-length"):
        told.pop(name, None)
    text = DRAWN.sub("…", response.text)
    if not numbers:
        text = NUMBER.sub("#", text)
    cleaned = {name: DRAWN.sub("…", each) for name, each in told.items()}
    return response.status_code, cleaned, text
