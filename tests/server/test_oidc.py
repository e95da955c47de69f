"""People come in by the tokens of their own provider, and by no forged one."""

import hmac
import json
import socket
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from conftest import Bar
from joserfc.jwk import ECKey, OctKey, RSAKey
from joserfc.jwt import encode
from serving import Server, make_project, serving

from tacit.errors import NotPermitted
from tacit.project.document import Fault, TomlEntry
from tacit.project.project import Issuer, Serving, serving_of
from tacit.server import identity_keys
from tacit.server.identity import ALGORITHMS, KeysWanted, OidcIdentity
from tacit.server.identity_keys import fetch_document
from tacit.server.refusal import Refused

STRANGERS = 60
AUDIENCE = "tacit"


@dataclass
class Provider:
    """A provider on loopback, whose keys can be changed."""

    address: str
    keys: list[Any] = field(default_factory=list)
    fetched: int = 0

    @property
    def issuer(self) -> Issuer:
        return Issuer("https://id.clinic.example", AUDIENCE, self.address + "/keys")

    def token(self, key: Any, header: dict[str, Any] | None = None, **other: Any) -> str:
        """A token signed by ``key``, with some claims or parts of its header another."""
        claims = {
            "iss": self.issuer.issuer,
            "aud": AUDIENCE,
            "sub": "ann",
            "tacit_role": "analyst",
            "tacit_datasets": ["people", "visits", "shifts"],
            "exp": int(time.time()) + 60,
        } | other
        claims = {name: claim for name, claim in claims.items() if claim is not None}
        algorithm = {"RSA": "RS256", "EC": "ES256", "oct": "HS256"}[key.key_type]
        made = {"alg": algorithm, "kid": key.kid} | (header or {})
        made = {name: part for name, part in made.items() if part is not None}
        return encode(made, claims, key, algorithms=["RS256", "ES256", "HS256"])


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", made.address + "/keys")
                self.end_headers()
                return
            made.fetched += 1
            told = {"keys": [key.as_dict(private=False) for key in made.keys]}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    made = Provider(f"http://127.0.0.1:{http.server_port}")
    made.keys = [RSAKey.generate_key(2048), ECKey.generate_key("P-256")]
    for key in made.keys:
        key.ensure_kid()
    thread = Thread(target=http.serve_forever)
    thread.start()
    yield made
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Server]:
    file = make_project(tmp_path_factory.mktemp("oidc"))
    settings = Serving(requests_per_minute=10**6, oidc=provider.issuer)
    with serving(file, serving=settings) as running:
        yield running


def unsigned(token: str, **header: str) -> str:
    """The claims of a token under a header that asks for no signature."""
    made = urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{made}.{token.split('.')[1]}."


def shared(token: str, secret: bytes, kid: str) -> str:
    """The claims of a token signed by a secret, which an honest library will not do."""
    start = unsigned(token, alg="HS256", kid=kid).rstrip(".")
    signed = hmac.new(secret, start.encode(), "sha256").digest()
    return f"{start}.{urlsafe_b64encode(signed).rstrip(b'=').decode()}"


def test_whoever_the_provider_signs_for_comes_in_with_their_role(
    server: Server, provider: Provider
) -> None:
    for key in provider.keys:
        token = provider.token(key)
        assert server.ask(token).status_code == 200
        told = server.call("GET", "/v1/datasets", token).json()
        assert told["asked_by"] == "ann"
        assert server.call("GET", "/metrics", token).status_code == 403
    olga = provider.token(provider.keys[0], sub="olga", tacit_role="owner")
    assert server.call("GET", "/v1/ledger/patients", olga).status_code == 200
    assert server.call("GET", "/v1/ledger/staff", olga).status_code == 404
    assert server.call("GET", "/v1/status", server.token("bob")).status_code == 200


