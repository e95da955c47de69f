"""What must be kept and not be read: bounding salts, and the noise that streams will use."""

from dataclasses import dataclass

from sqlalchemy import bindparam, insert, select, update

from tacit.errors import Conflict
from tacit.store.sealing_key import SealingKey
from tacit.store.store import Store
from tacit.store.tables import states

_FIND = select(states.c.version, states.c.sealed).where(states.c.name == bindparam("at"))
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


class States:
    """States by name, sealed, and changed only by who saw the last one.

    Guarantee: of two who change the same version, one succeeds and the other is told; a version
    is never written twice, and a sealed state opens under its own name and version alone.
    """

    def __init__(self, store: Store, key: SealingKey) -> None:
        self._store = store
        self._key = key

    def find(self, name: str) -> State:
        """The state of that name, or `NO_STATE`."""
        with self._store.looking() as work:
            row = work.one(_FIND, {"at": name})
        if row is None:
            return NO_STATE
        version, sealed = row
        return State(version, self._key.open(sealed, _place(name, version)))

    def change(self, name: str, seen: State, value: bytes) -> State:
        """The new state ``value``; `Conflict` where ``seen`` is no longer the last one."""
        version = seen.version + 1
        sealed = self._key.seal(value, _place(name, version))
        with self._store.writing() as work:
            if seen.version == 0:
                work.run(_MAKE, {"name": name, "version": version, "sealed": sealed})
            elif not work.run(
                _CHANGE,
                {"at": name, "expected": seen.version, "next": version, "sealed": sealed},
            ):
                raise Conflict("This state was changed by another; look again.")
        return State(version, value)


def _place(name: str, version: int) -> bytes:
    return f"tacit state 1\n{version}\n{name}".encode()
