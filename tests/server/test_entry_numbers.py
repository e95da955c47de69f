"""Numbers of entries over HTTP: owners and auditors see the newest one, and analysts do not."""

from collections.abc import Iterator

import pytest
from serving import Server, make_project, serving

from tacit.certify import verify_certificate
from tacit.server.token_policy import Role


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("clinic"))) as running:
        yield running


def test_a_status_says_after_which_entry_it_is(server: Server) -> None:
    assert server.ask(server.token("bob")).status_code == 200
    ends = server.curator.home.ledger.chain_ends()
    for role in (Role.OWNER, Role.AUDITOR):
        told = server.call("GET", "/v1/status", server.token("olga", role)).json()
        for budget in told["budgets"]:
            assert budget["entry"] == ends[budget["population"]]
            declared = server.curator.home.ledger.declarations()[budget["population"]][0]
            assert budget["declaration"] == declared > 0
    told = server.call("GET", "/v1/status", server.token("ann")).json()
    assert all("entry" not in budget for budget in told["budgets"])
    assert all(budget["declaration"] > 0 for budget in told["budgets"])


def test_a_certificate_shows_the_newest_entry_to_owners_only(server: Server) -> None:
    ann = server.token("ann")
    key = server.ask(ann, epsilon="0.3").json()["release_key"]
    newest = server.curator.home.ledger.chain_ends()["patients"]
    here = f"/v1/releases/{key}/certificate"
    told = {
        who: verify_certificate(server.call("GET", here, token).text).content["chain"]
        for who, token in (("ann", ann), ("olga", server.token("olga", Role.OWNER)))
    }
    assert told["olga"]["newest_entry"] == newest
    assert f"after entry {newest}, the newest one" in told["olga"]["in_words"]
    assert told["ann"]["newest_entry"] is None
    assert told["ann"]["newest_hash"] is None
    assert told["ann"]["hash"] == told["olga"]["hash"]
    assert "the newest one" not in told["ann"]["in_words"]
