"""Identify callers by their tokens: our own tokens, and those of an OpenID provider.

A token of an OpenID provider must be signed by a key that the provider publishes, be issued for
our audience, and be valid now (`OidcIdentity`). Our own tokens are looked up in the store.
`Gate` accepts both and returns a `Caller`; every other token is refused with one text, so that
an attacker cannot learn why.
"""

import json
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry, decode

from tacit.errors import NotPermitted
from tacit.ledger import sign_in_of
from tacit.project import Issuer, SetupSettings
from tacit.server.current_curator import Current
from tacit.server.grants import SignedIn, read_claims
from tacit.server.identity_keys import IdentityKeys, Log
from tacit.server.lanes import RETRY_SECONDS
from tacit.server.refusal import Refusal, Refused, Told, unknown_caller
from tacit.server.token_policy import (
    Role,
    TokenScope,
    fix_old_scope,
    fix_old_tokens,
    is_principal,
)
from tacit.store import PREFIX, Tokens, hash_of

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384")
"""Accepted signatures: by key pairs only, never by a shared secret or without a signature."""

LEEWAY_SECONDS = 30
HOUR_SECONDS = 3600


class KeysWanted(Exception):
    """A token names a key that is not known yet, and the keys are about to be fetched."""


class OidcIdentity:
    """Identification of people by tokens of the OpenID provider ``issuer``.

    Guarantee: an accepted token is signed by a key that the issuer publishes, with an algorithm
    of `ALGORITHMS`, for our audience, and it is valid now. All other tokens are refused with
    the same text.
    """

    def __init__(
        self,
        issuer: Issuer,
        clock: Callable[[], int],
        keys: IdentityKeys | None = None,
        log: Log = lambda _: None,
    ) -> None:
        self._issuer = issuer
        self._clock = clock
        self.keys = keys or IdentityKeys(issuer.keys, log)

    def who(self, token: str, *, last: bool = True) -> SignedIn:
        """Return the principal, the role and the scope of ``token``; this waits for nobody.

        Raise `KeysWanted` if the key of the token is not known, but may be known soon, unless
        this is the ``last`` try.
        """
        try:
            claims = self._claims(token, self._key_set(token, last=last))
            return read_claims(claims, self._issuer)
        except (JoseError, LookupError, TypeError, ValueError, RecursionError):
            pass  # all reasons give the same error below
        raise NotPermitted("This token is not valid. Sign in again.")

    def sign_in(self, token: str) -> str:
        """Return the text about the sign-in with an accepted token, which is signed."""
        return sign_in_of(self._issuer.issuer, token)

    def _claims(self, token: str, keys: KeySet) -> dict[str, Any]:
        found = decode(token, keys, algorithms=ALGORITHMS)
        now = self._clock() // 1000
        JWTClaimsRegistry(
            now=lambda: now,
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._issuer.issuer},
            aud={"essential": True, "value": self._issuer.audience},
            exp={"essential": True},
            sub={"essential": True},
        ).validate(found.claims)
        longest = self._issuer.longest_hours * HOUR_SECONDS + LEEWAY_SECONDS
        issued = found.claims.get("iat", now)
        if not found.claims["exp"] - min(now, issued) <= longest:  # also if it is NaN
            raise ValueError
        return found.claims

    def _key_set(self, token: str, *, last: bool) -> KeySet:
        """Return the issuer's keys, if the key that ``token`` names is among them."""
        name, keys = _key_named(token), self.keys.key_set()
        if keys is not None and name in {key.kid for key in keys.keys}:
            return keys
        if self.keys.ask_for_fetch() and not last:
            raise KeysWanted
        if keys is None:
            raise Refused(_no_keys())
        raise KeyError


def _key_named(token: str) -> str:
    """Return the id of the key that a token names; raise an error if it names none."""
    head = token.split(".", 1)[0]
    name = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"]
    if not isinstance(name, str):
        raise TypeError
    return name


def _no_keys() -> Refusal:
    """Return the error for tokens of a provider whose keys were not fetched yet."""
    told = Told(
        code="identity_unavailable",
        message="The keys of the identity provider could not be fetched, so that its tokens "
        "cannot be checked.",
        next="Send the same request again later.",
    )
    return Refusal(503, told, {"Retry-After": RETRY_SECONDS})


# ------------------------------------------------------------------ callers

BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: the principal, the role and the scope of the token."""

    principal: str
    role: Role
    scope: TokenScope
    sign_in: str = ""
    """The issuer and a hash of the token of an identity provider; empty for our own tokens."""
    may_set_up: bool = False
    """Whether the caller is an owner who may set up populations."""

    @property
    def account(self) -> str:
        """The name under which requests are counted and take turns.

        It is the principal with the role and the populations of the token. Owners of other
        populations can issue tokens in anybody's name, and requests with such a token must not
        use up the limits of the person who has that name.
        """
        people = sorted(set(self.scope.populations or ()))
        return json.dumps([self.principal, self.role.value, people])


RECHECK_SECONDS = 1.0
"""A token that was checked longer ago than this is checked again before a charge."""


class WaitingCaller:
    """A caller whose request waits, and whose token may be revoked or expire meanwhile.

    ``again`` authenticates the caller once more.
    """

    def __init__(
        self,
        caller: Caller,
        again: Callable[[], Caller],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.principal = caller.principal
        self.account = caller.account
        self._caller = caller
        self._again = again
        self._clock = clock
        self._checked = clock()

    def check(self) -> None:
        """Raise `Refused` if the token is no longer valid; this may read the store."""
        now = self._clock()
        if now - self._checked > RECHECK_SECONDS:
            if self._again() != self._caller:
                raise Refused(unknown_caller())
            self._checked = now


class Gate:
    """Authentication of callers by their tokens."""

    def __init__(
        self,
        current: Current,
        clock: Callable[[], int],
        people: OidcIdentity | None = None,
        setup: SetupSettings | None = None,
    ) -> None:
        self._setup_owners = frozenset() if setup is None else frozenset(setup.owners)
        self._current = current
        self._tokens = Tokens(current.curator.home.store)
        self._clock = clock
        self._people = people
        self._first = current.curator.catalog
        declared = current.curator.home.ledger.declarations()
        fix_old_tokens(self._tokens, self._first, declared, clock())

    def caller(self, authorization: str, *, last: bool = True) -> Caller:
        """Return the caller whose token is in the header ``authorization``.

        Raise `Refused`, always with the same text, if there is no valid token. Raise
        `KeysWanted`, unless this is the ``last`` try, if the provider may have a new key.
        """
        scheme, token = authorization[: len(BEARER)], authorization[len(BEARER) :].strip()
        if scheme.lower() != BEARER or not token:
            raise Refused(unknown_caller())
        try:
            return self._limit_owner(self._find(token, last=last))
        except NotPermitted:
            raise Refused(unknown_caller()) from None

    def fetches(self) -> int:
        """Return the number of times that the provider's keys were fetched."""
        return 0 if self._people is None else self._people.keys.rounds

    def _find(self, token: str, *, last: bool) -> Caller:
        """Return the caller of one of our tokens, or of the provider if there is one."""
        if self._people is None or token.startswith(PREFIX):
            allowed = self._tokens.admit(token, self._clock())
            scope = TokenScope.of(allowed.scope)
            if scope.populations is None:  # an earlier version issued it since we started
                self._fix(token, allowed.scope)
                scope = TokenScope.of(self._tokens.admit(token, self._clock()).scope)
            return Caller(allowed.principal, Role(allowed.role), scope)
        principal, role, scope = self._people.who(token, last=last)
        if not is_principal(principal):
            raise NotPermitted(
                "The name in this token is not a valid principal: it must be printable, in "
                "the normal form NFC, not too long, without spaces around it, and must not "
                "begin with @. Ask the identity provider for another name."
            )
        if scope.datasets is not None:
            # datasets of the same name that came after our settings were read are other ones
            names = scope.names_in(self._first)
            scope = replace(scope, datasets=names).fix(self._first)
        return Caller(principal, role, scope, self._people.sign_in(token))

    def _fix(self, token: str, before: str) -> None:
        """Limit a token of an earlier version to what it reaches now."""
        curator = self._current.curator
        declared = curator.home.ledger.declarations()
        scope = fix_old_scope(TokenScope.of(before), curator.catalog, declared)
        self._tokens.set_scope(hash_of(token), before, scope.text)

    def _limit_owner(self, caller: Caller) -> Caller:
        """Return the caller; the scope of an owner is limited to the datasets that they own."""
        if caller.role is not Role.OWNER:  # the right to set up means nothing in other roles
            return replace(caller, scope=replace(caller.scope, setup=False))
        signed_in = bool(caller.sign_in) and caller.principal in self._setup_owners
        may_set_up = caller.scope.setup or signed_in
        curator = self._current.curator
        ledger, reached = curator.home.ledger, caller.scope.of_catalog(curator.catalog)
        owned = {
            people.name
            for people in reached.populations
            if caller.principal in ledger.owners(people.name)
        }
        names = tuple(each.name for each in reached.datasets if each.population in owned)
        scope = replace(caller.scope, datasets=names, populations=None, setup=False)
        return replace(caller, scope=scope.fix(curator.catalog), may_set_up=may_set_up)
