"""People by the tokens of an OpenID provider: signed, for us, and not expired."""

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
"""Signatures by key pairs alone: a shared secret, or none, signs nothing here."""

KINDS = ("RSA", "EC")
LEEWAY_SECONDS = 30
FETCH_SECONDS, LARGEST = 5, 2**20
FRESH_SECONDS, PAUSE_SECONDS = 600.0, 10.0
"""How long keys are kept, and how soon they are fetched again for one that is unknown."""


class Straight(HTTPRedirectHandler):
    """Follows no redirection: keys come from where the project file says."""

    def redirect_request(  # noqa: PLR0913, PLR0917 - as urllib calls it
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Nowhere."""


class OidcIdentity:
    """Tells who somebody is by a token of ``issuer``, and in which role.

    Guarantee: signed by a key that the issuer publishes, by an algorithm of our list, for our
    audience, and valid now. What is missing or another is refused in one wording.
    """

    def __init__(self, issuer: Issuer, clock: Callable[[], int]) -> None:
        self._issuer = issuer
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched = float("-inf")
        self._lock = Lock()

    def who(self, token: str) -> tuple[str, Role]:
        """The principal and the role that ``token`` tells."""
        try:
            claims = self._claims(token)
            match claims[self._issuer.principal], claims[self._issuer.role]:
                case str() as principal, str() as role:
                    return principal, Role(role)
        except (JoseError, KeyError, TypeError, ValueError, OSError):
            pass  # told below, in one wording
        raise NotPermitted("This token is not valid; sign in again.")

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            found = decode(token, self._key_set(FRESH_SECONDS), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # it may be signed by a key that is newer than those we have
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
        """The issuer's keys, fetched again where they are older than this."""
        with self._lock:
            now = time.monotonic()
            if now - self._fetched > oldest_seconds or self._keys is None:
                self._fetched = now
                self._keys = self._fetch()
            return self._keys

    def _fetch(self) -> KeySet:
        opened = build_opener(Straight()).open(self._issuer.keys, timeout=FETCH_SECONDS)
        with opened as answer:
            told = json.loads(answer.read(LARGEST))
        pairs = [key for key in told["keys"] if key.get("kty") in KINDS]
        return KeySet.import_key_set({"keys": pairs})


# ------------------------------------------------------------------ caller
# Who calls: a principal in a role, within a scope; and how a token tells.

BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in a role, within a scope."""

    principal: str
    role: Role
    scope: TokenScope


class Gate:
    """Tells callers by their tokens; whoever has none that is valid stays outside."""

    def __init__(
        self, current: Current, clock: Callable[[], int], people: OidcIdentity | None = None
    ) -> None:
        self._current = current
        self._tokens = Tokens(current.curator.home.store)
        self._clock = clock
        self._people = people

    def caller(self, authorization: str) -> Caller:
        """Whose token ``authorization`` bears; all others are refused in one wording."""
        scheme, token = authorization[: len(BEARER)], authorization[len(BEARER) :].strip()
        if scheme.lower() != BEARER or not token:
            raise Refused(unknown_caller())
        try:
            return self._within(self._known(token))
        except NotPermitted:
            raise Refused(unknown_caller()) from None

    def _known(self, token: str) -> Caller:
        """Whose token it is: one of ours, or, where there is a provider, one of theirs."""
        if self._people is None or token.startswith(PREFIX):
            allowed = self._tokens.admit(token, self._clock())
            return Caller(allowed.principal, Role(allowed.role), TokenScope.of(allowed.scope))
        principal, role = self._people.who(token)
        if not is_principal(principal):
            raise NotPermitted("Nobody can be called so.")
        return Caller(principal, role, TokenScope())

    def _within(self, caller: Caller) -> Caller:
        """The caller, as an owner within what the ledger says that they own."""
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
