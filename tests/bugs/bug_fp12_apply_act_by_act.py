"""F-P12: each act of an owner is recorded by itself, and an error leaves those before it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tacit.ledger.govern import Governing

PLACE = "tacit.ledger.ledger:governing"
CAUGHT_BY = "tests/edges/test_declared_tables.py::test_who_owns_nothing_changes_nothing"
SHOWN = "acts of somebody who owns nothing, of 4 files: "

Governed = Callable[..., AbstractContextManager[Any]]


class ActByAct:
    """The acts of an owner, each in a unit of work of its own, as version 0.1.0 had them."""

    def __init__(self, store: Any, signed: Any, key: Any) -> None:
        self._store, self._signed, self._key = store, signed, key

    def __getattr__(self, name: str) -> Any:
        if name == "signer":
            return self._signed.by

        def act(*given: Any, **more: Any) -> Any:
            with self._store.writing() as work:
                return getattr(Governing(work, self._signed, self._key), name)(*given, **more)

        return act


def bug(_: Governed) -> Governed:
    @contextmanager
    def governing(store: Any, signed: Any, key: Any = None) -> Iterator[Any]:
        yield ActByAct(store, signed, key)

    return governing
