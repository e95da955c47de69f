"""Each kind of work has threads of its own: nobody waits behind another's slow requests."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import requests
from conftest import Bar
from fastapi import FastAPI
from serving import Server, make_project, serving

from tacit.errors import StoreFailed
from tacit.ledger.ledger import Ledger
from tacit.project.project import Serving
from tacit.server.guarded_route import GuardedRoute, open_to
from tacit.server.lanes import Lane, Lanes
from tacit.server.refusal import Refused
from tacit.server.token_policy import Role, TokenScope
from tacit.session.session import Session

MANY = 60
SOON = 5.0
"""Seconds for a request that waits for nobody, on a machine that is busy with other things."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(make_project(tmp_path / "clinic")) as running:
        yield running


async def _served_beside(mine: Lane, other: Lane) -> bool:
    """Whether work in one lane is done while work without end fills another."""
    end = Event()
    slow = [asyncio.create_task(other.run(lambda: end.wait(30))) for _ in range(MANY)]
    await asyncio.sleep(0.1)
    try:
        async with asyncio.timeout(SOON):
            found = await mine.run(lambda: True)
    except TimeoutError:
        found = False
    end.set()
    await asyncio.gather(*slow)
    return found


def test_no_lane_waits_for_another(bar: Bar) -> None:
    lanes = Lanes()
    found = asyncio.run(_served_beside(lanes.owners, lanes.free))
    bar("an owner's lane beside 60 slow requests of analysts", found, True, found is True)
    one = Lane("all", threads=4, most_waiting=100)  # the lie: one pool for all work
    shared = asyncio.run(_served_beside(one, one))
    bar("lie, one pool of threads for all", shared, False, shared is False)
    lanes.close()
    one.close()


def test_a_lane_refuses_what_would_wait_too_long() -> None:
    async def filled(lane: Lane) -> list[int]:
        end = Event()
        slow = [asyncio.create_task(lane.run(lambda: end.wait(30))) for _ in range(3)]
        await asyncio.sleep(0.05)
        refused = []
        for seconds in (None, 0.05):
            with pytest.raises(Refused) as told:
                await lane.run(lambda: True, seconds)
            refused.append(told.value.refusal.status)
            if seconds is None:
                slow.pop().cancel()  # it had not begun, and leaves
                await asyncio.sleep(0.05)
        end.set()
        await asyncio.gather(*slow)
        await asyncio.sleep(0.05)
        assert lane.inside == 0
        return refused

    lane = Lane("small", threads=1, most_waiting=2)
    assert asyncio.run(filled(lane)) == [503, 503]
    lane.close()


def test_an_error_of_the_work_is_the_error_of_the_lane() -> None:
    def late() -> None:
        raise TimeoutError("its own")

    lane = Lane("small", threads=1, most_waiting=2)
    with pytest.raises(TimeoutError, match="its own"):
        asyncio.run(lane.run(late, 10))
    lane.close()


def _slowest(server: Server, count: int = 20) -> float:
    """The longest time of a health check, of several in a row."""
    taken = []
    for _ in range(count):
        began = time.monotonic()
        assert server.call("GET", "/health").status_code == 200
        assert server.call("GET", "/ready").status_code == 200
        taken.append(time.monotonic() - began)
    return max(taken)


@pytest.mark.parametrize(
    ("path", "role", "hanging"),
    [
        ("/v1/ledger/patients/verify", Role.AUDITOR, "verify"),
        ("/v1/status", Role.ANALYST, "status"),
    ],
)
def test_health_is_answered_while_every_other_request_hangs(
    server: Server, monkeypatch: pytest.MonkeyPatch, path: str, role: Role, hanging: str
) -> None:
    end = Event()
    token, olga = server.token("abe", role), server.token("olga", Role.OWNER)
    original: Callable[..., Any] = getattr(Session, hanging)

    def hang(*given: Any) -> Any:
        end.wait(60)
        return original(*given)

    monkeypatch.setattr(Session, hanging, hang)
    with ThreadPoolExecutor(MANY) as callers:
        asked = [
            callers.submit(server.call, "GET", path, token, timeout=90) for _ in range(MANY)
        ]
        time.sleep(0.5)
        try:
            assert _slowest(server) < SOON
            # an owner's act, and a token check, have threads too
            frozen = server.call("POST", "/v1/ledger/patients/freeze", olga, timeout=SOON)
            assert frozen.json()["frozen"] is True
            assert server.call("GET", "/v1/datasets", timeout=SOON).status_code == 401
        finally:
            end.set()
        statuses = {each.result().status_code for each in asked}
    assert statuses <= {200, 503}
    assert 200 in statuses


def served_while_another_fills_the_lane(server: Server) -> bool:
    """Whether bob's request is served while ann has many slow ones of the same kind."""
    end, ann, bob = Event(), server.token("ann"), server.token("bob")
    original = Session.status

    def hang(session: Session, population: str) -> Any:
        if session._curator.principal == "ann":
            end.wait(60)
        return original(session, population)

    with ThreadPoolExecutor(MANY) as callers, pytest.MonkeyPatch.context() as patched:
        patched.setattr(Session, "status", hang)
        asked = [
            callers.submit(server.call, "GET", "/v1/status", ann, timeout=90)
            for _ in range(MANY)
        ]
        time.sleep(0.5)
        try:
            found = server.call("GET", "/v1/status", bob, timeout=SOON).status_code == 200
        except requests.Timeout:
            found = False
        finally:
            end.set()
        assert {each.result().status_code for each in asked} == {200}
    return found


