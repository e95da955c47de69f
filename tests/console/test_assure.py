"""Assure: an officer and an auditor see the evidence, and attack made-up people."""

from dataclasses import replace

from browsing import Visitors, violations
from playwright.sync_api import expect
from serving import Server

from tacit.ledger import Anchor
from tacit.server.token_policy import Role
from tacit.store import SigningKey

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


def test_a_document_is_checked_without_scripts(visitors: Visitors, server: Server) -> None:
    olga = server.token("olga", Role.OWNER)
    [first, *_] = server.call("GET", "/v1/answers", olga).json()["answers"]
    path = f"/v1/releases/{first['release_key']}/certificate"
    text = server.call("GET", path, olga, headers={"accept": "text/html"}).text
    wanted = {
        server.call("GET", path, olga).text: "The chain of patients has this charge as entry",
        text: "The document is unchanged. It is signed by this installation.",
        text.replace("patients", "qatients", 1): "Not verified.",
        "<html>": "Not verified.",
        "": "Choose a file or paste its text",
    }
    for given, said in wanted.items():
        page = visitors.visitor("ada", "assure?population=patients", java_script_enabled=False)
        expect(page.get_by_label("File")).to_be_hidden()
        page.get_by_label("Or its text").fill(given)
        page.get_by_role("button", name="Check it").click()
        expect(page.get_by_role("main")).to_contain_text(said)
    sent = page.request.post(visitors.address("assure/verify"), form={"text": text})
    assert sent.status == 403  # a form without the secret of the visit


def test_an_anchor_that_differs_is_said(visitors: Visitors, server: Server) -> None:
    page = visitors.visitor("ada", "assure?population=patients")
    expect(page.locator(".verdict")).to_contain_text("agrees with its newest anchor, of entry")
    expect(page.get_by_role("alert")).to_have_count(0)
    place = server.curator.home.place
    assert place is not None
    line = place.newest()
    assert line is not None
    head = Anchor.of(line).head("patients")
    assert head is not None
    forged = replace(Anchor.of(line), heads=(replace(head, hash=bytes(32)),))
    place.put(forged.sign(SigningKey(bytes(32)), at=1))
    try:
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("Stop the server")
    finally:
        place.put(Anchor.of(line))


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
