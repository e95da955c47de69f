"""Writers that the tests of faults must catch."""

from tacit.errors import StoreFailed
from tacit.ledger.charge import Answer, Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.question import Question
from tacit.store import failure, sqlite


class AnswersUnkept(Ledger):
    """Lets an answer leave that could not be stored."""

    def keep(self, charge: Charge, body: bytes) -> Answer:
        try:
            return super().keep(charge, body)
        except StoreFailed:
            return Answer(body, charge.receipt)


class AnswersUncharged(Ledger):
    """Answers a question that could not be charged."""

    def reserve(self, question: Question, *, lease_ms: int) -> Charge | Answer:
        try:
            return super().reserve(question, lease_ms=lease_ms)
        except StoreFailed:
            return Answer(b"for nothing", bytes(32))


LEDGERS = {"answers unkept": AnswersUnkept, "answers uncharged": AnswersUncharged}


def start_lying(lie: str) -> None:
    """Change this process for good, where the lie is one of the store's and not a ledger's."""
    if lie == "goes on":
        failure.FATAL.clear()
    if lie == "does not sync":
        sqlite.PRAGMAS = (*sqlite.PRAGMAS, "synchronous=OFF")
    if lie == "leaves its folder":
        sqlite.sync_folder = lambda _: None
