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

from tacit.errors import BudgetExceeded, Conflict, ConnectionLost, StoreFailed
from tacit.ledger.answer import keep_within, look
from tacit.ledger.chain import hold
from tacit.ledger.charge import Answer, Charge
from tacit.ledger.question import Question
from tacit.ledger.reserve import ATTEMPTS, reserve_within
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


def take_turn(  # noqa: PLR0913 - a question, its state, and when it is asked
    store: Store,
    question: Question,
    states: States,
    name: str,
    decide: Decide,
    *,
    nonce: bytes,
    now: int,
) -> Answer:
    """Charge ``question``, and decide and store its answer, in one unit of work.

    Guarantee: durable when it returns, and the same for ever: an answer that was stored before
    is returned as it was, and decides nothing. Decisions by one state have an order, and each
    sees the state that the one before it wrote.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                found = reserve_within(work, question, nonce, now, now)
                if isinstance(found, Answer):
                    return found
                return decide_within(work, found, states, name, decide, now=now)
        except (Conflict, ConnectionLost):
            continue
        except BudgetExceeded:
            with store.reading() as work:
                stored = look(work, question.release_key, now)
            if stored is None:
                raise
            return stored
    raise StoreFailed("The store's database does not answer; ask again with the same key.")
