"""Writers that the tests of faults must catch."""

from collections.abc import Sequence
from contextlib import suppress

from tacit.errors import StoreFailed
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.committer import Committer, Waiting
from tacit.ledger.group_write import write_group
from tacit.ledger.ledger import Ledger
from tacit.store import connect, unit_of_work
from tacit.store.store import Store


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


class GroupGoesOn(Committer):
    """Tells the members of a group what they wanted, also where its commit failed."""

    def _write_together(self, group: Sequence[Waiting]) -> int:
        results: list[Charge | StoredRelease] = []
        with suppress(StoreFailed), self._store.writing() as work:
            results = write_group(work, [waiting.member for waiting in group])
        for waiting, result in zip(group, results, strict=False):
            waiting.settle(result)
        return len(results)


class InCarelessGroups(Ledger):
    """Writes groups by `GroupGoesOn`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._committer = GroupGoesOn(store)


LEDGERS = {
    "answers unkept": AnswersUnkept,
    "answers uncharged": AnswersUncharged,
    "group goes on": InCarelessGroups,
}


def start_lying(lie: str) -> None:
    """Change this process for good, where the lie is one of the store's and not a ledger's."""
    if lie == "goes on":
        unit_of_work.FATAL.clear()
    if lie == "does not sync":
        connect.PRAGMAS = (*connect.PRAGMAS, "synchronous=OFF")
    if lie == "leaves its folder":
        connect.sync_folder = lambda _: None
