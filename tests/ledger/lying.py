"""Writers that the tests of faults must catch."""

from tacit.errors import StoreFailed
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store import connect, unit_of_work


class AnswersUnkept(Ledger):
    """Lets an answer leave that could not be stored."""

    def keep(self, charge: Charge, body: bytes) -> StoredRelease:
        try:
            return super().keep(charge, body)
        except StoreFailed:
            return StoredRelease(body, charge.receipt)


class AnswersUncharged(Ledger):
    """Answers a question that could not be charged."""

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        try:
            return super().reserve(question, lease_ms=lease_ms)
        except StoreFailed:
            return StoredRelease(b"for nothing", bytes(32))


LEDGERS = {"answers unkept": AnswersUnkept, "answers uncharged": AnswersUncharged}


def start_lying(lie: str) -> None:
    """Change this process for good, where the lie is one of the store's and not a ledger's."""
    if lie == "goes on":
        unit_of_work.FATAL.clear()
    if lie == "does not sync":
        connect.PRAGMAS = (*connect.PRAGMAS, "synchronous=OFF")
    if lie == "leaves its folder":
        connect.sync_folder = lambda _: None
