"""Decide an answer by a sealed state, one question at a time, whoever asks at once.

Some mechanisms have a memory: a holdout counts how often it told something, and once that is
used up it must tell nothing more. Their privacy proof speaks of questions that are asked one
after the other. So each decision takes its turn: one unit of work waits for its place in the
chain of the population, reads the state, decides, writes the state that follows and stores the
answer. Two processes, or two servers, that decide at the same moment are put in order by the
database, and the second one sees the state that the first one wrote, whatever it decided.

The decision must be a function of the state and of noise that was drawn before: where the
database gives way to another writer, the unit of work runs again, with the same noise. Drawing
anew would choose among draws.
"""

from collections.abc import Callable

from tacit.errors import Conflict, ConnectionLost, StoreFailed
from tacit.ledger.answer import keep_within, stored_for
from tacit.ledger.chain import hold
from tacit.ledger.charge import Answer, Charge
from tacit.ledger.reserve import ATTEMPTS
from tacit.store.states import State, States
from tacit.store.store import Store
from tacit.store.work import Work

Decide = Callable[[State], tuple[bytes, bytes]]
"""Given the state as it is now: the answer, and the state that follows."""


def decide_within(  # noqa: PLR0913 - a charge, the state that decides it, and when
    work: Work, charge: Charge, states: States, name: str, decide: Decide, *, now: int
) -> Answer:
    """Decide the answer to ``charge`` by the state ``name``, as a part of a unit of work.

    Where ``decide`` raises, nothing is written.
    """
    for entry in charge.entries:
        hold(work, entry.population)
    seen = states.find_within(work, name)
    body, value = decide(seen)
    states.change_within(work, name, seen, value)
    return keep_within(work, charge, body, now)


def take_turn(  # noqa: PLR0913 - a charge, the state that decides it, and when
    store: Store, charge: Charge, states: States, name: str, decide: Decide, *, now: int
) -> Answer:
    """Decide and store the answer to ``charge``, in one unit of work.

    `AnswerLost` says that another charge for the same question took the place of the answer;
    then nothing was decided, and whoever asks again finds what the other one stored.

    Guarantee: durable when it returns, and the same for ever: an answer that was stored before
    is returned as it was, and decides nothing. Decisions by one state have an order, and each
    sees the state that the one before it wrote.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                stored = stored_for(work, charge)
                if stored is not None:
                    return stored
                return decide_within(work, charge, states, name, decide, now=now)
        except (Conflict, ConnectionLost):
            continue
    raise StoreFailed("The store's database does not answer; ask again with the same key.")
