"""Access tokens: 256 random bits, shown once, of which only the hash is stored."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import bindparam, insert, select, update

from tacit.errors import NotPermitted
from tacit.numeric.entropy import fresh_bytes
from tacit.store.store import Store
from tacit.store.tables import tokens

PREFIX = "tacit_"
"""The prefix of every token, so that a scanner finds one that was committed by mistake."""

TOKEN_BYTES = 32

_FIND = select(
    tokens.c.principal, tokens.c.role, tokens.c.scope, tokens.c.expires, tokens.c.revoked
).where(tokens.c.hash == bindparam("at"))
_ALL = select(
    tokens.c.hash, tokens.c.principal, tokens.c.role, tokens.c.scope, tokens.c.expires
).where(tokens.c.revoked == 0, tokens.c.expires > bindparam("now"))
_MAKE = insert(tokens)
_REVOKE = update(tokens).where(tokens.c.hash == bindparam("at")).values(revoked=1)
_SET_SCOPE = (
    update(tokens)
    .where(tokens.c.hash == bindparam("at"), tokens.c.scope == bindparam("before"))
    .values(scope=bindparam("after"))
)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The rights of a token: its principal, role, scope and time of expiry.

    ``scope`` is text that the server parses; ``expires`` is in milliseconds since 1970.
    """

    principal: str
    role: str
    scope: str
    expires: int


class Tokens:
    """The tokens of a store. A person who reads the store finds only hashes, and no token."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def issue(self, allowed: AccessToken) -> str:
        """Return a new token, which is not stored and cannot be shown again."""
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
        """Return the rights of ``token``; raise `NotPermitted` if it is not valid.

        Unknown, revoked and expired tokens give the same message. The token is looked up by its
        hash, so the time of the query reveals nothing about valid tokens.
        """
        with self._store.looking() as work:
            row = work.one(_FIND, {"at": hash_of(token)})
        if row is not None:
            principal, role, scope, expires, revoked = row
            if not revoked and now < expires:
                return AccessToken(principal, role, scope, expires)
        raise NotPermitted("This token is not valid. Ask an owner for a new token.")

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        self.revoke_hash(hash_of(token))

    def revoke_hash(self, hash_: bytes) -> None:
        """Revoke the token with this hash."""
        with self._store.writing() as work:
            work.run(_REVOKE, {"at": hash_})

    def set_scope(self, hash_: bytes, before: str, after: str) -> None:
        """Replace the scope ``before`` of a token; any other scope stays as it is."""
        with self._store.writing() as work:
            work.run(_SET_SCOPE, {"at": hash_, "before": before, "after": after})

    def all(self, now: int) -> dict[bytes, AccessToken]:
        """Return the rights of all valid tokens, by their hashes."""
        with self._store.reading() as work:
            rows = work.all(_ALL, {"now": now})
        return {hash_: AccessToken(*allowed) for hash_, *allowed in rows}


def hash_of(token: str) -> bytes:
    """Return the hash of a token, which is stored and serves as the token's public id."""
    return sha256(token.encode(errors="surrogatepass")).digest()
