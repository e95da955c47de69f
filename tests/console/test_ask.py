"""The screen Ask in a real browser: the quote follows, one charge, and nothing else charges."""

import csv
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from browsing import CITIES, Visitors, violations
from playwright.sync_api import Page, expect
from serving import Server

from tacit.ledger import Charge
from tacit.server.token_policy import Role
from tacit.session import paid_question
from tacit.session.session import Session

PEOPLE = "SELECT city, COUNT(DISTINCT person) AS people FROM patients GROUP BY city"
SECONDS = 90_000
NAME_OF_FOCUS = """() => {
  const focused = document.activeElement;
  if (focused === document.body) return '';
  const by = document.getElementById(focused.getAttribute('aria-labelledby'));
  const labels = [...(focused.labels || [])].map(label => label.innerText).join();
  return by?.innerText || focused.getAttribute('aria-label') || labels || focused.innerText;
}"""


@pytest.fixture
def page(visitors: Visitors) -> Page:
    """The screen Ask of ann, an analyst with a quota."""
    shown = visitors.visitor("ann", "ask")
    shown.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    return shown


def write(page: Page, sql: str) -> None:
    """Write a question as a person does who pastes it."""
    page.get_by_role("textbox", name="Question in SQL").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(sql)


def spent(server: Server, population: str = "patients") -> str:
    """What is spent of a budget, exactly."""
    status = server.call("GET", "/v1/status", server.token("ada", Role.AUDITOR)).json()
    [found] = [each for each in status["budgets"] if each["population"] == population]
    return str(found["spent"]["amount"])


def charges(server: Server) -> int:
    """The number of entries of the chain about the patients."""
    ada = server.token("ada", Role.AUDITOR)
    return len(server.call("GET", "/v1/ledger/patients?after=0", ada).json()["entries"])


def test_the_quote_follows_what_is_typed(page: Page) -> None:
    expect(page.get_by_text("Its price is free")).to_be_visible()
    write(page, "SELECT * FROM visits")
    expect(page.get_by_text("cannot be answered", exact=True)).to_be_visible()
    expect(page.get_by_text("Rows are not released; ask for aggregates")).to_be_visible()
    expect(page.get_by_role("button", name="Cannot be asked")).to_be_disabled()
    write(page, PEOPLE)
    expect(page.get_by_text("can be answered", exact=True)).to_be_visible()
    expect(page.get_by_label("Wanted error in people")).to_have_value("20")
    asked = page.get_by_role("button", name="Ask and spend ε")
    expect(asked).to_be_enabled()
    first = asked.inner_text()
    page.get_by_label("Wanted error in people").fill("80")
    expect(asked).not_to_have_text(first)
    expect(asked).to_be_enabled()
    page.get_by_role("radio", name="± 10").check(force=True)
    expect(page.get_by_label("Wanted error in people")).to_have_value("10")
    expect(page.get_by_role("radio", name="± 10")).to_be_checked()


def test_an_answer_is_paid_once_and_then_free(page: Page, server: Server) -> None:
    write(page, f"{PEOPLE} ORDER BY city")
    page.get_by_label("Wanted error in people").fill("40")
    asked = page.get_by_role("button", name="Ask and spend ε")
    expect(asked).to_be_enabled()
    before, entries = spent(server), charges(server)
    expect(asked).to_be_enabled()
    asked.click()
    answer = page.locator("#answer")
    expect(answer.get_by_role("columnheader", name="95% interval")).to_be_visible()
    expect(answer.get_by_role("rowheader", name="Bern")).to_be_visible()
    expect(answer.get_by_role("img", name=re.compile("people by city"))).to_be_visible()
    expect(answer.get_by_text("What the limits left out.")).to_be_visible()
    expect(answer.get_by_text("free: asked before")).to_be_visible()
    paid, after = spent(server), charges(server)
    assert paid != before
    assert after > entries
    expect(page.get_by_role("link", name="Open the answer, free")).to_be_visible()
    numbers = answer.get_by_role("table").inner_text()
    page.reload()
    expect(answer.get_by_role("rowheader", name="Bern")).to_be_visible()
    assert answer.get_by_role("table").inner_text() == numbers
    assert (spent(server), charges(server)) == (paid, after)


