"""Requests that nobody meant: no 5xx, one error shape, and no value of a row."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from conftest import Bar
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from serving import COUNT, Server, make_project, serving

from tacit.server.token_policy import Role

EXAMPLES = int(os.environ.get("TACIT_API_EXAMPLES", "200"))
"""Requests in all."""

CANARY = "canary-3f7c1d-qxqx"
NUMBER = "40417.23"
ROWS = (
    "CREATE TABLE people AS SELECT range AS id, 'canary-3f7c1d-qxqx' || range AS person, "
    "CASE range % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END AS city FROM range(50);"
    "CREATE TABLE visits AS SELECT range % 50 AS patient, DATE '2026-02-01' AS day, "
    "40417.23::DECIMAL(9, 2) AS cost FROM range(200);"
    "CREATE TABLE shifts AS SELECT 'canary-3f7c1d-qxqx' AS nurse, 8::BIGINT AS hours "
    "FROM range(5)"
)
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.response_schema_conformance,
]
SHAPE = {"code", "message", "given", "allowed", "next"}
PIECES = st.sampled_from(
    (
        *(COUNT, "SELECT", "FROM people", "GROUP BY", "visits.cost", "AVG(cost) AS c", "UNION"),
        *("CAST(person AS INTEGER)", "WHERE day > '2026'", "1e999", "--", "'", ";", "\0", "("),
    )
)
SQL = st.one_of(st.just(COUNT), st.text(), st.lists(PIECES, max_size=8).map(" ".join))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    file = make_project(tmp_path_factory.mktemp("fuzzed"), rows=ROWS)
    with serving(file) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(server: Server) -> dict[str, str]:
    return {
        "analyst": server.token("ann"),
        "owner": server.token("olga", Role.OWNER),
        "auditor": server.token("abe", Role.AUDITOR),
        "operator": server.token("op", Role.OPERATOR),
    }


def check(status: int, text: str, sent: str) -> None:
    """No fault of ours, one shape, and nothing of the tables but what was sent to us."""
    assert status < 500, (status, text)
    assert CANARY not in text.replace(sent, "")
    assert NUMBER not in text.replace(sent, "")
    if status >= 400:
        assert set(json.loads(text)["error"]) == SHAPE


def can_be_wrong(operation: Any) -> bool:
    """Whether anything is sent to it that could be another."""
    return bool(operation.body or operation.query or operation.path_parameters)


def send(operation: Any, token: str, count: int) -> int:
    """Requests to one route; how many were sent."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    sent = 0

    cases = operation.as_strategy()
    if can_be_wrong(operation):
        cases |= operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @given(case=cases)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def one(case: Any) -> None:
        nonlocal sent
        sent += 1
        answer = case.call(headers=headers, timeout=30)
        check(answer.status_code, answer.text, "")
        case.validate_response(answer, checks=CHECKS)

    one()
    return sent


def test_whatever_is_sent_to_any_route_is_answered_or_refused_in_one_shape(
    server: Server, tokens: dict[str, str], bar: Bar
) -> None:
    told = server.call("GET", "/openapi.json").json()
    api = schemathesis.openapi.from_dict(told)
    api.config.base_url = server.address
    operations = [found.ok() for found in api.get_all_operations()]
    each = EXAMPLES // sum(map(can_be_wrong, operations))
    sent = 0
    for operation in operations:
        roles = operation.definition.raw["x-roles"]
        sent += send(operation, tokens.get(roles[0], ""), each)
    bar("generated requests, answered or refused in one shape", sent, "no 5xx, no leak", True)
    assert sent >= EXAMPLES // 2


@settings(
    max_examples=max(20, EXAMPLES // 2),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    sql=SQL,
    amount=st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(),
        st.text(max_size=20),
        st.sampled_from(["1e-6", "1/3", "1e999", "-0", "1e-300", "0.1", None, True, [], {}]),
    ),
    key=st.one_of(
        st.none(), st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)
    ),
    delta=st.sampled_from([0, "1e-10", "2", -1, "x"]),
    route=st.sampled_from(["/v1/ask", "/v1/quote"]),
)
def test_questions_that_nobody_meant_are_refused_or_understood(  # noqa: PLR0913, PLR0917
    server: Server,
    tokens: dict[str, str],
    sql: str,
    amount: Any,
    key: str | None,
    delta: Any,
    route: str,
) -> None:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"sql": sql, "epsilon": amount, "delta": delta}
    answer = server.call("POST", route, tokens["analyst"], json=body, headers=headers)
    check(answer.status_code, answer.text, sql)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"sql": ',
        b"\xff\xfe",
        b'{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": NaN}',
        b'{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": 1e400}',
        b'{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": ' + b"9" * 5000 + b"}",
        b'{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": ' + b"9" * 4000 + b"}",
        b"[" * 50_000,
        b'{"sql": "' + b"(" * 90_000 + b'"}',
        b'{"sql": "\\ud800"}',
        b"x" * 300_000,
    ],
    ids=range(13),
)
def test_bodies_that_break_parsers_are_refused(
    server: Server, tokens: dict[str, str], body: bytes
) -> None:
    for route in ("/v1/ask", "/v1/quote", "/v1/explain", "/v1/fit", "/v1/tokens"):
        token = tokens["owner" if route == "/v1/tokens" else "analyst"]
        answer = server.call(
            "POST", route, token, data=body, headers={"Content-Type": "application/json"}
        )
        assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
        check(answer.status_code, answer.text, "")


def test_a_body_that_does_not_say_how_long_it_is_is_refused(
    server: Server, tokens: dict[str, str]
) -> None:
    chunks = iter([b'{"sql": ', b'"SELECT 1"}'])
    answer = server.call("POST", "/v1/quote", tokens["analyst"], data=chunks)
    assert answer.status_code == 411


def test_a_server_that_tells_a_value_or_fails_is_found_out() -> None:
    told = json.dumps({"error": dict.fromkeys(SHAPE)})
    check(422, told, "")
    for status, text in (
        (500, told),
        (200, f"[{NUMBER}]"),
        (422, json.dumps({"error": dict.fromkeys(SHAPE, CANARY)})),
        (422, json.dumps({"detail": "no"})),
    ):
        with pytest.raises((AssertionError, KeyError)):
            check(status, text, "")
