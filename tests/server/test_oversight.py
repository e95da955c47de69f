"""Spending, documents and anchors over HTTP, for owners and auditors."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from serving import COUNT, Server, make_project, serving

from tacit.certify import CERTIFICATE, SignedPage, Statement
from tacit.ledger import Anchor
from tacit.ledger.entries import follow
from tacit.server.token_policy import Role, TokenScope
from tacit.store import SigningKey

HERE = "/v1/ledger/patients"
VISITS = "SELECT SUM(cost) AS c FROM visits"
ANCHORS = '[anchors]\nfile = "anchors.txt"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("oversight"))) as running:
        for who, sql, epsilon in (("ann", COUNT, "0.3"), ("bob", VISITS, "0.2")):
            told = running.ask(running.token(who), sql, epsilon=epsilon)
            assert told.status_code == 200, told.text
        yield running


def read(server: Server, path: str, who: str = "olga", role: Role = Role.OWNER) -> Any:
    told = server.call("GET", f"{HERE}/{path}", server.token(who, role))
    assert told.status_code == 200, told.text
    return told


def test_shares_of_spending_add_up_to_what_the_ledger_says(server: Server) -> None:
    found = read(server, "spending").json()
    status = server.curator.home.ledger.status("patients")
    whole = Fraction(status.spent_units.amount, status.cap_units.amount)
    assert Fraction(found["spent"]["exact"]) == whole > 0
    for name in ("points", "analysts", "datasets"):
        assert sum(Fraction(each["spent"]["exact"]) for each in found[name]) == whole, name
    assert Fraction(found["points"][-1]["total"]["exact"]) == whole
    assert [each["principal"] for each in found["analysts"]] == ["ann", "bob"]
    assert [each["datasets"] for each in found["datasets"]] == [["people"], ["visits"]]
    assert Fraction(found["spent"]["exact"]) + Fraction(found["left"]["exact"]) == 1
    assert {each["holder"] for each in found["quotas"]} >= {"ann", "bob"}


def test_a_forecast_and_what_is_left_are_told_in_sentences(server: Server) -> None:
    found = read(server, "spending", "abe", Role.AUDITOR).json()
    forecast, left = found["forecast"], found["questions_left"]
    assert forecast["days"] >= 1
    assert f"{forecast['days']} day" in forecast["sentence"]
    assert forecast["until"] in forecast["sentence"]
    assert str(left["count"]) in left["sentence"]
    usual = Fraction(left["each"]["exact"])
    assert left["count"] == Fraction(found["left"]["exact"]) // usual
    odds = found["odds"]
    assert 50 < odds["now"] < odds["cap"] <= 100
    staff = server.call("GET", "/v1/ledger/staff/spending", server.token("oscar", Role.OWNER))
    assert "Nothing was spent" in staff.json()["forecast"]["sentence"]
    assert staff.json()["questions_left"]["count"] is None


def verified(server: Server, text: str, role: Role = Role.AUDITOR, **scope: Any) -> Any:
    told = server.call(
        "POST", "/v1/verify", server.token("abe", role, **scope), json={"text": text}
    )
    assert told.status_code == 200, told.text
    return told.json()


def test_a_report_is_signed_and_one_changed_letter_is_found(server: Server) -> None:
    told = read(server, "report")
    assert told.headers["content-type"].startswith("text/html")
    assert SignedPage.of(told.text).kind == "report"
    found = verified(server, told.text)
    assert (found["whole"], found["ours"]) == (True, True)
    changed = verified(server, told.text.replace("patients", "patientz", 1))
    assert (changed["whole"], changed["ours"]) == (False, False)
    assert verified(server, "nonsense")["whole"] is False
    assert verified(server, "<p>nonsense</p>")["whole"] is False


def test_a_population_that_counts_in_pure_epsilon_has_a_report_too(server: Server) -> None:
    oscar = server.token("oscar", Role.OWNER)
    told = server.call("GET", "/v1/ledger/staff/report", oscar)
    assert told.status_code == 200, told.text
    assert SignedPage.of(told.text).kind == "report"


def test_a_certificate_is_found_in_its_chain_by_those_who_may_read_it(server: Server) -> None:
    ann = server.token("ann")
    key = server.ask(ann, COUNT, epsilon="0.3").json()["release_key"]
    text = server.call("GET", f"/v1/releases/{key}/certificate", ann).text
    found = verified(server, text)
    assert (found["whole"], found["ours"], found["in_chain"]) == (True, True, True)
    assert found["population"] == "patients"
    blind = verified(server, text, scope=TokenScope(("shifts",)))
    assert (blind["whole"], blind["in_chain"]) == (True, None)
    forged = json.loads(text)
    forged["certificate"]["chain"]["entry"] += 1
    assert verified(server, json.dumps(forged))["whole"] is False


def test_a_certificate_of_another_installation_is_not_in_this_chain(
    server: Server, tmp_path: Path
) -> None:
    with serving(make_project(tmp_path / "other")) as other:
        ann = other.token("ann")
        key = other.ask(ann, COUNT, epsilon="0.3").json()["release_key"]
        text = other.call("GET", f"/v1/releases/{key}/certificate", ann).text
    found = verified(server, text)
    assert (found["whole"], found["ours"], found["in_chain"]) == (True, False, False)


@pytest.mark.parametrize("entry", [-1, 0, 2**70, "7", None, 1.5, [1], True])
def test_a_certificate_of_a_strange_entry_is_refused_and_nothing_fails(
    server: Server, entry: object
) -> None:
    ann = server.token("ann")
    key = server.ask(ann, COUNT, epsilon="0.3").json()["release_key"]
    text = server.call("GET", f"/v1/releases/{key}/certificate", ann).text
    content = Statement.of(text).content
    content["chain"]["entry"] = entry
    forged = Statement.sign(CERTIFICATE, content, SigningKey(bytes(32)))
    assert verified(server, forged)["in_chain"] in {None, False}


def test_a_certificate_with_its_own_chain_and_an_entry_out_of_range_is_not_whole(
    server: Server,
) -> None:
    ann = server.token("ann")
    key = server.ask(ann, COUNT, epsilon="0.3").json()["release_key"]
    text = server.call("GET", f"/v1/releases/{key}/certificate", ann).text
    content = Statement.of(text).content
    chain, previous = content["chain"], bytes.fromhex(content["chain"]["previous"])
    chain["entry"] = 2**63 + 5  # more than a database counts, and less than a hash does
    made = follow(previous, chain["population"], chain["entry"], chain["text"]).hash.hex()
    chain["hash"] = content["release"]["receipt"] = made
    forged = Statement.sign(CERTIFICATE, content, SigningKey(bytes(32)))
    found = verified(server, forged)
    assert (found["whole"], found["in_chain"]) == (False, None)


def test_a_registry_record_is_yaml(server: Server) -> None:
    told = read(server, "registry")
    assert told.headers["content-type"].startswith("application/yaml")
    assert "patients" in told.text
    assert "status" in told.text


def test_anchors_say_their_age_and_whether_the_chain_agrees(
    server: Server, tmp_path: Path
) -> None:
    none = read(server, "anchors", "abe", Role.AUDITOR).json()
    assert (none["kept"], none["agrees"]) == (False, None)
    file = make_project(tmp_path / "anchored", more=ANCHORS)
    with serving(file) as anchored:
        anchored.ask(anchored.token("ann"), COUNT)
        anchored.curator.home.anchors.renew()
        found = read(anchored, "anchors", "abe", Role.AUDITOR).json()
        assert (found["kept"], found["agrees"], found["entries_since"]) == (True, True, 0)
        assert found["age_seconds"] < 600
        place = anchored.curator.home.place
        line = place.newest()
        head = Anchor.of(line).head("patients")
        moved = replace(head, hash=bytes(32))
        forged = replace(Anchor.of(line), heads=(moved,)).sign(SigningKey(bytes(32)), at=1)
        place.put(forged)
        wrong = read(anchored, "anchors").json()
        assert wrong["agrees"] is False
        assert "restore" in wrong["sentence"]
        place.put(Anchor.of(line))


def test_an_analyst_reads_none_of_it_and_an_owner_no_others(server: Server) -> None:
    ann, oscar = server.token("ann"), server.token("oscar", Role.OWNER)
    for path in ("spending", "report", "registry", "anchors"):
        assert server.call("GET", f"{HERE}/{path}", ann).status_code == 403
        assert server.call("GET", f"{HERE}/{path}", oscar).status_code == 404
    assert server.call("POST", "/v1/verify", ann, json={"text": "x"}).status_code == 403
