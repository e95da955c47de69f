"""Sealed states: private state that is stored encrypted and authenticated, by name and version.

Bounding salts, the noise of streams and the thresholds of holdouts are private, but must
survive a restart. They are encrypted with a key from the environment, or from a file that only
its owner can read.

A state changes from version to version. A writer must have seen the last version in order to
write the next. The table of states alone cannot show that it is as recent as the ledger: a
backup of one may be restored without the other, and a stream would then continue from noise
that was used before. So the states of a population have a *witness*, which records the last
version of each state outside of this table, in the same unit of work as the change. The ledger
is that witness (`tacit.ledger.sealed_states`): it appends each change to the chain of the
population. A state that is newer or older than its witness says is refused.
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import bindparam, insert, select, update

from tacit.errors import Conflict, InvalidValue, LedgerBroken, SecretMisuse
from tacit.numeric.entropy import fresh_bytes
from tacit.store.key_files import KEY_BYTES, SigningKey, decode_key, key_in
from tacit.store.store import Store
from tacit.store.tables import states
from tacit.store.unit_of_work import Work

VARIABLE = "TACIT_STATE_KEY"
NONCE_BYTES = 12
SIGNER = b"tacit signer of anchors and checkpoints 1"
"""The purpose for which a signing key is derived from the sealing key."""


class SealingKey:
    """An AES-256-GCM key, which is never printed or pickled.

    Guarantee: bytes that were sealed for one place can be opened only at that place, unchanged.
    Reference: NIST SP 800-38D; nonces are random, so one key seals up to 2**32 states.

    Example:
        >>> key = SealingKey(bytes(32))
        >>> key.open(key.seal(b"a salt", b"visits 1"), b"visits 1")
        b'a salt'
    """

    __slots__ = ("_cipher", "signer")

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidValue(
                f"A sealing key must have {KEY_BYTES} bytes, but {len(key)} were given."
            )
        self._cipher = AESGCM(key)
        self.signer = SigningKey(_derive(key, SIGNER))
        """The key that signs anchors and checkpoints: all machines of a store share it."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the key from the variable ``TACIT_STATE_KEY``, in base64."""
        given = (os.environ if environment is None else environment).get(VARIABLE)
        if not given:
            raise InvalidValue(f"{VARIABLE} is not set. It must hold 32 bytes in base64.")
        return cls(decode_key(given, VARIABLE))

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the key in the file ``path``, and create the file if there is none."""
        return cls(key_in(path))

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt ``plain``; authenticate with it ``place``, its public name and version."""
        nonce = fresh_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Decrypt bytes that were sealed for the name and version in ``place``."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place)
        except (InvalidTag, ValueError) as error:
            raise LedgerBroken(
                "A sealed state cannot be decrypted: it was changed or moved, or the sealing "
                "key is a different one. Use the key with which the store was made, or restore "
                "the store from a backup."
            ) from error

    def __repr__(self) -> str:
        return "<sealing key>"

    def __reduce__(self) -> str:
        raise SecretMisuse(
            "A sealing key must not leave its process, so it is not pickled. Read the key "
            "again in the other process."
        )


def _derive(key: bytes, purpose: bytes) -> bytes:
    """Return another key for ``purpose``, from which ``key`` cannot be computed.

    Reference: RFC 5869 (HKDF).
    """
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(key)


# ------------------------------------------------------------------ states

_FIND = select(states.c.version, states.c.sealed).where(states.c.name == bindparam("at"))
_NAMES = select(states.c.name)
_MAKE = insert(states)
_CHANGE = (
    update(states)
    .where(states.c.name == bindparam("at"), states.c.version == bindparam("expected"))
    .values(version=bindparam("next"), sealed=bindparam("sealed"))
)


@dataclass(frozen=True, slots=True)
class State:
    """A decrypted state: its version and its value."""

    version: int
    value: bytes

    def __repr__(self) -> str:
        return f"<state at version {self.version}>"


