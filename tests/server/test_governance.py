"""Owners decide over HTTP with their own sign-in, and analysts ask for more."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import BUDGET, COUNT, Server, make_project, serving

from tacit.client import connect
from tacit.core import Loss
from tacit.errors import InvalidValue
from tacit.ledger import Ledger, budget, group_quotas, request_id
from tacit.ledger.entries import encode_act
from tacit.server.token_policy import Role, TokenScope
from tacit.session.project import apply_project, open_project

HERE = "/v1/ledger/patients"
TWO = {'owners = ["olga"]': 'owners = ["olga", "omar"]'}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path, changed=TWO)


@pytest.fixture
def server(file: Path) -> Iterator[Server]:
    with serving(file) as running:
        yield running


def post(server: Server, token: str, path: str, **body: Any) -> tuple[int, Any]:
    answer = server.call("POST", HERE + path, token, json=body)
    return answer.status_code, answer.json()


def owner(server: Server, who: str = "olga") -> str:
    return server.token(who, Role.OWNER)


def asked(server: Server, who: str, number: int) -> int:
    """The status of one of many questions, each of epsilon 0.1."""
    return server.ask(server.token(who), f"{COUNT} WHERE id > {number}").status_code


# ------------------------------------------------------------------ proposals


def test_a_second_owner_approves_a_raise_with_their_own_sign_in(file: Path) -> None:
    file.write_text(file.read_text().replace(BUDGET, BUDGET.replace("3", "4")))
    apply_project(file, by="olga", reason="a second study")
    file.write_text(file.read_text().replace(BUDGET.replace("3", "4"), BUDGET))
    with serving(file) as server:
        ledger = server.curator.home.ledger
        before = ledger.status("patients").cap
        olga, omar = owner(server), owner(server, "omar")
        told = server.call("GET", f"{HERE}/proposals", omar).json()
        (waits,) = told["proposals"]
        assert (waits["decision"], waits["by"]) == ("cap raised", "olga")
        approve = f"/proposals/{waits['number']}/approve"
        assert post(server, olga, approve)[0] == 403  # not by whoever proposed it
        oscar = owner(server, "oscar")
        assert post(server, oscar, approve)[0] == 404
        # and olga cannot issue herself a token of the other owner
        new = {"principal": "omar", "role": "owner", "datasets": ["people"]}
        assert server.call("POST", "/v1/tokens", olga, json=new).status_code == 403
        assert ledger.status("patients").cap == before
        assert post(server, omar, approve)[0] == 200
        assert ledger.status("patients").cap.amount > before.amount
        assert post(server, omar, approve)[0] == 404
        assert server.call("GET", f"{HERE}/proposals", omar).json()["proposals"] == []
        ledger.verify("patients")


def test_a_server_answers_while_a_proposal_waits_and_after_it_was_withdrawn(
    file: Path,
) -> None:
    file.write_text(file.read_text().replace(BUDGET, BUDGET.replace("3", "4")))
    apply_project(file, by="olga", reason="a second study")
    with serving(file) as server:
        assert asked(server, "ann", 1) == 200
        olga, omar = owner(server), owner(server, "omar")
        (waits,) = server.call("GET", f"{HERE}/proposals", omar).json()["proposals"]
        assert waits["lapses"] == waits["at"] + 30 * 86_400_000
        withdraw = f"/proposals/{waits['number']}/withdraw"
        assert post(server, owner(server, "oscar"), withdraw)[0] == 404
        assert post(server, server.token("ann"), withdraw)[0] == 403
        assert post(server, omar, withdraw)[0] == 200
        assert post(server, omar, withdraw)[0] == 404
        assert post(server, omar, f"/proposals/{waits['number']}/approve")[0] == 404
        assert server.call("GET", f"{HERE}/proposals", olga).json()["proposals"] == []
        assert asked(server, "ann", 2) == 200
    with serving(file) as server:
        assert asked(server, "ann", 3) == 200
        server.curator.home.ledger.verify("patients")


# ------------------------------------------------------------------ quotas and teams


def test_a_team_has_one_quota_for_all_of_its_members(server: Server) -> None:
    olga = owner(server)
    assert post(server, olga, "/quotas", holder="@lab", epsilon="0.11")[0] == 200
    assert asked(server, "ann", 1) == 200  # nobody is a member yet
    for who in ("ann", "bob"):
        assert post(server, olga, "/teams/join", team="@lab", principal=who)[0] == 200
    assert asked(server, "ann", 2) == 200
    assert asked(server, "bob", 3) == 402
    assert asked(server, "cy", 3) == 200
    told = server.call("GET", f"{HERE}/teams", olga).json()
    assert told["teams"] == {"@lab": ["ann", "bob"]}
    assert post(server, olga, "/teams/leave", team="@lab", principal="bob")[0] == 200
    assert asked(server, "bob", 4) == 200
    assert asked(server, "ann", 4) == 200  # the same question again is free
    assert asked(server, "ann", 5) == 402
    held = server.call("GET", f"{HERE}/quotas", olga).json()["quotas"]
    quotas = {each["holder"]: each["quota"] is not None for each in held}
    assert quotas == {"@lab": True, "ann": False, "bob": True, "cy": False}
    server.curator.home.ledger.verify("patients")


def test_a_team_that_nobody_counts_for_limits_nobody(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = owner(server)
    post(server, olga, "/quotas", holder="@lab", epsilon="0.05")
    post(server, olga, "/teams/join", team="@lab", principal="ann")
    assert asked(server, "ann", 1) == 402
    for module in (budget, group_quotas):
        monkeypatch.setattr(module, "sort_holders", lambda principal, _: (principal,))
    assert asked(server, "ann", 1) == 200


def test_a_quota_that_an_owner_sets_is_held_and_survives_a_restart(file: Path) -> None:
    with serving(file) as server:
        olga = owner(server)
        status, told = post(server, olga, "/quotas", holder="bob", epsilon="0.11")
        assert (status, told["holder"]) == (200, "bob")
        assert [asked(server, "bob", each) for each in (1, 2)] == [200, 402]
        assert post(server, olga, "/quotas", holder=None, epsilon="0.11")[0] == 200
        assert [asked(server, "cy", each) for each in (3, 4)] == [200, 402]
        for wrong in ({"epsilon": 0}, {}, {"epsilon": 1, "rho": 1}, {"epsilon": "x"}):
            assert post(server, olga, "/quotas", holder="bob", **wrong)[0] == 422
        assert post(server, olga, "/quotas", epsilon=1)[0] == 422  # for whom?
        status, told = post(server, olga, "/quotas", holder="bob")
        assert (status, "as an epsilon or a rho" in told["error"]["message"]) == (422, True)
    # the file has another quota for bob, and the ledger decides
    with serving(file) as server:
        assert asked(server, "bob", 5) == 402


# ------------------------------------------------------------------ requests


def test_an_analyst_asks_for_more_and_an_owner_decides(server: Server) -> None:
    olga, bob = owner(server), server.token("bob", scope=TokenScope(("visits",)))
    post(server, olga, "/quotas", holder="bob", epsilon="0.05")
    assert asked(server, "bob", 1) == 402
    status, told = post(server, bob, "/requests", epsilon="0.11", reason="a second wave")
    assert status == 201
    named = told["id"]
    assert asked(server, "bob", 1) == 402
    assert post(server, bob, "/requests", epsilon="0.3")[0] == 422  # one is open
    assert post(server, bob, f"/requests/{named}/grant")[0] == 403
    (seen,) = server.call("GET", f"{HERE}/requests", olga).json()["requests"]
    assert (seen["principal"], seen["reason"]) == ("bob", "a second wave")
    number = seen.pop("number")
    assert server.call("GET", f"{HERE}/requests", bob).json()["requests"] == [seen]
    ann = server.token("ann")
    assert server.call("GET", f"{HERE}/requests", ann).json()["requests"] == []
    assert post(server, olga, f"/requests/{number}/grant")[0] == 200
    assert [asked(server, "bob", each) for each in (1, 2)] == [200, 402]
    number = post(server, bob, "/requests", epsilon="1")[1]["id"]
    assert post(server, olga, f"/requests/{number}/decline")[0] == 200
    assert asked(server, "bob", 2) == 402
    number = post(server, bob, "/requests", epsilon="1")[1]["id"]
    assert post(server, olga, f"/requests/{number}/grant", delta="1e-9")[0] == 422
    assert post(server, olga, f"/requests/{number}/grant", epsilon="0.15")[0] == 200
    assert [asked(server, "bob", each) for each in (2, 3)] == [200, 402]
    server.curator.home.ledger.verify("patients")


def test_a_client_and_a_session_ask_for_more_in_the_same_way(
    file: Path, server: Server
) -> None:
    ledger = server.curator.home.ledger
    wanted = {"epsilon": "1.5", "reason": "a second wave"}
    with connect(server.address, token=server.token("bob")) as remote:
        named = remote.request_quota("patients", **wanted)
        with pytest.raises(InvalidValue, match="is still open"):
            remote.request_quota("patients", **wanted)
    (asked,) = ledger.quota_requests("patients").values()
    assert request_id("patients", encode_act(asked)) == named
    ledger.decline_quota("patients", named, by="olga")
    with open_project(file, principal="bob", environment={}) as local:
        again = local.request_quota("patients", **wanted)
    (second,) = ledger.quota_requests("patients").values()
    assert replace(second, at=0) == replace(asked, at=0)
    assert request_id("patients", encode_act(second)) == again


def test_requests_do_not_show_how_many_entries_others_made(tmp_path: Path) -> None:
    """Each reply to bob has the same bytes, whatever others did before and meanwhile."""
    views, numbers = [], []
    for others in (0, 7):
        file = make_project(tmp_path / str(others))
        with serving(file) as server:
            ledger = server.curator.home.ledger
            ledger._clock = lambda: 1_800_000_000_000  # a reply has the time of the request
            olga, bob = owner(server), server.token("bob")
            ledger.set_quota("patients", "bob", Loss.zcdp("0.00001"), by="olga")
            meanwhile(ledger, others)
            seen = [server.call("POST", f"{HERE}/requests", bob, json=WISH)]
            meanwhile(ledger, others)
            seen.append(server.call("POST", f"{HERE}/requests", bob, json=WISH))
            seen.append(server.call("GET", f"{HERE}/requests", bob))
            (shown,) = server.call("GET", f"{HERE}/requests", olga).json()["requests"]
            numbers.append(shown["number"])
            views.append([(each.status_code, unnamed(each.text)) for each in seen])
            assert post(server, olga, f"/requests/{shown['number']}/decline")[0] == 200
    assert [status for status, _ in views[0]] == [201, 422, 200]
    assert views[0] == views[1]
    assert numbers[0] != numbers[1]  # the lie: with its entry's number, bob would see them


WISH = {"epsilon": "1.5", "reason": "a second wave"}


def meanwhile(ledger: Ledger, others: int) -> None:
    """Let others make entries about the same population."""
    for number in range(others):
        ledger.set_quota("patients", f"cy{number}", Loss.zcdp("0.001"), by="olga")


def unnamed(text: str) -> str:
    """Leave out the random name of a request over HTTP, which each response has."""
    return re.sub(r'"request_id":\s*"[^"]*"', "", text)


def test_requests_are_about_populations_in_reach(server: Server) -> None:
    bob = server.token("bob", scope=TokenScope(("shifts",)))
    assert post(server, bob, "/requests", epsilon="2")[0] == 404
    reach = server.token("bob")
    assert post(server, reach, "/requests", epsilon="2", team="@lab")[0] == 422
    assert post(server, reach, "/requests", epsilon="2", reason="x" * 201)[0] == 422
    nobody = server.token("cy")
    status, told = post(server, nobody, "/requests", epsilon="2")
    assert status == 422
    assert "No quota limits cy" in told["error"]["message"]


def test_owners_see_how_much_waits_and_what_a_raise_leads_to(file: Path) -> None:
    file.write_text(file.read_text().replace(BUDGET, BUDGET.replace("3", "4")))
    apply_project(file, by="olga", reason="a second study")
    file.write_text(file.read_text().replace(BUDGET.replace("3", "4"), BUDGET))
    with serving(file) as server:
        owners = {who: owner(server, who) for who in ("omar", "oscar")}
        body = {"epsilon": "2", "reason": "more"}
        assert post(server, server.token("bob"), "/requests", **body)[0] == 201
        found = server.call("GET", "/v1/waiting", owners["omar"]).json()["waiting"]
        waits = {"locked": False, "requests": 1, "proposals": 1}
        assert found == [{"population": "patients", **waits}]
        nothing = {"locked": False, "requests": 0, "proposals": 0}
        found = server.call("GET", "/v1/waiting", owners["oscar"]).json()["waiting"]
        assert found == [{"population": "staff", **nothing}]
        assert server.call("GET", "/v1/waiting", server.token("ann")).status_code == 403
        (raised,) = server.call("GET", f"{HERE}/proposals", owners["omar"]).json()["proposals"]
        epsilons = {name: each["amount"] for name, each in raised["total"].items()}
        assert epsilons == {"now": "3", "then": "4"}
        page = server.call("GET", f"{HERE}?after=1&limit=2", owners["omar"]).json()["entries"]
        assert [each["seq"] for each in page] == [2, 3]
