"""The screen Decide: what waits, acts that happen once, tokens shown once, and teams."""

import re
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from time import monotonic

import pytest
from browsing import Visitors, clinic, clinic_project
from playwright.sync_api import Browser, Page, expect
from serving import Server, serving

from tacit.core import GaussianNoise, Loss
from tacit.ledger import Charge, ChargeRequest, Target
from tacit.server.console.sign_ins import random_text
from tacit.server.token_policy import Role
from tacit.session.project import apply_project

HOSTILE = SHOWN = "<img src=x onerror=alert(1)>{{ 7*7 }} javascript:alert(1)"
CAP = 'budget = { epsilon = 3, delta = "1e-6" }'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic where olga has changed a limit, and has proposed to raise the cap.

    The reason for the raise is hostile.
    """
    file = clinic_project(tmp_path_factory.mktemp("clinic"))
    text = file.read_text().replace("max_rows = 5\n", "max_rows = 8\n")
    assert CAP in text
    file.write_text(text.replace(CAP, CAP.replace("3", "4")))
    apply_project(file, by="olga", reason=HOSTILE)
    file.write_text(text)
    with serving(file) as running:
        yield running


def call(
    server: Server, method: str, path: str, who: str, role: Role, **body: object
) -> object:
    """One request to the API, which must succeed."""
    told = server.call(method, path, server.token(who, role), json=body)
    assert told.status_code < 300, told.text
    return told.json()


def wish(server: Server, who: str, epsilon: str, reason: str) -> None:
    """Ask an owner for a larger quota."""
    path = "/v1/ledger/patients/requests"
    body = {"epsilon": epsilon, "delta": "1e-9", "reason": reason}
    call(server, "POST", path, who, Role.ANALYST, **body)


def history(server: Server, *kinds: str) -> list[dict[str, object]]:
    """The lines of the patients' ledger of these kinds."""
    path = f"/v1/ledger/patients/history?limit=1000{''.join(f'&kind={k}' for k in kinds)}"
    lines: list[dict[str, object]] = call(server, "GET", path, "omar", Role.OWNER)["lines"]  # type: ignore[index]
    return lines


def item(page: Page, title: str) -> Page:
    """The part of the page about one thing that waits."""
    return page.get_by_role("group", name=title)  # type: ignore[return-value]


# ------------------------------------------------------------------ proposals and requests


