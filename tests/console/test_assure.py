"""Assure: an officer and an auditor see the evidence, and attack made-up people."""

from browsing import Visitors, violations
from serving import Server

from tacit.server.token_policy import Role

STORY = "equal-grades"
"""A story that runs in a moment."""


def test_an_auditor_sees_that_the_chain_is_whole(visitors: Visitors) -> None:
    page = visitors.visitor("ada", "assure?population=patients")
    assert page.get_by_role("heading", name="The chain is whole").is_visible()
    head = visitors.server.call(
        "GET", "/v1/ledger/patients/verify", visitors.server.token("ada", Role.AUDITOR)
    ).json()["head"]
    assert page.get_by_text(head).is_visible()
    assert page.get_by_role("row").filter(has_text="ann").count() >= 2  # her two questions
    assert not violations(page)
    visitors.shoot(page, "assure-1366-light")


def test_an_analyst_does_not_see_the_screen(visitors: Visitors) -> None:
    page = visitors.visitor("ann")
    assert page.get_by_role("link", name="Assure").count() == 0
    visitors.open(page, "assure", status=403)
    assert page.get_by_text("for another role").is_visible()


def test_an_attack_runs_on_made_up_people(visitors: Visitors, server: Server) -> None:
    page = visitors.visitor("olga", "assure?population=patients")
    before = server.curator.home.ledger.status("patients")
    page.get_by_label("Story").select_option(STORY)
    page.get_by_role("button", name="Run the attack").click(timeout=120_000)
    found = page.get_by_text("where a guess is").first
    found.wait_for(timeout=120_000)
    assert page.get_by_role("img", name="right in").count() >= 1
    assert not violations(page)
    visitors.shoot(page, "attack-1366-light")
    assert server.curator.home.ledger.status("patients") == before


def test_stories_are_listed_and_unknown_ones_refused(server: Server) -> None:
    token = server.token("ada", Role.AUDITOR)
    listed = server.call("GET", "/v1/attacks", token).json()["stories"]
    assert STORY in {each["name"] for each in listed}
    refused = server.call("POST", "/v1/attacks/no-such-story", token)
    assert refused.status_code == 404
    assert STORY in refused.json()["error"]["allowed"]
    analyst = server.call("POST", f"/v1/attacks/{STORY}", server.token("ann"))
    assert analyst.status_code == 403
