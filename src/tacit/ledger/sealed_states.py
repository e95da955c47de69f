"""The ledger as the witness of sealed states: each change of a state has an entry in the chain.

The entry is written in the unit of work that changes the state, so that after a crash both are
there or neither is. The entry holds the hash of the state's name, its version and the hash of
its sealed bytes, but nothing of its content.

The second part, `take_turn`, computes answers from a sealed state one after the other.
"""

from collections.abc import Callable
from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.errors import LedgerBroken
from tacit.ledger.chain import append, hold
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.entries import StateSealed, decode_act
from tacit.ledger.reserve import keep_within, stored_for, write_with_retries
from tacit.store import State, States, Store, Witnessed, Work
from tacit.store.tables import entries

_NEWEST = (
    select(entries.c.body)
    .where(entries.c.population == bindparam("at"), entries.c.state == bindparam("state"))
    .order_by(entries.c.seq.desc())
    .limit(1)
)


class ChainWitness:
    """A witness that records the last version of each state in the chain of its population.

    Guarantee: `recall` returns the newest entry about the state, in the same chain as the
    charges. If only the chain or only the states are rolled back, the difference is detected.
    """

    def remember(self, work: Work, population: str, name: str, last: Witnessed) -> None:
        """Append the change of a state to the chain of ``population``."""
        act = StateSealed(state_hash(name), last.version, last.digest.hex())
        append(work, population, act)

    def recall(self, work: Work, population: str, name: str) -> Witnessed | None:
        """Return the newest change of the state in the chain, or None if there is none."""
        state = state_hash(name)
        row = work.one(_NEWEST, {"at": population, "state": state})
        if row is None:
            return None
        act = decode_act(row[0])
        if not isinstance(act, StateSealed) or act.state != state:
            raise LedgerBroken(
                f"The index of sealed states names an entry of {population!r} that is about "
                "something else, so the store was changed. Restore it from a backup."
            )
        return Witnessed(act.version, bytes.fromhex(act.digest))


def state_hash(name: str) -> str:
    """Return the hash by which a chain refers to the state ``name``.

    Example:
        >>> state_hash("threshold of a holdout")[:16]
        '3c5bf3ee4c135709'
    """
    return sha256(f"tacit state\n{name}".encode()).hexdigest()


# ------------------------------------------------------------------ answers from a sealed state
# Some mechanisms have a memory. A holdout, for example, counts how often it revealed that a
# hypothesis does not generalise, and must reveal nothing more once that number is used up. The
# privacy proofs of such mechanisms assume that questions are asked one after the other.
#
# So answers from one state are computed in turn: a unit of work locks the chain of the
# population, reads the state, computes the answer, writes the next state and stores the answer.
# If two processes or servers do this at the same moment, the database puts them in order, and
# the second one always sees the state that the first one wrote.
#
# The answer must be a function of the state and of noise that was drawn before. When the
# database aborts the unit of work because of another writer, it runs again with the same noise.
# Drawing new noise would let the outcome of the race choose among several draws.

Decide = Callable[[State], tuple[bytes, bytes]]
"""A function from the current state to the answer and the next state."""


def decide_within(  # noqa: PLR0913 - a charge, the state that decides it, and when
    work: Work, charge: Charge, states: States, name: str, decide: Decide, *, now: int
) -> StoredRelease:
    """Compute and store the answer to ``charge`` from the state ``name``, within ``work``.

    If ``decide`` raises, nothing is written.
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
    """Compute and store the answer to ``charge`` from the state ``name``, in one unit of work.

    Raise `AnswerLost` if another charge for the same question has replaced this one. The state
    is then unchanged, and the same question again returns the answer of the other charge.

    Guarantee: the answer is durable when it is returned, and it never changes: an answer that
    was stored before is returned as it is, and the state stays as it is. Answers from one state
    have an order, and each is computed from the state that the one before it wrote.
    """

    def write(work: Work) -> StoredRelease:
        stored = stored_for(work, charge)
        if stored is not None:
            return stored
        return decide_within(work, charge, states, name, decide, now=now)

    return write_with_retries(store, write)
