"""F-P20: a state is swapped only where a share is told, so that many decide by the same one."""

from collections.abc import Callable
from typing import Any

from tacit.errors import Conflict
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.sealed_state import States

PLACE = "tacit.ledger.ledger:Ledger.take_turn"
CAUGHT_BY = (
    "tests/edges/test_parallel_holdout.py::test_nobody_decides_while_another_does[sqlite]"
)
SHOWN = "decisions made during another one: 1"

Take = Callable[..., StoredRelease]


def bug(_: Take) -> Take:
    def take_turn(
        self: Ledger, charge: Charge, states: States, name: str, decide: Any
    ) -> StoredRelease:
        while True:
            found = states.find(name)
            body, value = decide(found)
            try:
                if value != found.value:
                    states.change(name, found, value)
            except Conflict:
                continue
            return self.keep(charge, body)

    return take_turn
