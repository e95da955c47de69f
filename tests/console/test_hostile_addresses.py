"""Hostile texts in addresses and forms, and in files: read without a browser, page by page."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice
from urllib.parse import quote, urlencode

import pytest
import requests
from conftest import Bar
from hostile_texts import COUNT, made_texts
from page_list import PAGES, QUERIES
from serving import Server
from test_attacks_on_visits import Visiting

from tacit.server.console.downloads import to_csv
from tacit.server.console.templates_of import visible
from tacit.server.console.views.budget import as_cell
from tacit.server.token_policy import Role

FORMULA = re.compile(r"^[\s\ufeff\u00a0\"]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]")
"""How a cell begins that a spreadsheet may run."""


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, ...]] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[(tag, *sorted(name for name, _ in attrs))] += 1


def batches(shift: int) -> Iterator[list[tuple[str, str, str]]]:
    """All texts, in addresses: the name of a part, the hostile text, and a harmless word."""
    texts = iter(made_texts())
    while some := list(islice(texts, len(QUERIES))):
        yield [
            (
                QUERIES[(place + shift) % len(QUERIES)],
                each.raw,
                f"word {each.number}".ljust(len(each.raw), "w"),
            )
            for place, each in enumerate(some)
        ]


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_address_changes_no_element(server: Server, name: str, bar: Bar) -> None:
    each = PAGES[name]
    visitor = Visiting(server, each.who) if each.who else Visiting(server)
    path = each.address.partition("?")[0].format(receipt="0" * 64)
    broken = list[str]()
    for batch in batches(list(PAGES).index(name)):
        pair: list[requests.Response] = []
        for column in (1, 2):
            query = urlencode([(part[0], part[column]) for part in batch], quote_via=quote)
            pair.append(visitor.get(f"{path}?{query}"))
        hostile, usual = pair
        same = hostile.status_code == usual.status_code < 500
        same &= Elements(hostile.text).found == Elements(usual.text).found
        same &= set(hostile.headers) == set(usual.headers)
        same &= "a" not in hostile.cookies
        if not same:
            broken.append(f"{hostile.status_code} {usual.status_code} {batch[0][1][:60]}")
    bar(
        f"page {name}, {COUNT} texts in addresses: other elements or headers",
        len(broken),
        "0",
        not broken,
    )
    assert not broken, broken


def test_a_text_that_is_markup_changes_an_element() -> None:
    """The lie: a page that shows a part of its address as it is."""
    shown = [Elements(f"<p>{text}</p>").found for text in ("word", made_texts()[0].raw)]
    assert shown[0] != shown[1]


def test_a_lone_surrogate_is_stored_nowhere(server: Server) -> None:
    ann, olga = server.token("ann"), server.token("olga", Role.OWNER)
    body = '{"principal": "a\\ud800", "role": "analyst", "days": 1}'
    wish = '{"epsilon": "2", "delta": "1e-9", "reason": "a\\udfff"}'
    quota = '{"holder": "a\\ud800", "epsilon": "0.1", "delta": "1e-9"}'
    for method, path, token, sent in (
        ("POST", "/v1/tokens", olga, body),
        ("POST", "/v1/ledger/patients/requests", ann, wish),
        ("POST", "/v1/ledger/patients/quotas", olga, quota),
        ("PUT", "/v1/questions/a", ann, '{"sql": "SELECT \\ud800"}'),
        ("POST", "/v1/quote", ann, '{"sql": "SELECT \\ud800"}'),
    ):
        headers = {"Content-Type": "application/json"}
        answer = server.call(method, path, token, data=sent, headers=headers)
        assert 400 <= answer.status_code < 500, (path, answer.text)
    for who, screens in (("olga", ("decide", "budget", "assure")), ("ann", ("ask",))):
        visitor = Visiting(server, who)
        for screen in screens:
            page = visitor.get(f"{screen}?population=%ED%A0%80&sql=%ED%A0%80&x=%FF")
            assert page.status_code in {200, 404}
            assert "ud800" not in page.text  # it came as bytes that are no text


HIDDEN = "ann\u3164"
"""A name with a letter that is not seen: another person than ann."""


def test_a_form_acts_on_the_name_itself_and_not_on_how_it_is_shown(server: Server) -> None:
    owner = server.token("olga", Role.OWNER)
    body = {"holder": HIDDEN, "epsilon": "0.01", "delta": "1e-9"}
    told = server.call("POST", "/v1/ledger/patients/quotas", owner, json=body)
    assert told.status_code == 200, told.text
    olga = Visiting(server, "olga")
    page = olga.get(f"budget?population=patients&change={quote(HIDDEN)}").text
    assert f"<h2>Change the quota of {visible(HIDDEN)}</h2>" in page  # people see the letter
    found = {
        name: re.search(rf'name="{name}" value="([^"]*)"', page)
        for name in ("csrf", "once", "population", "holder")
    }
    form = {name: each[1] for name, each in found.items() if each} | {"percent": "2"}
    assert form["holder"] == HIDDEN
    assert olga.send("POST", "/console/budget/quota", data=form).status_code == 303
    quotas = server.call("GET", "/v1/ledger/patients/quotas", owner).json()["quotas"]
    holders = {each["holder"] for each in quotas}
    assert HIDDEN in holders
    assert visible(HIDDEN) not in holders  # the lie: the shown name would be a new person


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_file_has_a_cell_that_a_spreadsheet_runs(separator: str, bar: Bar) -> None:
    texts = [each.raw for each in made_texts()]
    history = io.StringIO()
    writer = csv.writer(history, quoting=csv.QUOTE_ALL)
    writer.writerows([as_cell(each), "1"] for each in texts)
    begun = [
        cell
        for file in (to_csv({"key": texts}), history.getvalue())
        for row in csv.reader(io.StringIO(file, newline=""), delimiter=separator)
        for cell in row
        if FORMULA.match(cell)
    ]
    split = {",": "commas", ";": "semicolons", "\t": "tabs"}[separator]
    bar(f"cells that begin a formula, split at {split}", len(begun), "0", not begun)
    assert not begun


def test_a_text_without_quotes_runs_where_cells_are_split_at_semicolons() -> None:
    """The lie: a file that quotes only what it must."""
    text = io.StringIO()
    csv.writer(text).writerow(["a;=1+1"])
    [row] = csv.reader(io.StringIO(text.getvalue()), delimiter=";")
    assert any(FORMULA.match(each) for each in row)
