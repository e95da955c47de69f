"""What a server says of itself: a line a request, counters, and nothing of what was asked."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Server, make_project, serving

from tacit.project.project import Serving
from tacit.server.middleware import AccessLog, Rate, RequestMetrics
from tacit.server.token_policy import Role

LITERAL = "Zanzibar-4711"
FILTERED = "SELECT COUNT(*) AS koala FROM people WHERE city = '" + LITERAL + "'"  # noqa: S608 - our own text


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(make_project(tmp_path / "clinic")) as running:
        yield running


def test_a_line_tells_the_route_and_nothing_of_the_question(server: Server) -> None:
    ann = server.token("ann")
    answer = server.ask(ann, FILTERED, key=f"key-{LITERAL}")
    assert answer.status_code == 200
    server.ask(ann, FILTERED + " nonsense")
    server.ask(ann, "SELECT COUNT(*) AS n FROM " + LITERAL.replace("-", "_"))  # noqa: S608 - ours
    server.call("GET", f"/v1/releases/{LITERAL}", ann)
    server.call("GET", f"/{LITERAL}?q={LITERAL}", ann)
    server.call(LITERAL.upper(), "/v1/ask", ann)
    lines = server.logged(6)
    assert [line["status"] for line in lines] == [200, 422, 404, 422, 404, 405]
    metrics = server.call("GET", "/metrics", server.token("op", Role.OPERATOR)).text
    for text in ("".join(server.log), metrics):
        for secret in (LITERAL, LITERAL.upper(), "koala", ann, "Zanzibar", "city"):
            assert secret not in text
    assert lines[0] | {"at": 0, "ms": 0} == {
        "at": 0,
        "method": "POST",
        "route": "/v1/ask",
        "status": 200,
        "principal": "ann",
        "ms": 0,
        "charge": answer.json()["receipt"],
    }
    assert 'tacit_requests_total{route="/v1/ask",status="200"} 1' in metrics


def test_what_goes_wrong_is_told_in_our_words_and_logged_by_its_kind_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"the engine read {LITERAL}")

    monkeypatch.setattr("tacit.session.session.Session.status", fail)
    answer = server.call("GET", "/v1/status", server.token("ann"))
    assert answer.status_code == 500
    assert set(answer.json()["error"]) == {"code", "message", "given", "allowed", "next"}
    assert answer.json()["error"]["code"] == "internal_error"
    assert server.logged()[-1]["failed"] == "ZeroDivisionError"
    said = capfd.readouterr()
    assert LITERAL not in answer.text + "".join(server.log) + said.out + said.err


def test_who_calls_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    settings = Serving(requests_per_minute=5)
    with serving(make_project(tmp_path / "clinic"), serving=settings) as server:
        ann, bob = server.token("ann"), server.token("bob")
        statuses = [server.call("GET", "/v1/status", ann).status_code for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        refused = server.ask(server.token("ann"), "no question at all")
        assert refused.status_code == 429  # another token is the same caller; before planning
        assert refused.headers["Retry-After"] == "12"
        assert server.call("GET", "/v1/status", bob).status_code == 200


def test_a_bucket_fills_at_its_pace_and_no_further() -> None:
    now = [0.0]
    rate = Rate(60, clock=lambda: now[0])
    assert [rate.take("ann") for _ in range(61)] == [True] * 60 + [False]
    now[0] = 10
    assert [rate.take("ann") for _ in range(11)] == [True] * 10 + [False]
    now[0] = 10_000
    assert [rate.take("ann") for _ in range(61)] == [True] * 60 + [False]


def test_every_line_is_json(server: Server) -> None:
    server.call("GET", "/health")
    server.logged(1)
    assert all(json.loads(line) and line.endswith("\n") for line in server.log)


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(28, "full"), ValueError("closed")]
)
def test_a_log_that_cannot_be_written_stops_no_request(error: Exception) -> None:
    async def app(_: object, __: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def nothing() -> Any:
        return {}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message["status"])

    def write(_: str) -> None:
        raise error

    watched = AccessLog(app, RequestMetrics(), write)
    asyncio.run(watched({"type": "http", "method": "GET"}, nothing, send))
    assert sent == [200]
    with pytest.raises(type(error)):  # the lie: as it is written without it
        write("a line")
