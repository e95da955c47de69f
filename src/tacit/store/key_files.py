"""Files that hold a key each: made once, and read by their owner alone."""

import os
import stat
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from tacit.errors import InvalidValue, SecretMisuse
from tacit.numeric.entropy import fresh_bytes
from tacit.store.connect import sync_folder

KEY_BYTES = 32
OTHERS = 0o077


def key_in(path: Path) -> bytes:
    """The key in the file ``path``, made there where there is none."""
    if not path.exists():
        _make(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        raise InvalidValue(f"{path} may be read by others (mode {mode:o}); chmod 600 {path}")
    return decoded(path.read_bytes(), str(path))


def decoded(text: str | bytes, place: str) -> bytes:
    """The bytes of a key that is written in base64, and where it was found."""
    try:
        return b64decode(text.strip(), validate=True)
    except (NotBase64, ValueError) as error:
        raise InvalidValue(f"{place} does not hold base64.") from error


def _make(path: Path) -> None:
    """Put a new key at ``path``, whole and once, however many processes start at once."""
    with NamedTemporaryFile(dir=path.parent, prefix=".key") as file:  # of mode 600
        file.write(b64encode(fresh_bytes(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):  # another was first, and theirs is the key
            os.link(file.name, path)
    sync_folder(path.parent)


# ------------------------------------------------------------------ signing key
# The key by which a project signs what it says of itself, and how anybody checks that.


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
