"""The key that seals states: from the environment, or from a file that only its owner reads."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import bindparam, insert, select, update

from tacit.errors import Conflict, InvalidValue, LedgerBroken, SecretMisuse
from tacit.numeric.entropy import fresh_bytes
from tacit.store.key_files import KEY_BYTES, decoded, key_in
from tacit.store.store import Store
from tacit.store.tables import states
from tacit.store.unit_of_work import Work

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


# ------------------------------------------------------------------ states
# Sealed states by name: bounding salts, the noise of streams, and the thresholds of holdouts.
#
# A state changes from version to version, and only whoever saw the last version writes the
# next. The table of states alone cannot tell that it is as new as the ledger beside it: a
# backup of one of them may be put back without the other, and a stream would then go on from
# noise that was used before. So the states of a population have a *witness*, which remembers
# the last version of each state outside of this table, in the same unit of work as the
# change. The ledger is that witness (`tacit.ledger.sealed_states`): it writes each change
# into the chain of the population. A state that is newer or older than its witness says is
# refused.

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
    """A state as it was found: what it holds, and at which version."""

    version: int
    value: bytes

    def __repr__(self) -> str:
        return f"<state at version {self.version}>"


NO_STATE = State(0, b"")
"""What is found where nothing was kept yet."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What a witness remembers of a state: its version, and the hash of its sealed bytes."""

    version: int
    digest: bytes


class Witness(Protocol):
    """Remembers the last version of each state of a population, outside of the states."""

    def remember(self, work: Work, population: str, name: str, last: Witnessed) -> None:
        """Write down the new version of a state, in the unit of work that changes it."""
        ...

    def recall(self, work: Work, population: str, name: str) -> Witnessed | None:
        """Return the last version that was written down; None where none ever was."""
        ...


class States:
    """States by name, sealed, and changed only by whoever saw the last version.

    Guarantee: of two who change the same version, one succeeds and the other is told; a version
    is never written twice, and a sealed state opens under its own name and version alone. The
    states of a population (`of`) are those that its witness remembers, or they are refused.
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
        """Return the states of one population, which its witness remembers."""
        return States(self._store, self._key, self._witness, population)

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of all states that begin with ``prefix``, in order."""
        with self._store.reading() as work:
            found = [name for (name,) in work.all(_NAMES, {})]
        return tuple(sorted(name for name in found if name.startswith(prefix)))

    def find(self, name: str) -> State:
        """Return the state of that name, or `NO_STATE`."""
        with self._store.reading() as work:
            return self.find_within(work, name)

    def change(self, name: str, seen: State, value: bytes) -> State:
        """Write the new state ``value``; `Conflict` where ``seen`` is no longer the last."""
        with self._store.writing() as work:
            return self.change_within(work, name, seen, value)

    def find_within(self, work: Work, name: str) -> State:
        """Return the state of that name, as a part of a unit of work."""
        row = work.one(_FIND, {"at": name})
        told = self._recall(work, name)
        if told is not None:
            return self._witnessed(name, row, told)
        if row is None:
            return NO_STATE
        version, sealed = row
        try:
            return State(version, self._key.open(sealed, _place(name, version)))
        except LedgerBroken:
            if self._witness is None or self._population is None:
                raise
        raise _refusal(
            name, "the ledger does not know of it, so that the ledger is an old copy"
        )

    def change_within(self, work: Work, name: str, seen: State, value: bytes) -> State:
        """Write the new state ``value``, as a part of a unit of work that writes."""
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
            raise Conflict("This state was changed by another; look again.")
        return State(version, value)

    def _recall(self, work: Work, name: str) -> Witnessed | None:
        if self._witness is None or self._population is None:
            return None
        return self._witness.recall(work, self._population, name)

    def _witnessed(self, name: str, row: tuple[int, bytes] | None, told: Witnessed) -> State:
        """Open the state that the witness remembers; refuse any other."""
        if row is None:
            raise _refusal(
                name, f"the ledger knows of its version {told.version}, and it is gone"
            )
        version, sealed = row
        if version != told.version:
            older = "the states are" if version < told.version else "the ledger is"
            raise _refusal(
                name,
                f"it is at version {version}, and the ledger knows of version {told.version}: "
                f"{older} an old copy",
            )
        if sha256(sealed).digest() != told.digest:
            raise _refusal(name, f"it is not the version {version} that the ledger knows of")
        return State(version, self._key.open(sealed, self._place(name, version)))

    def _place(self, name: str, version: int) -> bytes:
        if self._witness is None or self._population is None:
            return _place(name, version)
        people = self._population
        return f"tacit state 2\n{version}\n{len(people)}\n{people}\n{name}".encode()


def _place(name: str, version: int) -> bytes:
    """Return what a state without a witness is sealed for, as version 0.1.0 sealed all."""
    return f"tacit state 1\n{version}\n{name}".encode()


def _refusal(name: str, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"The state {name!r} and the ledger do not belong together: {why}. A ledger and its "
        "states are backed up and restored together, as one database. Put back the newest copy "
        "of both; where it is lost, declare what used this state anew, under a new charge."
    )
