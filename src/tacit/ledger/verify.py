"""Walk a chain from its first entry, offline, and say whether it can be believed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import LedgerBroken
from tacit.ledger.act import Charged
from tacit.ledger.anchor import Anchor
from tacit.ledger.book import Book
from tacit.ledger.chain import walk
from tacit.ledger.compare import compare
from tacit.ledger.entry import Entry
from tacit.ledger.export import Exported
from tacit.ledger.trouble import NO_TROUBLES
from tacit.store.store import Store


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
        compare(work, book)
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


def verify_export(exported: Exported, anchor: Anchor | None = None) -> list[Book]:
    """The books of an export: each chain holds, and all agree with each other and the answers.

    A charge on several populations stands in all of their chains, and an answer is there if
    and only if the chains tell of it.
    """
    for head in anchor.heads if anchor else ():
        if head.population not in exported.chains:
            raise LedgerBroken(f"The chain of {head.population!r} was anchored, and is gone.")
    books = {name: verify(name, chain, anchor) for name, chain in exported.chains.items()}
    told = {release: hash_ for book in books.values() for release, hash_ in book.kept.items()}
    for book in books.values():
        for act in book.shared.values():
            _compare_shared(book, act, books)
    for book in books.values():
        _compare_inherited(book, books)
    if told != {release: sha256(body).digest() for release, body in exported.answers.items()}:
        raise LedgerBroken("The answers are not those that the chains tell of.")
    return list(books.values())


def _compare_inherited(book: Book, books: dict[str, Book]) -> None:
    for source, units in book.inherited.items():
        if source not in books or not units <= books[source].own:
            raise LedgerBroken(
                f"{book.population!r} inherits more of {source!r} than was spent there."
            )
    for source, troubles in book.inherited_troubles.items():
        if troubles.beyond(books[source].own_troubles) != NO_TROUBLES:
            raise LedgerBroken(
                f"{book.population!r} inherits more of {source!r} than failed there."
            )


def _compare_shared(book: Book, act: Charged, books: dict[str, Book]) -> None:
    release = bytes.fromhex(act.release)
    for name in act.populations:
        twin = books[name].shared.get(act.nonce) if name in books else None
        if twin is None or _joint_part(twin) != _joint_part(act):
            raise LedgerBroken(
                f"A charge of {book.population!r} is not in the chain of {name!r} as well."
            )
        if books[name].kept.get(release) != book.kept.get(release):
            raise LedgerBroken(
                f"An answer about {book.population!r} and {name!r} is told of differently."
            )


def _joint_part(act: Charged) -> Charged:
    """What the chains of all populations say alike of one charge."""
    return replace(act, holders=(), event="", amount=0, delta=0, declaration=0)
