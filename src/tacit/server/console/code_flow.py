"""Sign in at an OpenID provider: the authorisation code flow with PKCE, state and nonce.

The console sends the browser to the provider, which sends it back with a code. The console
exchanges the code for an id token over its own connection, and the API accepts or refuses that
token as it does every other (`tacit.server.identity`). A sign-in that has begun is stored in
a cookie of the browser that began it, signed with a key of this process: another browser
cannot end it, and the process stores nothing for people who never come back.
"""

import hmac
import json
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import Request, build_opener

from tacit.errors import InvalidValue, NotPermitted
from tacit.project import ENVIRONMENT, ConsoleFlow
from tacit.server.console.sign_ins import random_text
from tacit.server.identity_keys import Straight

BACK = "/console/signed-in"
"""The path to which the provider sends the browser back."""

BEGUN_SECONDS = 600
"""Seconds after which a sign-in that has begun can no longer be ended."""

WAIT_SECONDS, WHOLE_SECONDS, LARGEST, LONGEST_CODE = 5.0, 15.0, 2**18, 4096
"""Limits of an exchange: seconds for each read and for all, and bytes."""

AGAIN = "Sign in again."
REFUSALS = {
    "access_denied": "The identity provider did not let you in. Ask its operators for access.",
    "login_required": f"The identity provider wants you to sign in there first. {AGAIN}",
    "temporarily_unavailable": "The identity provider is busy. Sign in again in a minute.",
    "server_error": "The identity provider failed. Sign in again in a minute.",
}
REFUSED = "The identity provider did not accept this sign-in. Sign in again."
UNREACHABLE = "The identity provider could not be reached. Sign in again in a minute."
NOT_OURS = (
    "This sign-in was not begun in this browser in the last ten minutes, or it has been used "
    "already. Sign in again."
)

