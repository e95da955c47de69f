"""F-P15: a state that is newer than the ledger is noticed, and an old one is used again."""

from collections.abc import Callable

from tacit.store.sealed_state import State, States, Witnessed

PLACE = "tacit.store.sealed_state:States._open_witnessed"
CAUGHT_BY = (
    "tests/edges/test_rolled_back.py::"
    "test_a_version_that_the_ledger_does_not_know_of_is_refused[states]"
)
SHOWN = "LedgerBroken"

Look = Callable[[States, str, tuple[int, bytes] | None, Witnessed], State]


def bug(original: Look) -> Look:
    def witnessed(
        self: States, name: str, row: tuple[int, bytes] | None, told: Witnessed
    ) -> State:
        if row is not None and row[0] <= told.version:
            return State(row[0], self._key.open(row[1], self._place(name, row[0])))
        return original(self, name, row, told)

    return witnessed