NO_STATE = State(0, b"")
"""The state of a name under which nothing was stored yet."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """The record of a witness about a state: its version and the hash of its sealed bytes."""

    version: int
    digest: bytes


class Witness(Protocol):
    """A record of the last version of each state of a population, outside of the states."""

    def remember(self, work: Work, population: str, name: str, last: Witnessed) -> None:
        """Record the new version of a state, in the unit of work that changes it."""
        ...

    def recall(self, work: Work, population: str, name: str) -> Witnessed | None:
        """Return the last version that was recorded, or None if there is none."""
        ...


class States:
    """Sealed states by name, with optimistic locking by version.

    Guarantee: of two writers that change the same version, one succeeds and the other gets a
    `Conflict`. A version is never written twice, and a sealed state can be opened only under
    its own name and version. A state of a population (`of`) that differs from the record of its
    witness is refused.
    """

    def __init__(
        self,
        store: Store,
        key: SealingKey,
        witness: Witness | None = None,
        population: str | None = None,
    ) -> None:
        self._store = store
        self._key = key
        self._witness = witness
        self._population = population

    def of(self, population: str) -> "States":
        """Return the states of one population, whose changes the witness records."""
        return States(self._store, self._key, self._witness, population)

    def seal_text(self, text: str, place: str) -> str:
        """Return ``text`` sealed for ``place``, for a column of texts; see `open_text`."""
        return b64encode(self._key.seal(text.encode(), place.encode())).decode("ascii")

    def open_text(self, sealed: str, place: str) -> str:
        """Return the text that `seal_text` sealed for the same place."""
        return self._key.open(b64decode(sealed), place.encode()).decode()

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of states that begin with ``prefix``, in order."""
        with self._store.reading() as work:
            found = [name for (name,) in work.all(_NAMES, {})]
        return tuple(sorted(name for name in found if name.startswith(prefix)))

    def find(self, name: str) -> State:
        """Return the state ``name``, or `NO_STATE`."""
        with self._store.reading() as work:
            return self.find_within(work, name)

    def change(self, name: str, seen: State, value: bytes) -> State:
        """Write ``value`` as the next version; raise `Conflict` if ``seen`` is out of date."""
        with self._store.writing() as work:
            return self.change_within(work, name, seen, value)

    def find_within(self, work: Work, name: str) -> State:
        """Return the state ``name``, within a unit of work."""
        row = work.one(_FIND, {"at": name})
        recorded = self._recall(work, name)
        if recorded is not None:
            return self._open_witnessed(name, row, recorded)
        if row is None:
            return NO_STATE
        version, sealed = row
        try:
            return State(version, self._key.open(sealed, _place(name, version)))
        except LedgerBroken:
            if self._witness is None or self._population is None:
                raise
        raise _refusal(
            name, "the ledger has no record of this state, so the ledger is an old copy"
        )

    def change_within(self, work: Work, name: str, seen: State, value: bytes) -> State:
        """Write ``value`` as the next version, within a unit of work that writes."""
        version = seen.version + 1
        sealed = self._key.seal(value, self._place(name, version))
        if self._witness is not None and self._population is not None:
            last = Witnessed(version, sha256(sealed).digest())
            self._witness.remember(work, self._population, name, last)
        if seen.version == 0:
            work.run(_MAKE, {"name": name, "version": version, "sealed": sealed})
        elif not work.run(
            _CHANGE,
            {"at": name, "expected": seen.version, "next": version, "sealed": sealed},
        ):
            raise Conflict("Another writer changed this state first; try again.")
        return State(version, value)

    def _recall(self, work: Work, name: str) -> Witnessed | None:
        if self._witness is None or self._population is None:
            return None
        return self._witness.recall(work, self._population, name)

    def _open_witnessed(
        self, name: str, row: tuple[int, bytes] | None, recorded: Witnessed
    ) -> State:
        """Decrypt the state that the witness has recorded; refuse any other."""
        if row is None:
            raise _refusal(
                name, f"the ledger records version {recorded.version}, but the state is missing"
            )
        version, sealed = row
        if version != recorded.version:
            older = "the states are" if version < recorded.version else "the ledger is"
            raise _refusal(
                name,
                f"the state is at version {version}, but the ledger records version "
                f"{recorded.version}: {older} an old copy",
            )
        if sha256(sealed).digest() != recorded.digest:
            raise _refusal(
                name, f"the stored version {version} is not the one that the ledger records"
            )
        return State(version, self._key.open(sealed, self._place(name, version)))

    def _place(self, name: str, version: int) -> bytes:
        if self._witness is None or self._population is None:
            return _place(name, version)
        people = self._population
        return f"tacit state 2\n{version}\n{len(people)}\n{people}\n{name}".encode()


def _place(name: str, version: int) -> bytes:
    """Return the authenticated data of a state without a witness, as in version 0.1.0."""
    return f"tacit state 1\n{version}\n{name}".encode()


def _refusal(name: str, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"The state {name!r} and the ledger do not belong together: {why}. A ledger and its "
        "states must be backed up and restored together, as one database. Restore the newest "
        "copy of both. If it is lost, declare the stream or holdout that used it again, "
        "under a new charge."
    )
