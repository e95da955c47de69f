"""A small OpenID provider on loopback: it consents at once, and checks codes as it must."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc.jwk import ECKey
from joserfc.jwt import encode

CLIENT, SECRET = "tacit-console", "a+secret/of the client%"
ISSUER = "https://id.clinic.example"


@dataclass
class OpenIdProvider:
    """A provider whose user, claims and faults a test chooses."""

    address: str = ""
    key: Any = field(default_factory=lambda: ECKey.generate_key("P-256"))
    user: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    """Parameters that it sends back to the browser instead of the right ones."""
    status: int = 200
    moved_to: str = ""
    """Where it redirects the exchange of a code to, if anywhere."""
    body: bytes | None = None
    refused: list[str] = field(default_factory=list)
    """Why exchanges were refused."""
    exchanged: int = 0

    def authorize(self, asked: dict[str, str]) -> str:
        """Return the address to which the browser goes back: the user consents at once."""
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self.codes)}-{time.time_ns()}"
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": ISSUER} | self.faults
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def exchange(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the tokens for a code, once; None if anything about it is wrong."""
        asked = self.codes.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "").encode()
        challenge = base64.urlsafe_b64encode(sha256(verifier).digest()).rstrip(b"=").decode()
        if asked is None:
            return self._refuse("code")
        if challenge != asked["code_challenge"]:
            return self._refuse("verifier")
        if form["redirect_uri"] != asked["redirect_uri"]:
            return self._refuse("redirect_uri")
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        if not hmac.compare_digest(pair, f"{CLIENT}:a%2Bsecret%2Fof+the+client%25"):
            return self._refuse("secret")
        return {"id_token": self.token(nonce=asked["nonce"]), "token_type": "Bearer"}

    def token(self, **other: Any) -> str:
        """Return an id token for the user; a claim that is None is left out."""
        claims = {
            "iss": ISSUER,
            "aud": CLIENT,
            "sub": "ann",
            "tacit_role": "analyst",
            "exp": int(time.time()) + 300,
        }
        claims = {**claims, **other, **self.user}
        kept = {name: each for name, each in claims.items() if each is not None}
        return encode({"alg": "ES256", "kid": self.key.kid}, kept, self.key)

    def section(self, address: str) -> str:
        """Return the part of a project file for this provider and a server at ``address``."""
        return (
            f'[server.oidc]\nissuer = "{ISSUER}"\naudience = "{CLIENT}"\n'
            f'keys = "{self.address}/keys"\n\n[server.console]\naddress = "{address}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "env:CONSOLE_SECRET"\n'
            f'authorize = "{self.address}/authorize"\ntoken = "{self.address}/token"\n'
        )

    def _refuse(self, why: str) -> None:
        self.refused.append(why)


@contextmanager
def providing() -> Iterator[OpenIdProvider]:
    """A provider that runs."""
    made = OpenIdProvider()
    made.key.ensure_kid()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, query = urlsplit(self.path)[2:4]
            if path == "/keys":
                self._send(200, {"keys": [made.key.as_dict(private=False)]})
            else:
                self._move(made.authorize(dict(parse_qsl(query))))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            made.exchanged += 1
            if made.moved_to:
                self._move(made.moved_to)
                return
            found = made.exchange(
                dict(parse_qsl(body)), self.headers.get("Authorization", "Basic ")
            )
            status = made.status if found is not None else 400
            self._send(status, found or {"error": "invalid_grant"}, made.body)

        def _send(self, status: int, said: Any, body: bytes | None = None) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode() if body is None else body)

        def _move(self, address: str) -> None:
            self.send_response(302)
            self.send_header("Location", address)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    made.address = f"http://127.0.0.1:{http.server_port}"
    thread = Thread(target=http.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
