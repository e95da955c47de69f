"""The key that seals states: from the environment, or from a file that only its owner reads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacit.errors import InvalidValue, LedgerBroken, SecretMisuse
from tacit.numeric.entropy import fresh_bytes
from tacit.store.key_file import KEY_BYTES, decoded, key_in

VARIABLE = "TACIT_STATE_KEY"
NONCE_BYTES = 12


class SealingKey:
    """AES-256-GCM under one key, which is never printed.

    Guarantee: what was sealed for one place opens at that place alone, unchanged, or not at
    all.
    Reference: NIST SP 800-38D; nonces are random, so one key seals up to 2**32 states.

    Example:
        >>> key = SealingKey(bytes(32))
        >>> key.open(key.seal(b"a salt", b"visits 1"), b"visits 1")
        b'a salt'
    """

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidValue(f"A sealing key has {KEY_BYTES} bytes, and {len(key)} are here.")
        self._cipher = AESGCM(key)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The key in the variable ``TACIT_STATE_KEY``, in base64."""
        given = (os.environ if environment is None else environment).get(VARIABLE)
        if not given:
            raise InvalidValue(f"{VARIABLE} is not set; it holds 32 bytes in base64.")
        return cls(decoded(given, VARIABLE))

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """The key in the file ``path``, made there where there is none."""
        return cls(key_in(path))

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """``plain``, unreadable to all but this key, for ``place`` alone."""
        nonce = fresh_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """What was sealed for ``place``."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place)
        except (InvalidTag, ValueError) as error:
            raise LedgerBroken(
                "A sealed state does not open: it was changed or moved, or this is another key."
            ) from error

    def __repr__(self) -> str:
        return "<sealing key>"

    def __reduce__(self) -> str:
        raise SecretMisuse("A sealing key stays in its process.")
