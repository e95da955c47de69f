"""Every role on every route with every kind of token and object: no cell is wrong."""

import http.client
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from conftest import Bar
from fastapi import FastAPI
from matrix import ABOUT, BAD, CALLERS, METHODS, NOBODYS, OTHER, OWN, ROLES, Who, expected
from serving import Server, declare_daily, make_project, serving
from starlette.routing import Mount

from tacit.core import Loss
from tacit.errors import InternalError, UnknownName
from tacit.server.app import ROUTERS, make_app
from tacit.server.console.visit import ConsoleRoute
from tacit.server.guarded_route import GuardedRoute, new_router, open_to
from tacit.server.token_policy import Role, TokenScope
from tacit.store import SavedQuestion, SavedQuestions
from tacit.store.tokens import Tokens, hash_of

QUESTIONS = {
    OWN: "SELECT city, COUNT(*) AS n FROM people GROUP BY city",
    OTHER: "SELECT COUNT(*) AS n FROM shifts",
    NOBODYS: "SELECT COUNT(*) AS n FROM ghosts",
}
SCALER = {"model": "StandardScaler", "settings": {"epsilon": 0.01, "bounds": [0, 600]}}
FITS = {
    OWN: {"dataset": "people", "features": ["id"]},
    OTHER: {"dataset": "shifts", "features": ["hours"]},
    NOBODYS: {"dataset": "ghosts", "features": ["hours"]},
}
DATASETS = {OWN: ["people", "visits"], OTHER: ["shifts"], NOBODYS: ["ghosts"]}
POPULATIONS = {OWN: "patients", OTHER: "staff", NOBODYS: "ghosts"}
QUOTAS = {OWN: Loss.zcdp("0.01", "1e-8"), OTHER: Loss.pure("0.5")}
"""Quotas that are below those that callers ask for, and above what they spend."""

NO_ID = "00" * 32


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("matrix"))) as running:
        declare_daily(running)
        yield running


@pytest.fixture(scope="module")
def cells(server: Server, foreign: Server) -> Iterator["Cells"]:
    made = Cells(server, foreign)
    yield made
    made.close()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("foreign"))) as running:
        yield running


class Cells:
    """Requests on one connection, and what they get."""

    def __init__(self, server: Server, foreign: Server) -> None:
        self._server, self._foreign = server, foreign
        self._line = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=300)
        ann, bob = server.token("ann"), server.token("bob")
        ask = {OWN: ann, OTHER: bob}
        asked = {
            thing: server.ask(token, QUESTIONS[thing]).json() for thing, token in ask.items()
        }
        known = {"release_key": NO_ID, "receipt": NO_ID}
        self._releases = {
            thing: asked.get(thing, known)["release_key"] for thing in (OWN, OTHER, NOBODYS)
        }
        self._receipts = {
            thing: asked.get(thing, known)["receipt"] for thing in (OWN, OTHER, NOBODYS)
        }
        self._tokens = {
            (who, state): self._authorization(who, state)
            for who in CALLERS
            for state in ("valid", *BAD)
        }

    def status(self, who: Who, state: str, method: str, path: str, thing: str) -> int:
        """What one cell gets."""
        body = body_of(method, path, thing)
        if "questions" in path and state == "valid" and who.role in {"analyst", "owner"}:
            self._save(who, thing)
        number = self._prepare(who, path, thing) if state == "valid" and method == "POST" else 1
        if path.endswith(("freeze", "thaw")):
            self._stop(thing, stopped=path.endswith("thaw"))
        filled = path.format(
            population=POPULATIONS[thing],
            release_key=self._releases[thing],
            receipt=self._receipts[thing],
            name=name_in(path, thing),
            story="equal-grades",
            token_id=self._token_id(thing) if "token_id" in path else "",
            number=number,
        )
        headers = {"Content-Type": "application/json"} if body else {}
        given = self._tokens[who, state]
        headers |= {} if given is None else {"Authorization": given}
        self._line.request(method, filled, json.dumps(body) if body else None, headers)
        answer = self._line.getresponse()
        text = answer.read()
        if path.endswith(("freeze", "thaw")):
            self._stop(thing, stopped=False)
        if answer.status >= 400:
            assert set(json.loads(text)) == {"error"}
        return answer.status

    def _stop(self, thing: str, *, stopped: bool) -> None:
        """Let charges about the object be stopped, or not."""
        ledger, name = self._server.curator.home.ledger, POPULATIONS[thing]
        if thing != NOBODYS and ledger.status(name).frozen != stopped:
            act = ledger.freeze if stopped else ledger.thaw
            act(name, by={OWN: "olga", OTHER: "oscar"}[thing])

    def _save(self, who: Who, thing: str) -> None:
        """Let a question be saved by the caller, or by another account of the same name."""
        name, curator = f"a question that is {thing}", self._server.curator
        header = self._tokens[who, "valid"]
        assert header is not None
        own = self._server.app.state.gate.caller(header).account
        for account in (own, json.dumps([who.principal, who.role, ["others"]])):
            saved = SavedQuestions(curator.home.store, curator.home.states, account)
            with suppress(UnknownName):
                saved.remove(name)
            if thing != NOBODYS and (account == own) == (thing == OWN):
                saved.save(SavedQuestion(name, QUESTIONS[OWN]))

    def _prepare(self, who: Who, path: str, thing: str) -> int:
        """Let there be something to decide, and return the number of the request."""
        if thing == NOBODYS or not path.startswith("/v1/ledger/"):
            return 1
        ledger, name = self._server.curator.home.ledger, POPULATIONS[thing]
        owner = {OWN: "olga", OTHER: "oscar"}[thing]
        if "requests" in path:
            for number in ledger.quota_requests(name):
                ledger.decline_quota(name, number, by=owner)
            holder = who.principal if path.endswith("/requests") else "new"
            half = QUOTAS[thing]
            ledger.set_quota(name, holder, half, by=owner)
            if holder == "new":
                more = Loss(half.measure, half.amount * 2, half.delta)
                return ledger.request_quota(name, more, by="new").seq
        if "teams" in path:
            member = "new" in ledger.teams(name).get("@lab", ())
            if member != path.endswith("/leave"):
                act = ledger.leave if member else ledger.join
                act(name, "new", "@lab", by=owner)
        return 1

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _token_id(self, thing: str) -> str:
        """The id of a new token, about the object."""
        if thing == NOBODYS:
            return NO_ID
        scope = TokenScope(tuple(DATASETS[thing]))
        return hash_of(self._server.token("new", scope=scope)).hex()

    def _authorization(self, who: Who, state: str) -> str | None:
        """The header of one caller's token."""
        role, scope = Role(who.role), TokenScope(who.datasets)
        issued = self._server.token
        match state:
            case "missing":
                return None
            case "expired":
                token = issued(who.principal, role, scope, hours=-1)
            case "foreign":
                token = self._foreign.token(who.principal, role, scope)
            case _:
                token = issued(who.principal, role, scope)
        if state == "revoked":
            Tokens(self._server.curator.home.store).revoke(token)
        if state == "altered":
            token = token[:-1] + ("A" if token[-1] != "A" else "B")
        if state == "its hash":
            token = hash_of(token).hex()
        return f"{'Basic' if state == 'another scheme' else 'Bearer'} {token}"


