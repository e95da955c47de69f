"""All that a ledger knows about one charge: its entry, its declarations, its answer, its place.

A certificate is written from these facts (`tacit.certify`).
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.core import Event, decode_event
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.budget import Status, left_of, status_within
from tacit.ledger.chain import head_of
from tacit.ledger.entries import GENESIS, Charged, Described, Entry, FactsDeclared, decode_act
from tacit.ledger.receipts import joint_entries
from tacit.ledger.reserve import stored_body
from tacit.store import Store, Work
from tacit.store.tables import entries

_OF_RECEIPT = select(entries.c.population, entries.c.seq, entries.c.body).where(
    entries.c.hash == bindparam("hash")
)
_AT = select(entries.c.body, entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)


@dataclass(frozen=True, slots=True)
class ChargeFacts:
    """A charge in the chain of its population, and the state of the budget when it was read.

    ``previous`` is the hash of the entry before. ``facts`` are the declarations under which the
    charge was priced. ``answer`` has the bytes of the stored answer, or None if there is none.
    """

    entry: Entry
    previous: bytes
    charged: Charged
    facts: tuple[str, ...]
    answer: bytes | None
    status: Status
    head: tuple[int, bytes]

    @property
    def event(self) -> Event:
        """The event that was charged."""
        return decode_event(self.charged.event)

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the stored answer in hexadecimal digits; None without an answer."""
        return None if self.answer is None else sha256(self.answer).hexdigest()


def charge_facts(store: Store, receipt: bytes) -> ChargeFacts:
    """Return the facts of the charge with this receipt, which is printed on its answer.

    A charge about several populations has facts for each of them, by the hash of its entry in
    that chain.

    Raises:
        UnknownName: No entry of the ledger has this hash, or it is not a charge.
        InvalidValue: The charge is about several populations.
    """
    with store.reading() as work:
        found = work.one(_OF_RECEIPT, {"hash": receipt})
        act = None if found is None else decode_act(found[2])
        if found is None or not isinstance(act, Charged):
            _refuse_joint(receipt, joint_entries(work, receipt))
            raise UnknownName(
                f"This ledger has no charge with the receipt {receipt.hex()}. The receipt of "
                "an answer is in its attribute `receipt`, and the ledger must be the one that "
                "was charged."
            )
        population, seq, body = found
        return ChargeFacts(
            entry=Entry(population, seq, body, receipt),
            previous=_hash_at(work, population, seq - 1),
            charged=act,
            facts=_facts_at(work, population, act.declaration),
            answer=stored_body(work, bytes.fromhex(act.release)),
            status=status_within(work, population),
            head=head_of(work, population),
        )


def status_at(store: Store, population: str, principal: str) -> tuple[Status, int]:
    """Return a budget's status for ``principal``, and the newest entry, after which it is."""
    with store.reading() as work:
        status = status_within(work, population)
        left = left_of(work, population, principal)
        return replace(status, quotas_left=left), head_of(work, population)[0]


def _refuse_joint(receipt: bytes, parts: tuple[Entry, ...]) -> None:
    """Raise `InvalidValue`, which names the hash of each part, if a charge has several."""
    if parts:
        listed = ", or ".join(f"{part.hash.hex()} for {part.population!r}" for part in parts)
        raise InvalidValue(
            f"The charge with the receipt {receipt.hex()} is about several populations, and a "
            "certificate is about the chain of one. Ask for the certificate of its part in one "
            f"chain, by the hash of its entry: {listed}."
        )


def _hash_at(work: Work, population: str, seq: int) -> bytes:
    row = work.one(_AT, {"at": population, "place": seq}) if seq else None
    return GENESIS if row is None else bytes(row[1])


def _facts_at(work: Work, population: str, declaration: int) -> tuple[str, ...]:
    """Return the facts of a declaration; none if the charge does not name one."""
    row = work.one(_AT, {"at": population, "place": declaration}) if declaration else None
    act = None if row is None else decode_act(row[0])
    return act.facts if isinstance(act, Described | FactsDeclared) else ()
