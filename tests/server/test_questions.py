"""Questions over HTTP: the words of a session, and the same answers."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow.ipc
import pytest
from serving import COUNT, Server, make_project, serving

from tacit.core.codec import (
    decode_budget_summary,
    decode_catalog,
    decode_loss,
    decode_release,
    encode_release,
)
from tacit.server.token_policy import Role, TokenScope
from tacit.session.session import Session
from tacit.sql.parser import parse

EXACT = "application/vnd.tacit.release+json"
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("server"))) as running:
        yield running


def test_a_question_is_quoted_explained_asked_and_free_the_second_time(
    server: Server,
) -> None:
    ann = server.token("ann")
    body = {"sql": COUNT, "epsilon": "0.09"}
    quoted = server.call("POST", "/v1/quote", ann, json=body).json()
    assert quoted["standing"]["more"] > 10
    explained = server.call("POST", "/v1/explain", ann, json={"sql": COUNT}).json()
    assert explained["explained"]
    first, again = [server.ask(ann, key="k1", epsilon="0.09") for _ in range(2)]
    assert first.status_code == again.status_code == 200
    assert first.json()["standing"]["cost"] == quoted["standing"]["cost"]
    assert again.json()["standing"]["cost"]["amount"] == "0"
    assert first.json()["columns"] == again.json()["columns"]
    assert abs(first.json()["columns"]["n"][0] - 250) < 200


def test_an_answer_has_the_same_numbers_as_json_exactly_and_as_arrow(server: Server) -> None:
    ann = server.token("ann")
    plain = server.ask(ann).json()
    exact = server.ask(ann, headers={"Accept": EXACT}).json()
    arrow = server.ask(ann, headers={"Accept": ARROW})
    session = Session(server.curator.asked_by("ann"))
    here = session.sql(COUNT).ask(epsilon="0.1")
    assert plain["columns"] == here.to_dict()["columns"]
    assert exact["release"] == json.loads(encode_release(here))
    assert decode_budget_summary(exact["standing"]) == here.standing
    table = pyarrow.ipc.open_stream(arrow.content).read_all()
    assert table.to_pydict() == plain["columns"]
    assert arrow.headers["content-type"] == ARROW
    assert decode_release(encode_release(here)).columns == here.columns


def test_the_catalogue_that_is_told_prices_as_the_real_one(server: Server) -> None:
    told = server.call("GET", "/v1/datasets", server.token("ann")).json()
    assert told["asked_by"] == "ann"
    catalog, real = decode_catalog(told), server.curator.catalog
    for sql in (COUNT, "SELECT AVG(cost) AS c, MIN(day) AS d FROM visits"):
        assert parse(sql, catalog) == parse(sql, real)
    assert [t.schema for t in catalog.tables] == [t.schema for t in real.tables]
    assert catalog.populations == real.populations
    assert "clinic" not in str(told)


def test_a_status_tells_what_the_ledger_tells(server: Server) -> None:
    bob = server.token("bob")
    server.ask(server.token("ann"), epsilon="0.11")
    server.ask(bob, epsilon="0.11")
    budgets = server.call("GET", "/v1/status", bob).json()["budgets"]
    patients = next(each for each in budgets if each["population"] == "patients")
    status = server.curator.home.ledger.status("patients")
    assert decode_loss(patients["spent"]) == status.spent
    assert decode_loss(patients["cap"]) == status.cap
    own = patients["own"]
    assert Fraction(own["spent"]["amount"]) < Fraction(patients["spent"]["amount"])
    assert Fraction(own["cap"]["amount"]) < Fraction(patients["cap"]["amount"])


def test_a_key_stands_for_one_question(server: Server) -> None:
    ann = server.token("ann")
    server.ask(ann, key="once", epsilon="0.12")
    reused = server.ask(ann, key="once", epsilon="0.13")
    assert reused.status_code == 409
    assert reused.json()["error"]["code"] == "key_reused"


def test_an_owner_of_other_people_does_not_learn_which_keys_a_name_has_used(
    server: Server,
) -> None:
    """Any owner may issue a token in any name, for what they own."""
    ann = server.token("ann")
    paid = server.ask(ann, f"{COUNT} ORDER BY city", key="monday", epsilon="0.07")
    assert paid.status_code == 200
    by_oscar = server.token("ann", scope=TokenScope(("shifts",)))
    asked = "SELECT COUNT(*) AS n FROM shifts WHERE hours > {}"
    # a name of a release that ann has paid for is as good a guess as any
    guesses = ("monday", paid.json()["release_key"], "never used")
    told = [
        server.ask(by_oscar, asked.format(at), key=guess, epsilon="0.01").status_code
        for at, guess in enumerate(guesses)
    ]
    assert told == [200, 200, 200]
    # nor can oscar use up a key that ann is about to use
    assert server.ask(ann, COUNT, key="never used", epsilon="0.06").status_code == 200


def test_a_key_of_another_question_is_refused_though_the_answer_is_stored(
    server: Server,
) -> None:
    ann = server.token("ann")
    stored = server.ask(ann, epsilon="0.14")
    server.ask(ann, key="first", epsilon="0.15")
    reused = server.ask(ann, key="first", epsilon="0.14")
    assert (reused.status_code, reused.json()["error"]["code"]) == (409, "key_reused")
    # a key that was never charged, and the derived one, find the stored answer
    for key in ("new", None):
        again = server.ask(ann, key=key, epsilon="0.14")
        assert again.status_code == 200
        assert again.json()["receipt"] == stored.json()["receipt"]


def test_an_owner_of_others_cannot_probe_what_somebody_asked(server: Server) -> None:
    asked = server.ask(server.token("ann"), epsilon="0.16").json()["release_key"]
    oscar = server.token("oscar", Role.OWNER)
    given = {"role": "analyst", "datasets": ["shifts"]}
    for name in ("ann", "nobody"):  # the same, whether this name asked that question
        body = given | {"principal": name}
        token = server.call("POST", "/v1/tokens", oscar, json=body).json()["token"]
        about_shifts = {"sql": "SELECT COUNT(*) AS n FROM shifts", "epsilon": "0.01"}
        assert server.ask(token, key=asked, **about_shifts).status_code == 200
    for name, key in (("ann", None), ("cat", asked)):  # the name of an answer is a key too
        again = server.ask(server.token(name), key=key, epsilon="0.16")
        assert again.json()["release_key"] == asked


def test_what_nobody_can_give_is_refused_before_anything_is_charged(server: Server) -> None:
    ann, ledger = server.token("ann"), server.curator.home.ledger
    before = ledger.status("patients").spent
    refused = server.ask(ann, epsilon="0.21", headers={"Accept": "image/png"})
    assert refused.status_code == 406
    for wrong in (
        {"epsilon": "much"},
        {"epsilon": True},
        {"epsilon": None},
        {"rho": "0.1"},
        {"epsilon": -1},
        {"sql": "DROP TABLE people"},
        {"seed": 7},
    ):
        refused = server.ask(ann, **wrong)
        assert refused.status_code == 422, wrong
        assert set(refused.json()["error"]) == {"code", "message", "given", "allowed", "next"}
    assert server.ask(ann, "SELECT COUNT(*) AS n FROM nothing").status_code == 404
    assert server.ask(ann, epsilon=30).status_code == 402
    assert ledger.status("patients").spent == before


A_NUMBER = " or ".join(f"must be a valid {kind}" for kind in ("string", "integer", "number"))


@pytest.mark.parametrize(
    ("sent", "allowed"),
    [
        ({"epsilon": "1"}, "body.sql is required"),
        ({"sql": "SELECT 1", "seed": 7}, "body.seed is not a field of this request"),
        ({"sql": 7}, "body.sql must be a valid string"),
        ({"sql": "x" * 100_001}, "body.sql must have at most 100000 characters"),
        ([], "body must be a JSON object"),
        ({"sql": "SELECT 1", "epsilon": True}, f"body.epsilon {A_NUMBER}"),
    ],
)
def test_a_request_of_another_form_is_told_what_is_allowed(
    sent: object, allowed: str, server: Server
) -> None:
    refused = server.call("POST", "/v1/quote", server.token("ann"), json=sent)
    assert refused.status_code == 422
    assert refused.json()["error"]["allowed"] == allowed


def test_a_project_that_is_not_applied_is_not_served(tmp_path: Path) -> None:
    file = make_project(tmp_path / "clinic")
    file.write_text(file.read_text().replace("max_rows = 5", "max_rows = 50"))
    with pytest.raises(ValueError, match="tacit apply"), serving(file):
        pass
