"""One line of the ledger, and what was stored for it."""

from dataclasses import dataclass, replace
from hashlib import sha256

from tacit.ledger.entry import Entry


@dataclass(frozen=True, slots=True)
class Record:
    """How earlier answers about the same people ended, and the least price of a question.

    Each number is one that could depend on who is in the data, so a guarantee says it.
    """

    late: int = 0
    failed: int = 0
    retried: int = 0
    least: str | None = None
    """The least price from now on, in words; empty where there is none."""
    questions: int = 0
    """How many questions at the least price fit into the whole cap."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences that a guarantee adds for this record.

        Example:
            >>> Record(late=2).assumptions[0]
            '2 late answers would have been late whoever is in the data'
        """
        told = []
        if self.late:
            told.append(f"{self.late} late answers would have been late")
        if self.failed:
            told.append(f"{self.failed} failed answers would have failed")
        if self.retried:
            told.append(f"{self.retried} answers that were tried twice would have been")
        told = [f"{each} whoever is in the data" for each in told]
        if self.least:
            told.append(
                f"no more than {self.questions} further questions are tried, which the ledger "
                f"enforces by a least price of {self.least}"
            )
        elif self.least is not None:
            told.append(
                "nobody tries questions without end, which the ledger does not prevent where "
                "there is no least price"
            )
        return tuple(told)


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that is paid for, and may now be run, once.

    It has an entry in the chain of each of its populations. The receipt is the hash that keys
    the noise and stands on the release.
    """

    entries: tuple[Entry, ...]
    release_key: bytes
    records: tuple[Record, ...] = ()
    """How earlier answers about each of its populations ended."""
    retried: bool = False
    """Whether it was run once more already."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee of its answer adds, for all of its populations."""
        return tuple(dict.fromkeys(each for one in self.records for each in one.assumptions))

    def run_again(self) -> "Charge":
        """The same charge after one more retry, which its own guarantee counts too."""
        counted = tuple(replace(each, retried=each.retried + 1) for each in self.records)
        return replace(self, records=counted, retried=True)

    @property
    def receipt(self) -> bytes:
        """The hash of its entry; of several, the hash of their hashes in order."""
        return receipt_of(self.entries)


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of a stored release, and the receipt of the charge that paid for them."""

    body: bytes
    receipt: bytes


def receipt_of(entries: tuple[Entry, ...]) -> bytes:
    """The receipt of a charge by its entries."""
    if len(entries) == 1:
        return entries[0].hash
    return sha256(b"".join(entry.hash for entry in entries)).digest()
