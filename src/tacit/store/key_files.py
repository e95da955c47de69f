"""Key files, and the key with which a project signs statements about itself.

A key file is created once, holds one key in base64, and must be readable by its owner only.
"""

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
    """Return the key in the file ``path``, and create the file if there is none."""
    if not path.exists():
        _make(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        raise InvalidValue(
            f"{path} can be read by other users (mode {mode:o}). Run `chmod 600 {path}`."
        )
    return decode_key(path.read_bytes(), str(path))


def decode_key(text: str | bytes, place: str) -> bytes:
    """Decode a key from base64; ``place`` names its origin in the error message."""
    try:
        return b64decode(text.strip(), validate=True)
    except (NotBase64, ValueError) as error:
        raise InvalidValue(
            f"{place} does not contain valid base64. Restore the key from a backup."
        ) from error


def _make(path: Path) -> None:
    """Create the file ``path`` with a new key, atomically.

    If several processes do this at once, the first one wins and the others use its key.
    """
    with NamedTemporaryFile(dir=path.parent, prefix=".key") as file:  # has mode 600
        file.write(b64encode(fresh_bytes(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first; its key is used
            os.link(file.name, path)
    sync_folder(path.parent)


# ------------------------------------------------------------------ signatures


class SigningKey:
    """An Ed25519 signing key, which is never printed or pickled.

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
            raise InvalidValue(
                f"A signing key must have {KEY_BYTES} bytes, but {len(key)} were given."
            )
        self._key = Ed25519PrivateKey.from_private_bytes(key)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the key in the file ``path``, and create the file if there is none."""
        return cls(key_in(path))

    @classmethod
    def in_file(cls, path: Path) -> Self:
        """Read the key in the file ``path``; raise `InvalidValue` if there is none."""
        try:
            if path.exists():
                return cls(key_in(path))
        except OSError as error:
            raise InvalidValue(
                f"The key file {path} cannot be read. Only its owner can: name a file of your "
                "own."
            ) from error
        raise InvalidValue(f"There is no key file {path}. Make one: `tacit key new {path}`.")

    @classmethod
    def make_file(cls, path: Path) -> Self:
        """Create the file ``path`` with a new key; refuse to overwrite a file."""
        if path.exists():
            raise InvalidValue(
                f"{path} already exists, and a key that is overwritten is lost. Name another "
                "file."
            )
        try:
            return cls(key_in(path))
        except OSError as error:
            raise InvalidValue(
                f"The key file {path} cannot be created. Name a file in a folder of your own."
            ) from error

    @property
    def public(self) -> bytes:
        """The public key, by which anybody can verify signatures."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """Return the signature of ``text``."""
        return self._key.sign(text)

    def __repr__(self) -> str:
        return "<signing key>"

    def __reduce__(self) -> str:
        raise SecretMisuse(
            "A signing key must not leave its process, so it is not pickled. Read the key "
            "again in the other process."
        )


def is_signed(text: bytes, signature: bytes, public: bytes) -> bool:
    """Return whether ``signature`` is a valid signature of ``text`` for the key ``public``."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
