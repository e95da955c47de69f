"""Who may come in: tokens of 256 random bits, shown once and kept as hashes."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import bindparam, insert, select, update

from tacit.errors import NotPermitted
from tacit.numeric.entropy import fresh_bytes
from tacit.store.store import Store
from tacit.store.tables import tokens

PREFIX = "tacit_"
"""How a token begins, so that a scanner finds one that was committed by mistake."""

TOKEN_BYTES = 32

_FIND = select(
    tokens.c.principal, tokens.c.role, tokens.c.scope, tokens.c.expires, tokens.c.revoked
).where(tokens.c.hash == bindparam("at"))
_ALL = select(
    tokens.c.hash, tokens.c.principal, tokens.c.role, tokens.c.scope, tokens.c.expires
).where(tokens.c.revoked == 0, tokens.c.expires > bindparam("now"))
_MAKE = insert(tokens)
_REVOKE = update(tokens).where(tokens.c.hash == bindparam("at")).values(revoked=1)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What a token allows: to whom, in which role, within which scope, and until when.

    ``scope`` is canonical text that the server reads; ``expires`` is in milliseconds since
    1970.
    """

    principal: str
    role: str
    scope: str
    expires: int


class Tokens:
    """Tokens by their hashes: whoever reads the store cannot come in with what they find."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def issue(self, allowed: AccessToken) -> str:
        """A new token, which is not kept and cannot be shown again."""
        token = PREFIX + urlsafe_b64encode(fresh_bytes(TOKEN_BYTES)).rstrip(b"=").decode()
        values = {
            "hash": hash_of(token),
            "principal": allowed.principal,
            "role": allowed.role,
            "scope": allowed.scope,
            "expires": allowed.expires,
            "revoked": 0,
        }
        with self._store.writing() as work:
            work.run(_MAKE, values)
        return token

    def admit(self, token: str, now: int) -> AccessToken:
        """What ``token`` allows; unknown, revoked and expired ones are refused in one wording.

        The look-up is by hash, so its time tells nothing about a token.
        """
        with self._store.looking() as work:
            row = work.one(_FIND, {"at": hash_of(token)})
        if row is not None:
            principal, role, scope, expires, revoked = row
            if not revoked and now < expires:
                return AccessToken(principal, role, scope, expires)
        raise NotPermitted("This token is not valid; ask an owner for a new one.")

    def revoke(self, token: str) -> None:
        """End a token."""
        self.revoke_hash(hash_of(token))

    def revoke_hash(self, hash_: bytes) -> None:
        """End the token whose hash this is."""
        with self._store.writing() as work:
            work.run(_REVOKE, {"at": hash_})

    def all(self, now: int) -> dict[bytes, AccessToken]:
        """The tokens that are valid, by their hashes."""
        with self._store.reading() as work:
            rows = work.all(_ALL, {"now": now})
        return {hash_: AccessToken(*allowed) for hash_, *allowed in rows}


def hash_of(token: str) -> bytes:
    """What is kept of a token, and what it is called by those who may not use it."""
    return sha256(token.encode(errors="surrogatepass")).digest()