def test_beyond_the_quota_the_closest_error_is_named(page: Page, server: Server) -> None:
    write(page, PEOPLE)
    page.get_by_label("Wanted error in people").fill("5")
    expect(page.get_by_role("button", name="Needs more than your quota")).to_be_disabled()
    expect(page.get_by_text("The closest error that fits is")).to_be_visible()
    page.wait_for_timeout(2000)  # a quote that comes now would close the form
    page.get_by_text("Ask an owner for more").click()
    page.get_by_label("What is it for?").fill("a report on cities")
    page.get_by_role("button", name="Send the request").click()
    expect(page.get_by_text("Your request waits for an owner")).to_be_visible()
    olga = server.token("olga", Role.OWNER)
    found = server.call("GET", "/v1/ledger/patients/requests", olga).json()["requests"]
    assert [(each["principal"], each["reason"]) for each in found] == [
        ("ann", "a report on cities")
    ]
    page.get_by_role("button", name=re.compile("^Accept ±")).click()
    expect(page.get_by_role("button", name="Ask and spend ε")).to_be_enabled()


def test_more_than_the_whole_budget_is_refused_with_what_fits(page: Page) -> None:
    write(page, PEOPLE)
    page.get_by_label("Wanted error in people").fill("0.001")
    expect(page.get_by_role("button", name="Needs more than the whole budget")).to_be_disabled()
    page.get_by_label("Wanted error in people").fill("close")
    expect(page.get_by_text("cannot be answered", exact=True)).to_be_visible()


