"""The ledger as the witness of sealed states: each change of a state stands in the chain.

The entry of a change is written in the unit of work that changes the state, so that after a
crash both are there or neither. The entry holds the hash of the state's name, its version and
the hash of its sealed bytes: nothing of what it holds.
"""

from collections.abc import Callable
from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.errors import Conflict, ConnectionLost, LedgerBroken, StoreFailed
from tacit.ledger.chain import append, hold
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.entries import StateSealed, decode_act
from tacit.ledger.reserve import ATTEMPTS, keep_within, stored_for
from tacit.store import State, States, Store, Witnessed, Work
from tacit.store.tables import entries

_NEWEST = (
    select(entries.c.body)
    .where(entries.c.population == bindparam("at"), entries.c.state == bindparam("state"))
    .order_by(entries.c.seq.desc())
    .limit(1)
)


class ChainWitness:
    """Remembers the last version of each state in the chain of its population.

    Guarantee: what is recalled is the newest entry about the state, in the chain that charges
    are made on; whoever rolls back the chain or the states alone is told.
    """

    def remember(self, work: Work, population: str, name: str, last: Witnessed) -> None:
        """Append the change of a state to the chain of ``population``."""
        act = StateSealed(named(name), last.version, last.digest.hex())
        append(work, population, act)

    def recall(self, work: Work, population: str, name: str) -> Witnessed | None:
        """Return the newest change of the state that the chain knows of."""
        state = named(name)
        row = work.one(_NEWEST, {"at": population, "state": state})
        if row is None:
            return None
        act = decode_act(row[0])
        if not isinstance(act, StateSealed) or act.state != state:
            raise LedgerBroken(f"An entry of {population!r} is not about the state it names.")
        return Witnessed(act.version, bytes.fromhex(act.digest))


def named(name: str) -> str:
    """Return what a chain calls the state ``name``: the hash of its name.

    Example:
        >>> named("threshold of a holdout")[:16]
        '3c5bf3ee4c135709'
    """
    return sha256(f"tacit state\n{name}".encode()).hexdigest()


# ------------------------------------------------------------------ turn
# Decide an answer by a sealed state, one question at a time, whoever asks at once.
#
# Some mechanisms have a memory: a holdout counts how often it told something, and once that
# is used up it must tell nothing more. Their privacy proof speaks of questions that are asked
# one after the other. So each decision takes its turn: one unit of work waits for its place
# in the chain of the population, reads the state, decides, writes the state that follows and
# stores the answer. Two processes, or two servers, that decide at the same moment are put in
# order by the database, and the second one sees the state that the first one wrote, whatever
# it decided.
#
# The decision must be a function of the state and of noise that was drawn before: where the
# database gives way to another writer, the unit of work runs again, with the same noise.
# Drawing anew would choose among draws.

Decide = Callable[[State], tuple[bytes, bytes]]
"""Given the state as it is now: the answer, and the state that follows."""


def decide_within(  # noqa: PLR0913 - a charge, the state that decides it, and when
    work: Work, charge: Charge, states: States, name: str, decide: Decide, *, now: int
) -> StoredRelease:
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
) -> StoredRelease:
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
