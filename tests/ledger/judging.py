"""What must hold of a ledger whatever happened to its writers, looked at when all is well."""

from collections import Counter
from collections.abc import Iterable, Mapping

from asking import answer, ask

from tacit.errors import AnswerLost, LedgerBroken, UnknownName
from tacit.ledger.chain import walk
from tacit.ledger.charge import StoredRelease
from tacit.ledger.entries import Charged, decode_act
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.store.store import Store

LATER_MS = 3_600_000
"""When nobody waits for a writer any more."""


def charges(store: Store, population: str = "patients") -> dict[bytes, Charged]:
    """All charges in the chain, by their receipts."""
    with store.reading() as work:
        acts = [(entry.hash, decode_act(entry.body)) for entry in walk(work, population)]
    return {receipt: act for receipt, act in acts if isinstance(act, Charged)}


def complaints(
    store: Store, received: Mapping[str, StoredRelease], asked: Iterable[str]
) -> list[str]:
    """What is wrong, where plan by plan ``received`` is what the askers have in hand.

    Each of ``asked`` is asked once more: the same bytes come, or none that were drawn anew.
    """
    ledger = Ledger(store, clock=lambda: wall_clock() + LATER_MS)
    try:
        ledger.status("patients")
        ledger.verify("patients")
    except UnknownName:
        return ["an answer was received, and no budget was opened"] if received else []
    except LedgerBroken as error:
        return [f"the ledger does not verify: {error}"]
    wrong = _unpaid(store, ledger, received)
    for plan in asked:
        try:
            again = answer(ledger, ask(plan))
        except AnswerLost:
            again = None
        if plan in received and again != received[plan]:
            wrong.append(f"{plan} was answered, and asked again it is answered otherwise")
    ledger.verify("patients")
    counted = Counter(charge.release for charge in charges(store).values())
    times = {plan: counted[ask(plan).release_key.hex()] for plan in asked}
    return wrong + [f"{plan} was charged {n} times" for plan, n in times.items() if n != 1]


def _unpaid(store: Store, ledger: Ledger, received: Mapping[str, StoredRelease]) -> list[str]:
    wrong, paid = [], charges(store)
    for plan, got in received.items():
        charge = paid.get(got.receipt)
        if charge is None or charge.request != ask(plan).request_key.hex():
            wrong.append(f"{plan} was answered, and not charged")
        if ledger.find_release(ask(plan)) != got:
            wrong.append(f"{plan} was answered, and its answer is not stored")
    return wrong
