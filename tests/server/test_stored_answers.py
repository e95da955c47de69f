"""`POST /v1/open`: a stored answer as it was asked, and never a charge."""

from collections.abc import Iterator

import pytest
from serving import COUNT, Server, make_project, serving

from tacit.server.token_policy import Role

ORDERED = "SELECT city, COUNT(*) AS n FROM people GROUP BY city ORDER BY n DESC LIMIT 1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("open"))) as running:
        yield running


def charged(server: Server) -> int:
    """The number of requests that the ledger has charged."""
    return len(server.curator.home.ledger.book("patients").requests)


def opened(server: Server, who: str, role: Role = Role.ANALYST, **body: str) -> tuple[int, str]:
    """The status and the text of one request."""
    sent = {"sql": COUNT, "epsilon": "0.1"} | body
    found = server.call("POST", "/v1/open", server.token(who, role), json=sent)
    return found.status_code, found.text


def test_what_was_not_asked_is_not_there_and_not_charged(server: Server) -> None:
    before = charged(server)
    status, text = opened(server, "ann", epsilon="0.7")
    assert status == 404
    assert "Nothing was read or charged" in text
    assert opened(server, "ann", sql="SELECT 1")[0] == 200
    assert opened(server, "ann", sql="SELECT * FROM people")[0] == 422
    assert opened(server, "ann", sql="SELECT COUNT(*) FROM shifts", role=Role.OWNER)[0] == 404
    assert opened(server, "abe", role=Role.AUDITOR)[0] == 403
    assert charged(server) == before
    # the lie: the same request is charged where one asks
    assert server.ask(server.token("ann"), epsilon="0.7").status_code == 200
    assert charged(server) == before + 1


def test_an_answer_opens_as_it_was_asked_for_all_who_may_ask(server: Server) -> None:
    asked = server.ask(server.token("ann"), ORDERED).json()
    before = charged(server)
    for who, role in (("ann", Role.ANALYST), ("bob", Role.ANALYST), ("olga", Role.OWNER)):
        found = server.call(
            "POST",
            "/v1/open",
            server.token(who, role),
            json={"sql": ORDERED, "epsilon": "0.1"},
        )
        assert found.status_code == 200, found.text
        assert found.json()["columns"] == asked["columns"]
        assert found.json()["receipt"] == asked["receipt"]
    assert len(asked["columns"]["n"]) == 1  # as it was asked: sorted, and one row of it
    # an answer that is at least as exact serves as well
    assert opened(server, "bob", epsilon="0.05")[0] == 200
    assert charged(server) == before
