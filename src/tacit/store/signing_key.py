"""The key by which a project signs what it says of itself, and how anybody checks that."""

from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from tacit.errors import InvalidValue, SecretMisuse
from tacit.store.key_file import KEY_BYTES, key_in


class SigningKey:
    """Ed25519 under one key, which is never printed.

    Reference: RFC 8032 (Ed25519).

    Example:
        >>> key = SigningKey(bytes(32))
        >>> is_signed(b"kept", key.sign(b"kept"), key.public)
        True
        >>> is_signed(b"broken", key.sign(b"kept"), key.public)
        False
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidValue(f"A signing key has {KEY_BYTES} bytes, and {len(key)} are here.")
        self._key = Ed25519PrivateKey.from_private_bytes(key)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """The key in the file ``path``, made there where there is none."""
        return cls(key_in(path))

    @property
    def public(self) -> bytes:
        """What others check signatures by; it may be known to all."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """The signature under ``text``."""
        return self._key.sign(text)

    def __repr__(self) -> str:
        return "<signing key>"

    def __reduce__(self) -> str:
        raise SecretMisuse("A signing key stays in its process.")


def is_signed(text: bytes, signature: bytes, public: bytes) -> bool:
    """Whether ``signature`` is one under ``text``, by whoever has the key of ``public``."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
