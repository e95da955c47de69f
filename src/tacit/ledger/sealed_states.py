"""The ledger as the witness of sealed states: each change of a state stands in the chain.

The entry of a change is written in the unit of work that changes the state, so that after a
crash both are there or neither. The entry holds the hash of the state's name, its version and
the hash of its sealed bytes: nothing of what it holds.
"""

from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.errors import LedgerBroken
from tacit.ledger.act import StateSealed
from tacit.ledger.chain import append
from tacit.ledger.stored_act import decode
from tacit.store.states import Witnessed
from tacit.store.tables import entries
from tacit.store.work import Work

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
        act = decode(row[0])
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
