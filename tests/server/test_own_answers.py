"""Answers that a caller was given, and questions that they saved: theirs and nobody else's."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import COUNT, Server, make_project, serving

from tacit.server.token_policy import Role, TokenScope
from tacit.store import SavedQuestion, SavedQuestions
from tacit.store.own_questions import MOST_SAVED

VISITS = "SELECT SUM(cost) AS c FROM visits"
SHIFTS = "SELECT COUNT(*) AS n FROM shifts"
PATIENTS = TokenScope(("people", "visits"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("answers"))) as running:
        yield running


def listed(server: Server, token: str, **query: Any) -> list[Any]:
    told = server.call("GET", "/v1/answers", token, params=query)
    assert told.status_code == 200, told.text
    return list(told.json()["answers"])


def test_answers_are_listed_searched_and_opened_for_nothing(server: Server) -> None:
    ann, ledger = server.token("ann"), server.curator.home.ledger
    first, second = server.ask(ann, COUNT).json(), server.ask(ann, VISITS).json()
    server.ask(ann, COUNT)  # the same again is not listed twice
    spent = ledger.status("patients").spent
    found = listed(server, ann)
    assert [each["receipt"] for each in found] == [second["receipt"], first["receipt"]]
    assert found[0]["datasets"] == ["visits"]
    assert "SUM" in found[0]["sql"]
    assert found[0]["cost"].startswith("epsilon 0.1")
    assert found[0]["day"] == first["dates"]["charged"]
    assert "principal" not in found[0]
    assert [each["receipt"] for each in listed(server, ann, text="sum(")] == [second["receipt"]]
    assert listed(server, ann, dataset="people")[0]["receipt"] == first["receipt"]
    assert listed(server, ann, text="%") == []
    here = f"/v1/answers/{first['receipt']}"
    released = server.call("GET", f"/v1/releases/{first['release_key']}", ann)
    opened = server.call("GET", here, ann)
    assert (opened.status_code, opened.content) == (200, released.content)
    assert ledger.status("patients").spent == spent
    again = server.call("POST", "/v1/ask", ann, json={"sql": found[0]["sql"], "epsilon": "0.1"})
    assert again.json()["receipt"] == second["receipt"]  # the text asks the same question


def test_a_list_goes_on_where_a_page_ended(server: Server) -> None:
    cat = server.token("cat")
    for step in range(5):
        assert server.ask(cat, VISITS, epsilon=f"0.0{step + 1}").status_code == 200
    whole = [each["receipt"] for each in listed(server, cat)]
    paged: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    for _ in range(5):
        told = server.call("GET", "/v1/answers", cat, params=query).json()
        paged += [each["receipt"] for each in told["answers"]]
        if not told["next"]:
            break
        query |= {"population": "patients", "after": told["next"]["patients"]}
    assert paged == whole
    assert len(whole) >= 1


def test_nobody_else_sees_or_opens_an_answer_but_its_owners(server: Server) -> None:
    dan = server.token("dan", scope=PATIENTS)
    mine = server.ask(dan, "SELECT COUNT(*) AS n FROM people WHERE city = 'Ulm'").json()
    here = f"/v1/answers/{mine['receipt']}"
    olga, oscar = (server.token(who, Role.OWNER) for who in ("olga", "oscar"))
    names = {each["principal"] for each in listed(server, olga)}
    assert "dan" in names
    assert server.call("GET", here, olga).status_code == 200
    others = {
        "another analyst": server.token("eve", scope=PATIENTS),
        "the same name for another population": server.token(
            "dan", scope=TokenScope(("shifts",))
        ),
        "the same name for another table": server.token("dan", scope=TokenScope(("visits",))),
        "another owner": oscar,
    }
    for who, token in others.items():
        assert server.call("GET", here, token).status_code == 404, who
        receipts = [each["receipt"] for each in listed(server, token)]
        assert mine["receipt"] not in receipts, who
    assert (
        server.call("GET", "/v1/answers", server.token("abe", Role.AUDITOR)).status_code == 403
    )


def test_a_question_is_saved_replaced_and_removed(server: Server) -> None:
    ann = server.token("ann")
    here = "/v1/questions/by city"
    body = {"sql": COUNT, "within": "25"}
    assert server.call("GET", here, ann).status_code == 404
    saved = server.call("PUT", here, ann, json=body)
    assert saved.json() == {"name": "by city", "sql": COUNT, "within": "25"}
    assert server.call("GET", here, ann).json() == saved.json()
    server.call("PUT", here, ann, json={"sql": VISITS, "within": "2%"})
    told = server.call("GET", "/v1/questions", ann).json()
    assert told == {"questions": [{"name": "by city", "sql": VISITS, "within": "2%"}]}
    assert server.call("DELETE", here, ann).status_code == 204
    assert server.call("DELETE", here, ann).status_code == 404
    for wrong in ({"sql": ""}, {"sql": "x" * 20_001}, {"sql": "a\x00b"}, {}, {"sql": 1}):
        assert server.call("PUT", here, ann, json=wrong).status_code == 422, wrong
    for name in ("%20x", "x" * 101, "a%0Ab", "%E2%80%AEx"):
        told = server.call("PUT", f"/v1/questions/{name}", ann, json=body)
        assert told.status_code in {404, 422}, name
    for within in (0, -1, "much", "1e999999"):
        told = server.call("PUT", here, ann, json={"sql": COUNT, "within": within})
        assert told.status_code == 422, within


def test_saved_questions_of_one_name_under_other_tokens_are_apart(server: Server) -> None:
    ours, theirs = (
        server.token("kim", scope=each) for each in (PATIENTS, TokenScope(("shifts",)))
    )
    server.call("PUT", "/v1/questions/q", ours, json={"sql": COUNT})
    assert server.call("GET", "/v1/questions/q", theirs).status_code == 404
    assert server.call("GET", "/v1/questions", theirs).json() == {"questions": []}
    server.call("PUT", "/v1/questions/q", theirs, json={"sql": SHIFTS})
    assert server.call("DELETE", "/v1/questions/q", theirs).status_code == 204
    assert server.call("GET", "/v1/questions/q", ours).json()["sql"] == COUNT
    again = server.token("kim", scope=PATIENTS)  # a new token of the same reach
    assert server.call("GET", "/v1/questions/q", again).json()["sql"] == COUNT


def test_saved_questions_are_bounded_in_number(server: Server) -> None:
    token = server.token("max")
    account = server.app.state.gate.caller(f"Bearer {token}").account
    full = SavedQuestions(server.curator.home.store, server.curator.home.states, account)
    for number in range(MOST_SAVED):
        full.save(SavedQuestion(f"q{number}", COUNT))
    refused = server.call("PUT", "/v1/questions/more", token, json={"sql": COUNT})
    assert refused.status_code == 422
    assert "the most" in refused.json()["error"]["message"]
    replaced = server.call("PUT", "/v1/questions/q7", token, json={"sql": VISITS})
    assert replaced.status_code == 200
