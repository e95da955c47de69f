"""Identify callers by their tokens: our own tokens, and those of an OpenID provider.

A token of an OpenID provider must be signed by a key that the provider publishes, be issued for
our audience, and be valid now (`OidcIdentity`). Our own tokens are looked up in the store.
`Gate` accepts both and returns a `Caller`; every other token is refused with one text, so that
an attacker cannot learn why.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPMessage
from threading import Lock
from typing import IO, Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry, decode

from tacit.errors import NotPermitted
from tacit.project import Issuer
from tacit.server.current_curator import Current
from tacit.server.refusal import Refused, unknown_caller
from tacit.server.token_policy import Role, TokenScope, is_principal
from tacit.store import PREFIX, Tokens

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384")
"""Accepted signatures: by key pairs only, never by a shared secret or without a signature."""

KINDS = ("RSA", "EC")
LEEWAY_SECONDS = 30
FETCH_SECONDS, LARGEST = 5, 2**20
FRESH_SECONDS, PAUSE_SECONDS = 600.0, 10.0
"""Seconds for which keys are cached, and after which an unknown key is looked up again."""


class Straight(HTTPRedirectHandler):
    """A handler that follows no redirect, so that keys come from the configured address."""

    def redirect_request(  # noqa: PLR0913, PLR0917 - as urllib calls it
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Return None, which stops the redirect."""


class OidcIdentity:
    """Identification of people by tokens of the OpenID provider ``issuer``.

    Guarantee: an accepted token is signed by a key that the issuer publishes, with an algorithm
    of `ALGORITHMS`, for our audience, and it is valid now. All other tokens are refused with
    the same text.
    """

    def __init__(self, issuer: Issuer, clock: Callable[[], int]) -> None:
        self._issuer = issuer
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched = float("-inf")
        self._lock = Lock()

    def who(self, token: str) -> tuple[str, Role]:
        """Return the principal and the role in ``token``."""
        try:
            claims = self._claims(token)
            match claims[self._issuer.principal], claims[self._issuer.role]:
                case str() as principal, str() as role:
                    return principal, Role(role)
        except (JoseError, KeyError, TypeError, ValueError, OSError):
            pass  # all reasons give the same error below
        raise NotPermitted("This token is not valid. Sign in again.")

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            found = decode(token, self._key_set(FRESH_SECONDS), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # it may be signed by a key that is newer than the cached keys
            found = decode(token, self._key_set(PAUSE_SECONDS), algorithms=ALGORITHMS)
        if "kid" not in found.header:
            raise KeyError
        JWTClaimsRegistry(
            now=lambda: self._clock() // 1000,
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._issuer.issuer},
            aud={"essential": True, "value": self._issuer.audience},
            exp={"essential": True},
            sub={"essential": True},
        ).validate(found.claims)
        return found.claims

    def _key_set(self, oldest_seconds: float) -> KeySet:
        """Return the issuer's keys, fetched again if they are older than this."""
        with self._lock:
            now = time.monotonic()
            if now - self._fetched > oldest_seconds or self._keys is None:
                self._fetched = now
                self._keys = self._fetch()
            return self._keys

    def _fetch(self) -> KeySet:
        request = build_opener(Straight()).open(self._issuer.keys, timeout=FETCH_SECONDS)
        with request as response:
            published = json.loads(response.read(LARGEST))
        pairs = [key for key in published["keys"] if key.get("kty") in KINDS]
        return KeySet.import_key_set({"keys": pairs})


# ------------------------------------------------------------------ callers

BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: the principal, the role and the scope of the token."""

    principal: str
    role: Role
    scope: TokenScope


class Gate:
    """Authentication of callers by their tokens."""

    def __init__(
        self, current: Current, clock: Callable[[], int], people: OidcIdentity | None = None
    ) -> None:
        self._current = current
        self._tokens = Tokens(current.curator.home.store)
        self._clock = clock
        self._people = people

    def caller(self, authorization: str) -> Caller:
        """Return the caller whose token is in the header ``authorization``.

        Raise `Refused`, always with the same text, if there is no valid token.
        """
        scheme, token = authorization[: len(BEARER)], authorization[len(BEARER) :].strip()
        if scheme.lower() != BEARER or not token:
            raise Refused(unknown_caller())
        try:
            return self._limit_owner(self._find(token))
        except NotPermitted:
            raise Refused(unknown_caller()) from None

    def _find(self, token: str) -> Caller:
        """Return the caller of one of our tokens, or of the provider if there is one."""
        if self._people is None or token.startswith(PREFIX):
            allowed = self._tokens.admit(token, self._clock())
            return Caller(allowed.principal, Role(allowed.role), TokenScope.of(allowed.scope))
        principal, role = self._people.who(token)
        if not is_principal(principal):
            raise NotPermitted(
                "The name in this token is not a valid principal: it must be printable, not "
                "too long, and must not begin with @. Ask the identity provider for another "
                "name."
            )
        return Caller(principal, role, TokenScope())

    def _limit_owner(self, caller: Caller) -> Caller:
        """Return the caller; the scope of an owner is limited to the datasets that they own."""
        if caller.role is not Role.OWNER:
            return caller
        curator = self._current.curator
        ledger, reached = curator.home.ledger, caller.scope.of_catalog(curator.catalog)
        owned = {
            people.name
            for people in reached.populations
            if caller.principal in ledger.owners(people.name)
        }
        names = tuple(each.name for each in reached.datasets if each.population in owned)
        return replace(caller, scope=replace(caller.scope, datasets=names))