def test_nobody_waits_for_all_slow_requests_of_another(server: Server, bar: Bar) -> None:
    found = served_while_another_fills_the_lane(server)
    bar(f"bob beside {MANY} slow requests of ann", found, True, found is True)
    with pytest.MonkeyPatch.context() as patched:  # the lie: who comes first is served first
        real = Lane.run
        patched.setattr(Lane, "run", lambda lane, *given, **_: real(lane, *given))
        lied = served_while_another_fills_the_lane(server)
    bar("lie, whoever comes first is served first", lied, False, lied is False)


def test_a_lane_gives_its_threads_in_turn() -> None:
    async def order(asked: list[str]) -> list[str]:
        lane, end, done = Lane("small", threads=1, most_waiting=10), Event(), list[str]()
        first = asyncio.create_task(lane.run(lambda: end.wait(30), who="ann"))
        rest = [
            asyncio.create_task(lane.run(partial(done.append, who), who=who)) for who in asked
        ]
        await asyncio.sleep(0.05)
        rest.pop(1).cancel()  # it waits for its turn, and leaves
        await asyncio.sleep(0.05)
        end.set()
        await asyncio.gather(first, *rest)
        assert lane.inside == 0
        lane.close()
        return done

    assert asyncio.run(order(["ann", "ann", "ann", "bob", "eve"])) == [
        "ann",
        "bob",
        "eve",
        "ann",
    ]


def test_a_route_names_its_lane_and_the_openapi_file_does_not() -> None:
    def here() -> str:
        return "here"

    route = GuardedRoute("/here", here, **open_to(Role.AUDITOR, lane="audit"))
    assert route.openapi_extra == {"x-roles": ["auditor"], "security": [{"token": []}]}


def test_the_openapi_file_is_written_once(server: Server) -> None:
    first = server.call("GET", "/openapi.json")
    assert first.json()["info"]["title"] == "Tacit"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FastAPI, "openapi", lambda _: {"a lie": True})
        assert server.call("GET", "/openapi.json").content == first.content


def test_a_body_of_very_many_fields_is_refused_before_each_is_an_error(server: Server) -> None:
    ann, many = server.token("ann"), {f"{number:x}": 1 for number in range(20_000)}
    refused = server.call("POST", "/v1/quote", ann, json=many)
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "content_too_large")
    few = server.call("POST", "/v1/quote", ann, json={"a": 1, "b": 2})
    assert few.json()["error"]["code"] == "invalid_request"
    olga = server.token("olga", Role.OWNER)
    asked = {"principal": "ann", "role": "analyst", "datasets": [1] * 50_000}
    assert len(server.call("POST", "/v1/tokens", olga, json=asked).text) < 10**5


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_fields_are_counted_in_every_encoding(server: Server, encoding: str) -> None:
    """A body of UTF-16 passed the limit, and its errors held the event loop for seconds."""
    many = json.dumps({f"{number:x}": 1 for number in range(2000)}).encode(encoding)
    ann, how = server.token("ann"), {"Content-Type": "application/json"}
    refused = server.call("POST", "/v1/quote", ann, data=many, headers=how)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_request")


def test_a_token_in_the_name_of_an_owner_does_not_stop_the_owner(tmp_path: Path) -> None:
    """Whoever owns other people can issue tokens in anybody's name, and send requests."""
    settings = Serving(requests_per_minute=5)
    project = make_project(tmp_path / "clinic")
    with serving(project, serving=settings) as server:
        olga = server.token("olga", Role.OWNER)
        false_one = server.token("olga", Role.AUDITOR, TokenScope(("shifts",)))
        calls = [server.call("GET", "/v1/status", false_one).status_code for _ in range(7)]
        assert calls[-1] == 429
        assert server.call("POST", "/v1/ledger/patients/freeze", olga).status_code == 200


def test_requests_for_another_role_are_counted(tmp_path: Path) -> None:
    with serving(
        make_project(tmp_path / "clinic"), serving=Serving(requests_per_minute=5)
    ) as server:
        ann = server.token("ann")
        calls = [server.call("GET", "/v1/tokens", ann).status_code for _ in range(7)]
        assert calls == [403] * 5 + [429] * 2


def test_nobody_has_all_places_to_wait_in_a_lane() -> None:
    async def run() -> list[object]:
        lane, end = Lane("small", threads=1, most_waiting=4), Event()
        tasks = [asyncio.create_task(lane.run(end.wait, who="eve")) for _ in range(4)]
        await asyncio.sleep(0.05)
        other = asyncio.create_task(lane.run(lambda: "done", who="olga"))
        await asyncio.sleep(0.05)
        end.set()
        return [
            "refused" if isinstance(each, Refused) else each
            for each in await asyncio.gather(*tasks, other, return_exceptions=True)
        ]

    assert asyncio.run(run()) == [True, True, "refused", "refused", "done"]


def test_a_server_that_is_not_ready_says_what_is_missing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.call("GET", "/ready").json() == {
        "status": "ready",
        "store": True,
        "workers": True,
        "anchor": True,
        "ledger": True,
    }

    def away(_: Ledger) -> None:
        raise StoreFailed("It is away.")

    monkeypatch.setattr(Ledger, "numbers", away)
    ends = time.monotonic() + 30
    while (told := server.call("GET", "/ready")).status_code == 200:
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert (told.status_code, told.json()["error"]["code"]) == (503, "not_ready")
    assert told.json()["error"]["given"] == "not in order: store"
    assert server.call("GET", "/health").json() == {"status": "ok"}