def name_in(path: str, thing: str) -> str:
    """The name of a dataset, a publication or a saved question in an address."""
    if "datasets" in path:
        return DATASETS[thing][0]
    if "publications" in path:
        return {OWN: "daily", OTHER: "shiftly", NOBODYS: "ghostly"}[thing]
    return quote(f"a question that is {thing}")


def body_of(method: str, path: str, thing: str) -> dict[str, Any] | None:
    """What a request about the object has in its body."""
    body: dict[str, Any] | None = None
    if path.startswith("/v1/fit"):
        body = SCALER | FITS[thing]
    elif ABOUT.get(path) == "dataset" and method == "POST":
        body = {"sql": QUESTIONS[thing]}
        body |= {"epsilon": "0.1"} if path in {"/v1/ask", "/v1/open"} else {}
    elif (method, path) == ("POST", "/v1/tokens"):
        body = {"principal": "new", "role": "analyst", "datasets": DATASETS[thing]}
    elif method == "POST" and path.endswith(("/quotas", "/requests")):
        body = {"holder": "new"} if path.endswith("/quotas") else {}
        body |= {"epsilon": "0.9"}
    elif (method, path[-5:]) == ("POST", "/keys"):
        body = {"key": "d7" * 32}
    elif path.endswith(("/join", "/leave")):
        body = {"team": "@lab", "principal": "new"}
    elif path == "/v1/verify":
        body = {"text": "{}"}
    elif method == "PUT":
        body = {"sql": QUESTIONS[thing]}
    return body


def things(path: str) -> tuple[str, ...]:
    return (OWN, OTHER, NOBODYS) if path in ABOUT else (OWN,)


def test_the_openapi_file_names_the_roles_of_the_table_and_no_other_route(
    server: Server,
) -> None:
    told = server.call("GET", "/openapi.json").json()
    found = {
        (method.upper(), path): tuple(operation["x-roles"])
        for path, operations in told["paths"].items()
        for method, operation in operations.items()
    }
    assert found == ROLES


def test_no_cell_is_wrong(server: Server, cells: Cells, bar: Bar) -> None:
    told = server.call("GET", "/openapi.json").json()
    wrong, count = [], 0
    for path in told["paths"]:
        for method in METHODS:
            known = method.lower() in told["paths"][path]
            for who in CALLERS:
                for state in ("valid", *BAD) if known else ("valid", "missing"):
                    for thing in things(path) if known else (OWN,):
                        count += 1
                        got = cells.status(who, state, method, path, thing)
                        if got != expected(who, state, method, path, thing):
                            wrong.append((who, state, method, path, thing, got))
    assert not wrong, wrong[:10]
    bar(f"authorisation matrix, of {count} cells: wrong cells", len(wrong), "0", not wrong)
    assert count > 2000


