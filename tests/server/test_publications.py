"""Publications over HTTP: what was declared, and the releases that are stored, for readers."""

from collections.abc import Iterator

import pytest
from serving import DAILY, Server, declare_daily, make_project, serving

from tacit.publish import Publications
from tacit.server.token_policy import Role, TokenScope
from tacit.session.session import Session

HERE = "/v1/publications/daily"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("publications"))) as running:
        declare_daily(running, released=2)
        yield running


def test_releases_that_are_stored_are_shown_with_intervals_and_for_nothing(
    server: Server,
) -> None:
    ledger = server.curator.home.ledger
    spent, ends = ledger.status("patients").spent, ledger.chain_ends()
    for token in (server.token("ann"), server.token("olga", Role.OWNER)):
        [listed] = server.call("GET", "/v1/publications", token).json()["publications"]
        assert (listed["name"], listed["sql"], listed["periods"]) == ("daily", DAILY, 3)
        assert listed["population"] == "patients"
        assert listed["withdrawn"] is False
        found = server.call("GET", HERE, token).json()
        assert [each["number"] for each in found["released"]] == [0, 1]  # the third is not due
        first = found["released"][0]
        assert (first["from"], first["until"]) == ("2026-01-26", "2026-02-01")
        assert len(first["columns"]["n"]) == 1
        [low], [high] = (first["columns"][f"n_{end}"] for end in ("low", "high"))
        assert low is None or high is None or low < high
        assert first["confidence"] == {"n": 0.95}
        later = server.call("GET", f"{HERE}?after=1&limit=1", token).json()["released"]
        assert later == found["released"][1:]
        assert server.call("GET", f"{HERE}?after=2", token).json()["released"] == []
    assert (ledger.status("patients").spent, ledger.chain_ends()) == (spent, ends)


def test_a_publication_is_for_those_who_may_ask_about_its_tables(server: Server) -> None:
    strangers = (
        server.token("ann", scope=TokenScope(("people",))),
        server.token("ann", scope=TokenScope(("shifts",))),
        server.token("oscar", Role.OWNER),
    )
    for token in strangers:
        assert server.call("GET", HERE, token).status_code == 404
        assert server.call("GET", "/v1/publications", token).json() == {"publications": []}
    assert server.call("GET", HERE, server.token("abe", Role.AUDITOR)).status_code == 403
    assert server.call("GET", "/v1/publications/x", server.token("ann")).status_code == 404


def test_a_withdrawn_publication_still_shows_what_was_released(server: Server) -> None:
    ann, session = server.token("ann"), Session(server.curator.asked_by("olga"))
    before = server.call("GET", HERE, ann).json()["released"]
    Publications(session.states).withdraw("daily", by="olga")
    after = server.call("GET", HERE, ann).json()
    assert (after["withdrawn"], after["released"]) == (True, before)