def test_the_whole_journey_works_by_keys_alone(visitors: Visitors, server: Server) -> None:
    page = visitors.visitor("bob", "ask")
    page.set_default_timeout(SECONDS)

    def tab_to(label: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            named = page.evaluate(NAME_OF_FOCUS)
            if re.search(label, named or ""):
                return
        pytest.fail(f"Tab does not reach {label}")

    tab_to("Question in SQL")
    page.keyboard.insert_text("SELECT COUNT(DISTINCT person) AS people FROM patients")
    expect(page.get_by_role("button", name="Ask and spend ε")).to_be_enabled()
    tab_to("Wanted error")
    page.keyboard.press("Control+A")
    page.keyboard.type("90")
    expect(page.get_by_role("button", name="Ask and spend ε")).to_be_enabled()
    expect(page.locator("#quote-part .dot")).to_be_visible()
    before = spent(server)
    page.wait_for_timeout(1000)
    tab_to("Ask and spend")
    page.keyboard.press("Enter")
    expect(page.locator("#answer").get_by_role("table")).to_be_visible()
    assert spent(server) != before
    tab_to("Share link")


# ------------------------------------------------------------------ one charge, and no other


class Form:
    """A browser without scripts: the cookie of a page, and the fields of its form."""

    def __init__(self, page: Page) -> None:
        self.cookie = "; ".join(
            f"{each['name']}={each['value']}" for each in page.context.cookies()
        )
        self.origin = page.url.split("/console/")[0]
        self.fields: dict[str, str] = page.evaluate(
            "() => Object.fromEntries(new FormData(document.getElementById('question')))"
        )

    def send(self, path: str, **changed: str) -> requests.Response:
        """Send the form as it is, but for what is ``changed``."""
        return requests.post(
            f"{self.origin}/console/{path}",
            self.fields | changed,
            headers={"Cookie": self.cookie, "Origin": self.origin},
            allow_redirects=False,
            timeout=60,
        )

    def get(self, path: str) -> requests.Response:
        """Open a page."""
        return requests.get(
            f"{self.origin}/console/{path}",
            headers={"Cookie": self.cookie},
            allow_redirects=False,
            timeout=60,
        )


def form_for(visitors: Visitors, sql: str, error: str, who: str = "ann") -> Form:
    """The form of a page that shows the price of a question."""
    query = urlencode({"sql": sql, "error": error})
    page = visitors.visitor(who, f"ask?{query}")
    page.get_by_role("button", name="Ask and spend ε").wait_for()
    return Form(page)


def test_a_form_that_is_sent_many_times_is_charged_once(
    visitors: Visitors, server: Server
) -> None:
    form = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1950", "90")
    before = charges(server)
    with ThreadPoolExecutor(6) as pool:
        sent = list(pool.map(lambda _: form.send("ask"), range(6)))
    assert {each.status_code for each in sent} == {303}
    assert len({each.headers["location"] for each in sent}) == 1
    once = charges(server)
    assert form.send("ask").status_code == 303
    assert charges(server) == once
    # the lie: another question in the same way does add entries
    other = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1940", "90")
    assert other.send("ask").status_code == 303
    assert charges(server) - once == once - before


def test_what_was_changed_after_its_price_is_not_asked(
    visitors: Visitors, server: Server
) -> None:
    form = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1980", "80")
    before = charges(server)
    for changed in (
        {"sql": "SELECT COUNT(*) AS n FROM patients WHERE born < 1981"},
        {"error": "20"},
        {"choice": "within:10"},
        {"quoted": ""},
        {"amount": ""},
    ):
        answer = form.send("ask", **changed)
        assert answer.status_code == 200
        assert "nothing was asked or charged" in answer.text
    assert charges(server) == before
    assert form.send("ask").status_code == 303
    assert charges(server) > before


def test_a_request_that_reads_never_charges(visitors: Visitors, server: Server) -> None:
    form = Form(visitors.visitor("ann", "ask"))
    asked = [
        {"sql": "SELECT COUNT(*) AS n FROM visits", **more}
        for more in ({}, {"rho": "0.001"}, {"epsilon": "0.1"}, {"error": "50"})
    ] + [{"sql": CITIES, "epsilon": "0.1"}, {"sql": "SELECT 1", "rho": "0.001"}]
    before = charges(server)
    for query in asked:
        for path in ("ask", "ask/answer.csv", "ask/answer.json", "ask/answer.parquet"):
            form.get(f"{path}?{urlencode(query)}")
        form.send("ask/quote", **query)
        form.send("ask/save", **query, name="kept")
    assert charges(server) == before
    assert form.get(f"ask/answer.csv?{urlencode(asked[0])}").status_code == 422
    assert form.get(f"ask/answer.csv?{urlencode(asked[1])}").status_code == 404
    assert form.get(f"ask/answer.csv?{urlencode(asked[4])}").status_code == 200


def test_a_form_of_another_site_asks_nothing(visitors: Visitors, server: Server) -> None:
    form = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1990", "80")
    before = charges(server)
    assert form.send("ask", csrf="wrong").status_code == 403
    assert charges(server) == before


# ------------------------------------------------------------------ owners, sharing, saving


def test_an_owner_quotes_and_opens_and_does_not_ask(visitors: Visitors, server: Server) -> None:
    query = urlencode({"sql": PEOPLE, "error": "33"})
    page = visitors.visitor("olga", f"ask?{query}")
    button = page.get_by_role("button", name="Analysts ask; you may quote and open")
    expect(button).to_be_disabled()
    expect(page.get_by_text("People with a token of the role analyst may ask")).to_be_visible()
    form, before = Form(page), charges(server)
    assert form.send("ask").status_code == 403
    assert charges(server) == before
    visitors.open(page, f"ask?{urlencode({'sql': CITIES, 'epsilon': '0.1'})}")
    expect(page.locator("#answer").get_by_role("rowheader", name="Bern")).to_be_visible()


def test_a_shared_address_opens_for_free_for_another_analyst(
    visitors: Visitors, server: Server
) -> None:
    page = visitors.visitor("bob", f"ask?{urlencode({'sql': CITIES, 'epsilon': '0.1'})}")
    before = charges(server)
    expect(page.locator("#answer").get_by_role("rowheader", name="Bern")).to_be_visible()
    assert charges(server) == before
    page.get_by_text("As Python, curl and a link").click()
    code = page.locator("#as-python").inner_text()
    compile(code, "as python", "exec")
    assert repr(CITIES) in code
    sent = json.loads(re.search(r"-d '(.*)' ", page.locator("#as-curl").inner_text())[1])  # type: ignore[index]
    answer = server.call("POST", "/v1/ask", server.token("bob"), json=sent)
    assert answer.status_code == 200
    assert charges(server) == before


def test_questions_are_saved_opened_and_removed(page: Page, visitors: Visitors) -> None:
    write(page, PEOPLE)
    expect(page.get_by_role("button", name="Ask and spend ε")).to_be_enabled()
    page.get_by_text("Save", exact=True).click()
    page.get_by_label("Name of this question").fill("people & <b>cities")
    page.get_by_role("button", name="Save the question").click()
    expect(page.get_by_text("“people & <b>cities” is saved.")).to_be_visible()
    visitors.open(page, "ask")
    page.get_by_text("Save", exact=True).click()
    page.get_by_role("link", name="people & <b>cities").click()
    expect(page.get_by_label("Wanted error in people")).to_have_value("20")
    page.get_by_text("Save", exact=True).click()
    page.get_by_role("button", name="Remove people & <b>cities").click()
    expect(page.get_by_text("“people & <b>cities” is removed.")).to_be_visible()
    expect(
        page.get_by_role("link", name="people & <b>cities", include_hidden=True)
    ).to_have_count(0)


def test_answers_are_listed_searched_and_opened(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "answers")
    expect(page.get_by_role("heading", name="All answers")).to_be_visible()
    page.get_by_label("Search in the questions").fill('avg("visits"')
    page.get_by_role("button", name="Search").click()
    opened = page.get_by_role("link", name=re.compile("^Open, free"))
    expect(opened).to_have_count(1)
    opened.click()
    expect(page.locator("#answer").get_by_role("rowheader", name="north")).to_be_visible()
    with page.expect_download() as kept:
        page.get_by_role("link", name="Certificate").click()
    assert kept.value.suggested_filename == "certificate.html"
    other = visitors.visitor("eve", "answers")
    expect(other.get_by_text("No answer yet. Nothing was read or charged.")).to_be_visible()


# ------------------------------------------------------------------ files


def test_a_stored_answer_has_a_page_by_its_receipt(visitors: Visitors, server: Server) -> None:
    listed = server.call("GET", "/v1/answers", server.token("ann")).json()["answers"]
    before = charges(server)
    page = visitors.visitor("ann", f"answers/{listed[-1]['receipt']}")
    expect(page.get_by_role("heading", name="A stored answer")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Bern")).to_be_visible()
    expect(page.get_by_text("zero-concentrated differential privacy")).to_be_visible()
    assert charges(server) == before
    other = visitors.visitor("eve")
    visitors.open(other, f"answers/{listed[-1]['receipt']}", 404)
    # somebody who signed in again while a form was sent comes to the screen
    visitors.open(page, "ask/quote")
    assert page.url.endswith("/console/ask")


def test_files_have_all_digits_and_no_formula(visitors: Visitors) -> None:
    form = Form(visitors.visitor("ann", "ask"))
    query = urlencode({"sql": 'SELECT COUNT(*) AS "=cmd" FROM patients', "error": "90"})
    page = visitors.visitor("ann", f"ask?{query}")
    page.get_by_role("button", name="Ask and spend ε").click()
    expect(page.locator("#answer").get_by_role("table")).to_be_visible()
    address = page.get_by_role("link", name="Download CSV").get_attribute("href") or ""
    found = form.get(address.removeprefix("/console/"))
    rows = list(csv.reader(io.StringIO(found.text)))
    assert rows[0] == ["'=cmd", "'=cmd_low", "'=cmd_high"]
    exact: dict[str, Any] = form.get(
        address.removeprefix("/console/").replace(".csv", ".json")
    ).json()
    assert [str(each[0]) for each in exact["columns"].values()] == rows[1]
    parquet = form.get(address.removeprefix("/console/").replace(".csv", ".parquet"))
    assert parquet.content[:4] == b"PAR1"
    assert "attachment" in parquet.headers["content-disposition"]


# ------------------------------------------------------------------ stopped, and refused


def test_a_frozen_budget_stops_questions_and_not_answers(
    visitors: Visitors, server: Server
) -> None:
    olga = server.token("olga", Role.OWNER)
    asked = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1970", "80")
    assert server.call("POST", "/v1/ledger/patients/freeze", olga).status_code == 200
    try:
        before = charges(server)
        new = "SELECT COUNT(*) AS n FROM patients WHERE born > 1971"
        page = visitors.visitor("bob", f"ask?{urlencode({'sql': new, 'error': '77'})}")
        button = page.get_by_role("button", name="New questions are stopped")
        expect(button).to_be_disabled()
        refused = asked.send("ask")
        assert refused.status_code == 423
        assert "Nothing was charged" in refused.text
        visitors.open(page, f"ask?{urlencode({'sql': CITIES, 'epsilon': '0.1'})}")
        expect(page.locator("#answer").get_by_role("rowheader", name="Ulm")).to_be_visible()
        assert charges(server) == before
    finally:
        server.call("POST", "/v1/ledger/patients/thaw", olga)


def test_an_amount_beyond_the_quota_is_refused_by_the_ledger(
    visitors: Visitors, server: Server
) -> None:
    form = form_for(visitors, "SELECT COUNT(*) AS n FROM patients WHERE born < 1960", "80")
    before = spent(server)
    refused = form.send("ask", amount="rho:0.15")
    assert refused.status_code == 402
    assert "Nothing was charged" in refused.text
    assert spent(server) == before


def test_a_lost_answer_is_said_to_be_lost_and_a_new_key_pays_again(
    visitors: Visitors, server: Server
) -> None:
    sql = "SELECT COUNT(*) AS n FROM patients WHERE born < 1955"
    form = form_for(visitors, sql, "80")
    rho = form.fields["amount"].removeprefix("rho:")
    # another server is charged for the same request, and ends before it stores the answer
    asked = Session(server.curator.asked_by("ann")).sql(sql)
    paid = paid_question(asked, rho=rho, request=form.fields["key"])  # type: ignore[arg-type]
    charge = server.curator.home.ledger.reserve(paid.question, lease_ms=1)
    assert isinstance(charge, Charge)
    before = spent(server)
    lost = form.send("ask")
    assert lost.status_code == 410
    assert "It was charged, and the answer was lost." in lost.text
    assert "An owner looks at it under Decide." in lost.text
    assert spent(server) == before
    # the page that says so has another key, so that asking again is a new question
    found = re.search('name="key" value="([^"]+)"', lost.text)
    assert found is not None
    assert found[1] != form.fields["key"]
    assert form.send("ask", key=found[1]).status_code == 303
    assert spent(server) != before


def test_the_main_action_is_above_the_fold(visitors: Visitors) -> None:
    sql = "SELECT COUNT(DISTINCT person) AS people FROM patients WHERE born > 1990"
    page = visitors.visitor("ann", f"ask?{urlencode({'sql': sql, 'error': '60'})}")
    box = page.get_by_role("button", name="Ask and spend ε").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 768
    # nothing moves while a new price is on its way
    page.get_by_label("Wanted error in people").fill("61")
    expect(page.get_by_role("button", name="Ask and spend ε")).to_be_enabled()
    after = page.get_by_role("button", name="Ask and spend ε").bounding_box()
    assert after is not None
    assert after["y"] == box["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_breaks_a_rule_of_accessibility(visitors: Visitors, scheme: str) -> None:
    page = visitors.visitor("ann", color_scheme=scheme)
    page.set_default_timeout(SECONDS)
    for path in (
        "ask",
        f"ask?{urlencode({'sql': CITIES, 'epsilon': '0.1'})}#answer",
        f"ask?{urlencode({'sql': PEOPLE, 'error': '3'})}",
        "ask?sql=SELECT+*+FROM+visits",
        "answers",
    ):
        visitors.open(page, path)
        page.wait_for_load_state("networkidle")
        assert violations(page) == [], path