def test_no_forged_token_lets_anybody_in(server: Server, provider: Provider, bar: Bar) -> None:
    rsa, ec, *_ = provider.keys
    stranger = RSAKey.generate_key(2048)
    stranger.ensure_kid()
    good = provider.token(rsa)
    pem, as_json = rsa.as_pem(private=False), json.dumps(rsa.as_dict(private=False)).encode()
    head, body, signature = good.split(".")
    altered = urlsafe_b64encode(
        json.dumps(json.loads(_decoded(body)) | {"sub": "olga"}).encode()
    )
    forged = {
        "alg none": unsigned(good, alg="none"),
        "alg None": unsigned(good, alg="None", kid=rsa.kid),
        "HS256 by the public key": shared(good, pem, rsa.kid),
        "HS256 by the public key as JSON": shared(good, as_json, rsa.kid),
        "another's key": provider.token(stranger),
        "another's key under our id": provider.token(stranger, {"kid": rsa.kid}),
        "another's key in the header": provider.token(
            stranger, {"jwk": stranger.as_dict(private=False)}
        ),
        "a key without an id": provider.token(rsa, {"kid": None}),
        "the other key's id": provider.token(rsa, {"kid": ec.kid}),
        "altered claims": f"{head}.{altered.rstrip(b'=').decode()}.{signature}",
        "no signature": f"{head}.{body}.",
        "another audience": provider.token(rsa, aud="others"),
        "no audience": provider.token(rsa, aud=None),
        "another issuer": provider.token(rsa, iss="https://evil.example"),
        "no issuer": provider.token(rsa, iss=None),
        "expired": provider.token(rsa, exp=int(time.time()) - 60),
        "without an end": provider.token(rsa, exp=None),
        "not valid yet": provider.token(rsa, nbf=int(time.time()) + 600),
        "nobody": provider.token(rsa, sub=None),
        "a group": provider.token(rsa, sub="@all"),
        "a list": provider.token(rsa, sub=["ann"]),
        "no role": provider.token(rsa, tacit_role=None),
        "an unknown role": provider.token(rsa, tacit_role="root"),
        "roles in a list": provider.token(rsa, tacit_role=["analyst"]),
        "datasets in a text": provider.token(rsa, tacit_datasets="people"),
        "datasets that are no names": provider.token(rsa, tacit_datasets=[1]),
        "a most that is none": provider.token(rsa, tacit_most="much"),
        "a most of nothing": provider.token(rsa, tacit_most=0),
        "a most that is true": provider.token(rsa, tacit_most=True),
        "spaces around a name": provider.token(rsa, sub="ann "),
        "a name in another normal form": provider.token(rsa, sub="Jose\u0301"),
        "an end that is not a number": provider.token(rsa, exp=float("nan")),
        "an endless end": provider.token(rsa, exp=float("inf")),
        "a header without end": urlsafe_b64encode(b'{"kid":' + b"[" * 20_000).decode() + ".x.y",
        "no token": "a.b.c",
        "empty parts": "..",
    }
    refused = server.call("GET", "/v1/status", "tacit_unknown")
    let_in = [
        name
        for name, token in forged.items()
        if (answer := server.call("GET", "/v1/status", token)).status_code != 401
        or answer.text != refused.text
    ]
    assert server.call("GET", "/v1/status", good).status_code == 200
    bar(f"forged tokens of people, of {len(forged)}, let in", len(let_in), "0", not let_in)
    assert not let_in, let_in