Exchange = Callable[[str, Mapping[str, str], Mapping[str, str]], bytes]


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that has begun: what the provider must send back, and what it is for."""

    state: str
    nonce: str
    verifier: str
    after: str
    until: int


def post_form(address: str, fields: Mapping[str, str], headers: Mapping[str, str]) -> bytes:
    """Send a form to ``address``, and return the body of the answer, which is a 200.

    No redirect is followed. Raise an `OSError` or `ValueError` for every other answer, and for
    one that is too large or too slow.
    """
    body = urlencode(fields).encode("ascii")
    ends, found = time.monotonic() + WHOLE_SECONDS, b""
    request = Request(address, body, dict(headers), method="POST")  # noqa: S310 - of the project
    with _open(request) as response:
        if response.status != 200:  # noqa: PLR2004 - the only status with a token
            raise ValueError("The provider answered without a token.")
        while part := response.read1(2**16):
            found += part
            if len(found) > LARGEST:
                raise ValueError("The answer is too large.")
            if time.monotonic() > ends:
                raise TimeoutError
    return found


def _open(request: Request) -> Any:
    try:
        return build_opener(Straight()).open(request, timeout=WAIT_SECONDS)
    except HTTPError as error:
        error.close()  # it holds the connection
        raise


class CodeFlow:
    """The console as a client of one provider; ``address`` is how browsers reach the console.

    Guarantee: a token is returned only for a code that came back with the state of a sign-in
    that the same browser began, only once the provider has matched the code with the verifier
    of that sign-in, and only if the token has its nonce. The token itself is not verified here.
    """

    def __init__(  # noqa: PLR0913 - keyword parts that tests replace
        self,
        flow: ConsoleFlow,
        address: str,
        issuer: str,
        environment: Mapping[str, str],
        *,
        exchange: Exchange = post_form,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._flow = flow
        self._back = address + BACK
        self._issuer = issuer
        self._secret = _secret_of(flow, environment)
        self._exchange = exchange
        self._clock = clock
        self._key = random_text().encode()

    def begin(self, after: str) -> tuple[str, str]:
        """Return the address of the provider to open, and the text for the browser's cookie."""
        until = int(self._clock()) + BEGUN_SECONDS
        begun = Begun(random_text(), random_text(), random_text(), after, until)
        challenge = urlsafe_b64encode(sha256(begun.verifier.encode()).digest()).rstrip(b"=")
        query = {
            "response_type": "code",
            "client_id": self._flow.client_id,
            "redirect_uri": self._back,
            "scope": self._flow.scope,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        joined = "&" if urlsplit(self._flow.authorize).query else "?"
        return f"{self._flow.authorize}{joined}{urlencode(query)}", self._write_cookie(begun)

    def end(self, query: Mapping[str, str], cookie: str) -> tuple[str, str]:
        """Return the token of a sign-in, and the page that it leads to.

        This waits for the provider. Raise `NotPermitted` with a text for people if it fails.
        """
        begun = self._read_cookie(cookie)
        if begun is None or not hmac.compare_digest(
            query.get("state", "").encode(), begun.state.encode()
        ):
            raise NotPermitted(NOT_OURS)
        if query.get("iss", self._issuer) != self._issuer:  # of another provider: RFC 9207
            raise NotPermitted(REFUSED)
        code = query.get("code", "")
        if "error" in query or not 0 < len(code) <= LONGEST_CODE or not code.isascii():
            raise NotPermitted(REFUSALS.get(query.get("error", ""), REFUSED))
        token = self._token(code, begun)
        claims = _claims_in(token)
        nonce, party = claims.get("nonce"), claims.get("azp", self._flow.client_id)
        is_same = isinstance(nonce, str) and hmac.compare_digest(
            nonce.encode(errors="replace"), begun.nonce.encode()
        )
        if not is_same or party != self._flow.client_id:
            raise NotPermitted(REFUSED)
        return token, begun.after

    def _token(self, code: str, begun: Begun) -> str:
        """Return the id token that the provider gives for ``code``."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "client_id": self._flow.client_id,
            "code_verifier": begun.verifier,
        }
        headers = {"Accept": "application/json"}
        if self._secret is not None:
            pair = f"{quote_plus(self._flow.client_id)}:{quote_plus(self._secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        try:
            answer = json.loads(self._exchange(self._flow.token, fields, headers))
            token = answer["id_token"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise NotPermitted(REFUSED) from None
        except (OSError, HTTPException) as error:
            refused = getattr(error, "code", None) in {400, 401, 403}
            raise NotPermitted(REFUSED if refused else UNREACHABLE) from None
        if not isinstance(token, str) or not (token.isascii() and token.isprintable()):
            raise NotPermitted(REFUSED)
        return token

    def _write_cookie(self, begun: Begun) -> str:
        text = urlsafe_b64encode(json.dumps(asdict(begun)).encode())
        return f"{text.decode()}.{self._seal(text)}"

    def _read_cookie(self, cookie: str) -> Begun | None:
        """Return what a cookie holds, if it was sealed here and is not too old."""
        text, _, seal = cookie.partition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(text.encode()).encode()):
            return None
        begun = Begun(**json.loads(urlsafe_b64decode(text)))
        return begun if begun.until >= self._clock() else None

    def _seal(self, text: bytes) -> str:
        return hmac.new(self._key, text, "sha256").hexdigest()


def _secret_of(flow: ConsoleFlow, environment: Mapping[str, str]) -> str | None:
    if flow.client_secret is None:
        return None
    name = flow.client_secret.removeprefix(f"{ENVIRONMENT}:")
    if not environment.get(name):
        raise InvalidValue(
            f"The secret of the console's client is not in the environment: set {name}, or "
            "leave out client_secret in [server.console] if the provider needs none."
        )
    return environment[name]


def _claims_in(token: str) -> dict[str, Any]:
    """Return what a token says, which the API has yet to verify; nothing if it is malformed."""
    try:
        body = token.split(".")[1]
        found = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, LookupError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
