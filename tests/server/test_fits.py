"""Models over HTTP: a name and JSON in, a release out, in the processes that questions use."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from serving import Server, make_project, running

from tacit.core.codec import decode_release
from tacit.core.release import parameters_in
from tacit.ml.k_means import KMeans
from tacit.ml.registry import MODELS, check_settings
from tacit.server.app import make_app, watched_app
from tacit.server.token_policy import Role
from tacit.session.curator import Curator
from tacit.session.project import open_for_serving

LOADING = 300
"""Seconds for a reply: the first fit of a process loads scikit-learn."""
EXACT = "application/vnd.tacit.release+json"
LINE = {
    "model": "LinearRegression",
    "settings": {"epsilon": 0.5, "bounds": [0, 500], "target_bounds": [0, 100]},
    "dataset": "visits",
    "features": ["patient"],
    "target": "cost",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose paid requests run in one child process."""
    file = make_project(tmp_path_factory.mktemp("fits"), more="[server]\nprocesses = 1\n")
    curator, serving = open_for_serving(file, {})
    log: list[str] = []
    with running(watched_app(make_app(curator, serving), log.append)) as address:
        yield Server(address, curator, log)


def post(server: Server, body: Any, path: str = "/v1/fit", **headers: str) -> Any:
    token = server.token("ann")
    return server.call("POST", path, token, json=body, headers=headers, timeout=LOADING)


def changed(**settings: Any) -> dict[str, Any]:
    return LINE | {"settings": LINE["settings"] | settings}


def spent(curator: Curator) -> Any:
    return curator.home.ledger.status("patients").spent


def test_a_fit_is_quoted_charged_run_in_a_child_and_free_again(server: Server) -> None:
    quoted = post(server, LINE, "/v1/fit/quote").json()
    first = post(server, LINE, Accept=EXACT, **{"Idempotency-Key": "monday"})
    assert first.status_code == 200, first.text
    assert first.json()["standing"]["cost"] == quoted["standing"]["cost"]
    found = parameters_in(decode_release(json.dumps(first.json()["release"]).encode()))
    assert [each.name for each in found] == ["coef_", "intercept_"]
    again = post(server, LINE, Accept=EXACT, **{"Idempotency-Key": "monday"}).json()
    assert again["release"] == first.json()["release"]
    assert again["standing"]["cost"]["amount"] == "0"
    plain = post(server, LINE).json()
    assert plain["columns"]["parameter"] == ["coef_", "intercept_"]
    assert plain["columns"]["value"] == [float(each.values[0]) for each in found]
    key = plain["release_key"]
    stored = server.call("GET", f"/v1/releases/{key}", server.token("ann")).json()
    assert stored["columns"] == plain["columns"]
    (worker,) = server.curator.pools["warehouse"]._workers
    assert worker.started
    reused = post(server, changed(epsilon=0.4), **{"Idempotency-Key": "monday"})
    assert reused.json()["error"]["code"] == "key_reused"


def test_a_fit_asks_for_no_more_than_a_token_allows(server: Server) -> None:
    olga = server.token("olga", Role.OWNER)
    new = {"principal": "cy", "role": "analyst", "datasets": ["visits"]}
    made = server.call("POST", "/v1/tokens", olga, json=new | {"most": {"epsilon": "0.3"}})
    cy = made.json()["token"]
    dear = server.call("POST", "/v1/fit", cy, json=changed(epsilon=0.31))
    assert (dear.status_code, dear.json()["error"]["code"]) == (403, "not_permitted")
    # the epsilon of a model is told at its own delta, which is not that of the budget
    cheap = server.call("POST", "/v1/fit", cy, json=changed(epsilon=0.25))
    assert cheap.status_code == 200, cheap.text


DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]
HOSTILE = [
    {"model": "os.system"},
    {"model": "__class__"},
    {"model": ["LinearRegression"]},
    {"model": pickle.dumps(KMeans()).decode("latin1")},
    {"settings": {"callback": 1}},
    {"settings": {"self": 1}},
    {"settings": {"return": 1}},
    {"settings": {"__class__": "x"}},
    {"settings": []},
    {"seed": 7},
    {"dataset": "ghosts"},
    {"features": []},
    {"features": ["ghost"]},
    {"features": ["patient", "patient"]},
    {"features": ["patient"] * 5000},
    {"features": "patient"},
    {"target": "patient"},
    {"target": {"a": 1}},
    *(
        {"settings": LINE["settings"] | wrong}
        for wrong in (
            {"epsilon": "much"},
            {"epsilon": True},
            {"epsilon": None},
            {"epsilon": -1},
            {"epsilon": 0},
            {"epsilon": 90},
            {"epsilon": 1e-99},
            {"epsilon": 10**4000},
            {"epsilon": float("nan")},
            {"delta": float("inf")},
            {"delta": 2},
            {"norm": -1},
            {"norm": [1]},
            {"bounds": [[], []]},
            {"bounds": [5, 5]},
            {"bounds": [9, 1]},
            {"bounds": {"a": {"b": {"c": {"d": 1}}}}},
            {"bounds": "ab"},
            {"bounds": DEEP},
            {"bounds": [float("nan"), 1]},
            {"target_bounds": [0, 10**400]},
            {"fit_intercept": "yes"},
        )
    ),
    {"model": "KMeans", "settings": {"n_clusters": 10**9}},
    {"model": "KMeans", "settings": {"n_clusters": 2.5}},
    {"model": "PCA", "settings": {"n_components": 10**9}},
    {"model": "HuberRegression", "settings": {"iterations": 10**9}},
    {"model": "LogisticRegression", "settings": {"iterations": 10**9}},
    {"model": "LogisticRegression", "settings": {"bounds": [0, 1], "classes": 5}},
    {"model": "GaussianNB", "settings": {"bounds": [0, 1], "classes": [[1], [2]]}},
    {"model": "GaussianNB", "settings": {"bounds": [0, 1], "classes": [None, {}]}},
]


@pytest.mark.parametrize("wrong", HOSTILE, ids=range(len(HOSTILE)))
def test_what_nobody_may_send_is_refused_in_one_shape_and_costs_nothing(
    server: Server, wrong: dict[str, Any]
) -> None:
    before = spent(server.curator)
    text = json.dumps(LINE | wrong)  # as NaN too, which others would send
    for path in ("/v1/fit", "/v1/fit/quote"):
        headers = {"Content-Type": "application/json"}
        refused = server.call("POST", path, server.token("ann"), data=text, headers=headers)
        if path == "/v1/fit/quote" and refused.status_code == 200:
            assert wrong["settings"]["epsilon"] == 90  # a price may be told that none can pay
            continue
        assert 400 <= refused.status_code < 500, (refused.status_code, refused.text)
        told = refused.json()["error"]
        assert set(told) == {"code", "message", "given", "allowed", "next"}
        assert len(refused.text) < 2000
    assert spent(server.curator) == before


def test_a_door_that_looks_at_no_setting_is_found_out(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = changed() | {"model": "HuberRegression"}
    many["settings"] = {"bounds": [0, 500], "target_bounds": [0, 100], "iterations": 10**9}
    assert post(server, many, "/v1/fit/quote").status_code == 422
    monkeypatch.setattr("tacit.ml.registry.check_settings", lambda *_: None)
    assert post(server, many, "/v1/fit/quote").status_code == 200


def test_every_model_can_be_named_and_the_settings_that_it_has_by_itself_pass(
    server: Server,
) -> None:
    told = server.call("GET", "/openapi.json").json()["components"]["schemas"]["GivenFit"]
    assert told["properties"]["model"]["enum"] == list(MODELS)
    for name in MODELS:
        body = LINE | {"model": name, "settings": {}, "dataset": "ghosts"}
        assert "no dataset 'ghosts'" in post(server, body).json()["error"]["message"]
    check_settings(KMeans, KMeans().get_params())


def test_the_log_tells_no_setting(server: Server) -> None:
    before = len(server.log)
    post(server, changed(norm=3.14159265))
    told = server.logged(before + 1)[-1]
    assert "3.14159" not in "".join(server.log)
    assert told["route"] == "/v1/fit"
    assert told["charge"]