def test_a_door_that_only_looks_at_the_token_is_found_out(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TokenScope, "covers", lambda *_: True)
    monkeypatch.setattr(TokenScope, "check_datasets", lambda *_: None)
    narrow = Who("ann", "analyst", ("visits",))
    for path, method in (
        ("/v1/releases/{release_key}", "GET"),
        ("/v1/quote", "POST"),
        ("/v1/fit/quote", "POST"),
    ):
        assert cells.status(narrow, "valid", method, path, OWN) == 200
        assert expected(narrow, "valid", method, path, OWN) == 404


def test_a_door_that_does_not_look_at_populations_is_found_out(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TokenScope, "of_catalog", lambda _, catalog: catalog)
    here = "/v1/ledger/{population}"
    for who, method, path in (
        (Who("sam", "analyst", ("shifts",)), "POST", f"{here}/requests"),
        (Who("abe", "auditor", ("shifts",)), "GET", f"{here}/quotas"),
        (Who("abe", "auditor", ("shifts",)), "GET", f"{here}/teams"),
    ):
        assert cells.status(who, "valid", method, path, OWN) in {200, 201}
        assert expected(who, "valid", method, path, OWN) == 404


def test_a_route_that_names_no_role_cannot_be_made(server: Server) -> None:
    router = new_router()
    with pytest.raises(InternalError, match="does not declare which roles may call it"):
        router.get("/v1/secrets")(app_says)
    router.get("/v1/secrets", **open_to(Role.OWNER))(app_says)
    app = make_app(server.curator)
    assert unguarded(app) == []
    routes = [route for router in ROUTERS for route in router.routes]
    assert sum(route.include_in_schema for route in routes) == len(ROLES)
    app.add_route("/v1/leak", lambda _: None)  # type: ignore[arg-type,return-value]
    assert unguarded(app) == ["/v1/leak"]


def app_says() -> str:
    return "a secret"


def unguarded(app: FastAPI) -> list[str]:
    """The paths of routes that no guard stands before."""
    found = []
    for route in app.routes:
        if isinstance(route, Mount) and route.app is app.state.console:
            found += unguarded_pages(app.state.console)
            continue
        inner = getattr(route, "original_router", None)
        each = inner.routes if inner is not None else [route]
        found += [r.path for r in each if not isinstance(r, GuardedRoute)]
    return found


def unguarded_pages(console: FastAPI) -> list[str]:
    """The paths of pages that no guard stands before, but for files and policy reports."""
    found = []
    for route in console.routes:
        inner = getattr(route, "original_router", None)
        each = inner.routes if inner is not None else [route]
        found += [r.path for r in each if not isinstance(r, ConsoleRoute)]
    return [path for path in found if path not in {"/static/{name}", "/policy-reports"}]


def test_refusals_tell_nothing_of_whether_an_object_is_there(
    server: Server, cells: Cells
) -> None:
    ann = server.token("ann", scope=TokenScope(("people", "visits")))
    texts = set()
    for key in (cells._releases[OTHER], NO_ID):
        texts.add(server.call("GET", f"/v1/releases/{key}", ann).text)
    assert len(texts) == 1
    abe = server.token("abe", Role.AUDITOR, TokenScope(("people", "visits")))
    told = [
        server.call("GET", f"/v1/ledger/{name}", abe).json()["error"]["message"]
        for name in ("staff", "ghosts")
    ]
    assert told[0].replace("staff", "ghosts") == told[1]
    assert "staff" not in told[1]
    bad = {server.call("GET", "/v1/status", token).text for token in ("tacit_x", "a.b.c", None)}
    assert len(bad) == 1


def test_a_token_is_kept_as_its_hash_alone(server: Server) -> None:
    token = server.token("ann")
    folder = Path(str(server.curator.home.store._engine.url.database)).parent  # type: ignore[attr-defined]
    kept = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
    assert hash_of(token) in kept
    assert token.encode() not in kept
    assert token.removeprefix("tacit_").encode() not in kept
    assert len(token.removeprefix("tacit_")) * 6 >= 256


def test_a_token_allows_no_more_than_its_most(server: Server) -> None:
    olga = server.token("olga", Role.OWNER)
    new = {"principal": "cy", "role": "analyst", "datasets": ["people"]}
    made = server.call("POST", "/v1/tokens", olga, json=new | {"most": {"epsilon": "0.3"}})
    cy = made.json()["token"]
    assert server.ask(cy, epsilon="0.3").status_code == 200
    refused = server.ask(cy, epsilon="0.31")
    assert refused.status_code == 403
    assert "at most" in refused.json()["error"]["message"]
    for wrong in ({"most": {"epsilon": 0}}, {"most": {}}, {"days": 0}, {"principal": "@all"}):
        answer = server.call("POST", "/v1/tokens", olga, json=new | wrong)
        assert answer.status_code == 422, wrong
    other = server.call("POST", "/v1/tokens", olga, json=new | {"role": "owner"})
    assert other.status_code == 403
    listed = server.call("GET", "/v1/tokens", olga).json()["tokens"]
    assert made.json()["id"] in [each["id"] for each in listed]
    assert cy not in str(listed)