def test_a_second_owner_approves_a_raise_told_in_epsilon(visitors: Visitors) -> None:
    server = visitors.server
    first = visitors.visitor("olga", "decide")
    own = item(first, "Raise the cap of patients from ε 3 to ε 4")
    expect(own.get_by_text("needs another owner")).to_be_visible()
    expect(own.get_by_role("button", name="Approve")).to_have_count(0)
    page = visitors.visitor("omar", "decide", java_script_enabled=False)
    expect(page.get_by_role("heading", name="1 thing needs you")).to_be_visible()
    waits = item(page, "Raise the cap of patients from ε 3 to ε 4")
    expect(waits.get_by_text(f"Reason given: {SHOWN}.")).to_be_visible()
    assert page.locator("main img").count() == 0
    waits.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_role("status").get_by_text("Approved.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()
    assert server.curator.home.ledger.status("patients").total.amount == 4
    assert [each["who"] for each in history(server, "approval")] == ["omar"]
    first.get_by_role("button", name="Withdraw").click()  # too late
    visitors.expect("status of 404")
    expect(first.get_by_role("alert")).to_contain_text("proposal")


def test_a_request_is_granted_and_another_one_declined(visitors: Visitors) -> None:
    server = visitors.server
    wish(server, "bob", "1", HOSTILE)
    wish(server, "eve", "2", "")
    page = visitors.visitor("omar", "decide")
    expect(page.get_by_role("heading", name="2 things need you")).to_be_visible()
    bob, eve = item(page, "bob asks for"), item(page, "eve asks for")
    expect(bob.get_by_text(f"Reason given: {SHOWN}.")).to_be_visible()
    expect(eve.get_by_text("No reason was given.")).to_be_visible()
    eve.get_by_role("button", name="Decline").click()
    expect(page.get_by_role("status").get_by_text("Declined.")).to_be_visible()
    item(page, "bob asks for").get_by_text("Grant another share").click()
    page.get_by_label("Percent of the budget").fill("10")
    page.get_by_role("button", name="Grant this share").click()
    expect(page.get_by_role("status").get_by_text("Granted.")).to_be_visible()
    status = server.curator.home.ledger.status_for("patients", "bob")
    whole = server.curator.home.ledger.status("patients").cap.amount
    assert abs(status.cap.amount / whole - 1 / 10) < 1e-9
    expect(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()


def test_the_menu_counts_what_waits(visitors: Visitors) -> None:
    server = visitors.server
    page = visitors.visitor("omar", "catalogue")
    badge = page.get_by_role("navigation", name="Main").get_by_text("waiting")
    page.wait_for_load_state("networkidle")
    expect(badge).to_have_count(0)
    wish(server, "ann", "1.5", "more")
    page.reload()
    expect(badge).to_have_count(1)
    menu = page.get_by_role("navigation", name="Main").get_by_role("link", name="Decide")
    assert re.sub(r"\s+", " ", menu.inner_text()) == "Decide 1 waiting"
    visitors.open(page, "decide")
    item(page, "ann asks for").get_by_role("button", name="Grant", exact=True).click()
    expect(badge).to_have_count(0)


def test_an_owner_looks_at_a_late_answer_and_resumes(visitors: Visitors) -> None:
    server = visitors.server
    ledger = server.curator.home.ledger
    answer = server.ask(server.token("ann"), "SELECT COUNT(*) AS n FROM labs", epsilon="0.01")
    assert answer.status_code == 200
    lock(server)
    page = visitors.visitor("olga", "decide")
    expect(page.get_by_role("heading", name="1 thing needs you")).to_be_visible()
    expect(page.get_by_text("One of them has stopped new questions.")).to_be_visible()
    late = item(page, "An answer missed its deadline (patients)")
    expect(late.get_by_text("ledger entry").first).to_be_visible()
    reviews = len(history(server, "review"))
    late.get_by_role("button", name="Look and resume").click()
    expect(page.get_by_role("status").get_by_text("New questions are answered")).to_be_visible()
    assert not ledger.status("patients").locked
    assert len(history(server, "review")) == reviews + 1


SMALL = GaussianNoise(Fraction(1), variance=Fraction(50_000))
"""Noise whose loss is a rho of 0.00001."""


def lock(server: Server) -> None:
    """Record that an answer was late, as a server does that misses a deadline."""
    ledger = server.curator.home.ledger
    question = ChargeRequest(
        targets=(Target(server.curator.catalog.population("patients"), SMALL),),
        principal="ann",
        request=random_text(),
        plan=sha256(random_text().encode()).digest(),
        loss=Loss.zcdp("0.00001"),
        policy="1",
        epochs=("visits 2026",),
    )
    charge = ledger.reserve(question, lease_ms=60_000)
    assert isinstance(charge, Charge)
    ledger.miss(charge)
    assert ledger.status("patients").locked


# ------------------------------------------------------------------ teams and declarations


def test_members_of_a_team_come_and_go(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "decide")
    page.get_by_text("Add a member").click()
    page.get_by_label("Team, such as @nurses").fill("@lab")
    page.get_by_label("Analyst").fill(SHOWN)
    page.get_by_role("button", name="Add to the team").click()
    expect(page.get_by_role("status").get_by_text("is a member")).to_be_visible()
    page.get_by_role("button", name=f"Remove {SHOWN} from @lab").click()
    expect(page.get_by_role("status").get_by_text("no longer a member")).to_be_visible()


def test_a_team_that_cannot_be_is_refused_in_words(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "decide")
    page.get_by_text("Add a member").click()
    page.get_by_label("Team, such as @nurses").fill("lab")
    page.get_by_label("Analyst").fill("ann")
    visitors.expect("status of 4")
    page.get_by_role("button", name="Add to the team").click()
    expect(page.get_by_role("alert")).to_contain_text("@")


def test_declarations_now_and_before_are_a_diff(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "decide")
    page.get_by_role("link", name="Declarations of patients").click()
    expect(page.get_by_text("Declared by olga")).to_be_visible()
    lines = page.get_by_role("group", name="Changes").locator("div").all_inner_texts()
    assert [each.replace("\n", " ") for each in lines] == [
        "before: labs: at most 3 groups of 5 rows",
        "now: labs: at most 3 groups of 8 rows",
    ]
    page.get_by_text("facts that stayed").click()
    expect(page.get_by_text("labs.value: integer, from 0 to 200 (policy)")).to_be_visible()


# ------------------------------------------------------------------ tokens


def test_a_token_is_shown_exactly_once_and_is_in_no_address(visitors: Visitors) -> None:
    server = visitors.server
    page = visitors.visitor("olga", "decide")
    seen: list[str] = []
    page.on("request", lambda each: seen.append(each.url))
    page.get_by_role("link", name="Issue a token").click()
    page.get_by_label("For whom").fill("zoe")
    page.get_by_label("labs").check()
    page.get_by_label("Most epsilon").fill("0.5")
    page.get_by_role("button", name="Issue the token").click()
    token = page.get_by_label("Token", exact=True).input_value()
    me = server.call("GET", "/v1/me", token).json()
    whole = {"principal": "zoe", "role": "analyst", "datasets": ["labs"], "may_set_up": False}
    assert me == whole
    assert not [each for each in seen if token in each]
    answer = page.request.get(page.url)  # a reload, and a second look
    assert answer.status == 410
    assert "no-store" in answer.headers["cache-control"]
    visitors.expect("status of 410")
    page.reload()
    expect(page.get_by_role("heading", name="This token was shown before")).to_be_visible()
    assert token not in page.content()
    page.go_back()
    page.go_forward()
    assert token not in page.content()


def test_going_back_does_not_show_a_token_again(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "decide/token")
    page.get_by_label("For whom").fill("yan")
    page.get_by_role("button", name="Issue the token").click()
    token = page.get_by_label("Token", exact=True).input_value()
    visitors.expect("status of 410")
    page.get_by_role("link", name="I have copied it").click()
    page.wait_for_load_state()
    page.go_back()
    expect(page.get_by_role("heading", name="This token was shown before")).to_be_visible()
    fields = page.locator("input").evaluate_all("all => all.map(each => each.value)")
    assert token not in fields
    page.go_back()  # the form, whose second sending issues nothing
    page.wait_for_load_state()
    assert token not in page.content()


def test_a_double_click_issues_one_token(visitors: Visitors) -> None:
    server = visitors.server
    page = visitors.visitor("omar", "decide/token", java_script_enabled=False)
    page.get_by_label("For whom").fill("twice")
    visitors.expect("status of 410")
    page.get_by_role("button", name="Issue the token").dblclick()

    def issued() -> int:
        told = call(server, "GET", "/v1/tokens", "omar", Role.OWNER)
        return sum(each["principal"] == "twice" for each in told["tokens"])  # type: ignore[index]

    ends = monotonic() + 30  # without scripts nothing says when a form has ended
    while not issued() and monotonic() < ends:
        page.wait_for_timeout(100)
    page.wait_for_timeout(1000)  # the other form came with the first one
    assert issued() == 1


def test_a_token_is_revoked(visitors: Visitors) -> None:
    server = visitors.server
    token = server.token("gone")
    page = visitors.visitor("olga", "decide")
    page.get_by_role("button", name="Revoke the token of gone").click()
    expect(page.get_by_role("status").get_by_text("The token is revoked.")).to_be_visible()
    assert server.call("GET", "/v1/me", token).status_code == 401


def test_a_token_for_another_owner_is_refused_and_the_form_keeps_its_fields(
    visitors: Visitors,
) -> None:
    page = visitors.visitor("olga", "decide/token")
    page.get_by_label("For whom").fill("omar")
    page.get_by_label("Role").select_option("owner")
    visitors.expect("status of 403")
    page.get_by_role("button", name="Issue the token").click()
    expect(page.get_by_role("alert")).to_contain_text("another owner")
    assert page.get_by_label("For whom").input_value() == "omar"
    assert page.get_by_label("Role").input_value() == "owner"


# ------------------------------------------------------------------ roles, forms and widths


@pytest.mark.parametrize(
    "path", ["approve", "withdraw", "grant", "decline", "look", "join", "leave", "token"]
)
def test_no_act_without_the_secret_of_the_visit_or_the_role(
    visitors: Visitors, path: str
) -> None:
    entries = len(history(visitors.server))
    origin = {"Origin": visitors.server.address}
    form = {"population": "patients", "number": "5", "principal": "x", "role": "analyst"}
    for who in ("olga", "ann"):
        page = visitors.visitor(who, "catalogue")
        given: dict[str, str | float | bool] = {**form}
        given |= {} if who == "olga" else {"csrf": secret(page)}
        sent = page.request.post(visitors.address(f"decide/{path}"), form=given, headers=origin)
        assert sent.status == 403
    assert len(history(visitors.server)) == entries


def secret(page: Page) -> str:
    """The secret of the forms of this visit."""
    return page.locator("input[name=csrf]").first.get_attribute("value") or ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_decide_fits_each_width_and_everyone(visitors: Visitors, scheme: str) -> None:
    page = visitors.visitor("olga", "decide", color_scheme=scheme)
    paths = ("decide", "decide/token", "decide/declarations?population=patients")
    for path in (*paths, "budget/freeze?population=patients", "budget?change=eve"):
        visitors.open(page, path)
        visitors.fits(page, path.split("?")[0], scheme)


def test_nothing_needs_an_owner(browser: Browser, tmp_path: Path) -> None:
    with clinic(tmp_path, is_asked=False) as server:
        visitors = Visitors(browser, server, tmp_path)
        page = visitors.visitor("olga", "decide")
        expect(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()
        visitors.close()
