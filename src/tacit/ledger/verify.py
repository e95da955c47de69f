"""Walk a chain from its first entry, offline, and say whether it can be believed."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import LedgerBroken
from tacit.ledger.anchor import Anchor
from tacit.ledger.answer import stored_body
from tacit.ledger.book import Book
from tacit.ledger.budget_row import find_budget
from tacit.ledger.chain import head_of, walk
from tacit.ledger.entry import Entry
from tacit.ledger.units import NO_LIMIT, Units
from tacit.store.store import Store
from tacit.store.tables import holders
from tacit.store.work import Work

_HOLDERS = select(
    holders.c.holder,
    holders.c.cap_amount,
    holders.c.cap_delta,
    holders.c.spent_amount,
    holders.c.spent_delta,
).where(holders.c.population == bindparam("at"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A chain that holds: how long it is, and what it adds up to."""

    population: str
    entries: int
    head: bytes
    spent: Loss
    cap: Loss
    anchored: bool

    def __str__(self) -> str:
        against = "and its anchor" if self.anchored else "and no anchor"
        return (
            f"{self.population}: {self.entries} entries agree with each other {against}; "
            f"{self.spent} of {self.cap} is spent."
        )


def verify(population: str, entries: Iterable[Entry], anchor: Anchor | None = None) -> Book:
    """The book of a chain whose every entry follows, keeps the rules and meets the anchor.

    Guarantee: with the anchor of a later time than an entry, no change, removal, move or cut
    of that entry is believed, up to a collision of SHA-256. Without one, a chain that was cut
    at its end, or rewritten as a whole, is.
    """
    book = Book(population)
    head = anchor.head(population) if anchor else None
    for entry in entries:
        book.read(entry)
        if head is not None and book.seq == head.seq and book.head != head.hash:
            raise book.broken("it is not the one that was anchored")
    if head is not None and book.seq < head.seq:
        raise book.broken(f"the chain ends here, and entry {head.seq} was anchored")
    if book.opened is None:
        raise LedgerBroken(f"The chain of {population!r} is empty.")
    return book


def verify_store(store: Store, population: str, anchor: Anchor | None = None) -> Verdict:
    """The verdict on one population: its chain, and every sum that the store keeps of it."""
    with store.reading() as work:
        book = verify(population, walk(work, population), anchor)
        _compare(work, book)
    measure = Measure(book.opened.measure) if book.opened else Measure.PURE
    anchored = anchor is not None and anchor.head(population) is not None
    return Verdict(
        population,
        book.seq,
        book.head,
        book.spent.loss(measure),
        book.cap.loss(measure),
        anchored,
    )


def _compare(work: Work, book: Book) -> None:
    """Refuse a store whose sums are not those of its chain."""
    row = find_budget(work, book.population)
    same = (row.cap, row.spent) == (book.cap, book.spent)
    if not same or head_of(work, book.population) != (book.seq, book.head):
        raise book.broken("the budget that the store shows is not what the chain adds up to")
    kept = {
        holder: (Units(*amounts[:2]), Units(*amounts[2:]))
        for holder, *amounts in work.all(_HOLDERS, {"at": book.population})
    }
    read = {
        holder: (book.quotas.get(holder, NO_LIMIT), book.spent_by.get(holder, Units(0, 0)))
        for holder in book.quotas.keys() | book.spent_by.keys()
    }
    if kept != read:
        raise book.broken("the quotas that the store shows are not those of the chain")
    for release, answer in book.kept.items():
        body = stored_body(work, release)
        if body is None or sha256(body).digest() != answer:
            raise book.broken("a stored answer is not the one that the chain tells of")