def test_a_verifier_that_takes_the_header_at_its_word_lets_a_forged_token_in(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.server.identity.ALGORITHMS", (*ALGORITHMS, "HS256"))
    shared = OctKey.generate_key(256)
    shared.ensure_kid()
    lying = Provider(provider.address, provider.keys)
    people = OidcIdentity(lying.issuer, lambda: int(time.time() * 1000))
    people.keys.refresh()
    known = people.keys.key_set()
    assert known is not None
    known.keys.append(shared)
    assert people.who(provider.token(shared, sub="olga"))[0] == "olga"


def test_a_new_key_is_fetched_and_strangers_do_not_make_us_fetch_for_ever(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = OidcIdentity(provider.issuer, lambda: int(time.time() * 1000))
    stranger, new = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
    for key in (stranger, new):
        key.ensure_kid()
    people.keys.start()
    try:
        _wait_for(lambda: people.keys.key_set() is not None)
        people.who(provider.token(provider.keys[0]))
        before = provider.fetched
        for _ in range(20):
            with pytest.raises(NotPermitted, match="not valid"):
                people.who(provider.token(stranger), last=False)
        assert provider.fetched == before
        monkeypatch.setattr("tacit.server.identity_keys.PAUSE_SECONDS", 0)
        provider.keys.append(new)
        with pytest.raises(KeysWanted):
            people.who(provider.token(new), last=False)
        _wait_for(lambda: provider.fetched > before)
        _wait_for(lambda: people.keys.rounds > 1)
        assert people.who(provider.token(new))[0] == "ann"
    finally:
        people.keys.close()


def _wait_for(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_tokens_of_more_than_a_day_are_refused_by_default(provider: Provider) -> None:
    day, key = 24 * 3600, provider.keys[0]
    now = int(time.time())
    usual, lax = (
        OidcIdentity(replace(provider.issuer, **more), lambda: int(time.time() * 1000))
        for more in ({}, {"longest_hours": 100 * 366 * 24})
    )
    for people in (usual, lax):
        people.keys.refresh()
    long = [
        {"exp": now + 100 * 365 * day},
        {"exp": now + day + 600},
        {"exp": now + 60, "iat": now - day},
    ]
    for claims in long:
        token = provider.token(key, **claims)
        with pytest.raises(NotPermitted, match="not valid"):
            usual.who(token)
        assert lax.who(token)[0] == "ann"  # an owner of the server may allow it
    assert usual.who(provider.token(key, exp=now + day - 60, iat=now - 30))[0] == "ann"


def test_a_hanging_provider_and_strangers_stop_nobody(tmp_path: Path, bar: Bar) -> None:
    hanging = socket.create_server(("127.0.0.1", 0), backlog=200)  # it accepts, and is silent
    address = f"http://127.0.0.1:{hanging.getsockname()[1]}"
    asked = Provider(address, [ECKey.generate_key("P-256")])
    asked.keys[0].ensure_kid()
    settings = Serving(requests_per_minute=10**6, oidc=asked.issuer)
    with (
        serving(make_project(tmp_path / "clinic"), serving=settings) as server,
        ThreadPoolExecutor(STRANGERS) as callers,
    ):
        stranger, ann = asked.token(asked.keys[0]), server.token("ann")
        sent = [
            callers.submit(server.call, "GET", "/v1/status", stranger) for _ in range(STRANGERS)
        ]
        taken = []
        for path, token in (("/health", None), ("/ready", None), ("/v1/status", ann)) * 3:
            began = time.monotonic()
            assert server.call("GET", path, token).status_code == 200
            taken.append(time.monotonic() - began)
        told = {each.result().status_code for each in sent}
    hanging.close()
    assert told == {503}
    name = f"seconds for a local token beside {STRANGERS} strangers and a hanging provider"
    bar(name, f"{max(taken):.2f}", "below 5", max(taken) < 5)


def test_a_provider_that_sends_byte_by_byte_does_not_stop_the_fetch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity_keys, "WHOLE_SECONDS", 0.5)
    monkeypatch.setattr(identity_keys, "LARGEST", 10**4)
    end = Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                if self.path == "/large":
                    self.wfile.write(b" " * 10**5)
                while self.path == "/slow" and not end.wait(0.05):
                    self.wfile.write(b" ")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as http:
        thread = Thread(target=http.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{http.server_port}"
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            fetch_document(f"{address}/slow")
        assert time.monotonic() - began < 20
        with pytest.raises(ValueError, match="too large"):
            fetch_document(f"{address}/large")
        assert fetch_document(f"{address}/empty") == b""
        end.set()
        http.shutdown()
        thread.join()


def test_keys_come_over_tls_and_from_where_the_file_says(provider: Provider) -> None:
    moved = Issuer(provider.issuer.issuer, AUDIENCE, provider.address + "/moved")
    people = OidcIdentity(moved, lambda: int(time.time() * 1000))
    people.keys.refresh()
    with pytest.raises(Refused) as told:
        people.who(provider.token(provider.keys[0]))
    assert told.value.refusal.told.code == "identity_unavailable"
    said = {"issuer": "https://id.example", "audience": "tacit", "keys": "http://id.example/k"}
    with pytest.raises(Fault, match="over TLS"):
        serving_of(TomlEntry({"oidc": said}, ("server",)))
    said["keys"] = "https://id.example/keys"
    assert serving_of(TomlEntry({"oidc": said}, ("server",))).oidc is not None


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))
