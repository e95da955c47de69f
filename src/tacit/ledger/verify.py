"""Export, verification and restore of a whole ledger.

`export` writes a ledger as lines of JSON, for auditors, backups and moves between databases.
The first line names the format; the entries of each chain and the stored answers follow. Sealed
states and tokens are left out, because they are secrets of one installation.

`verify` reads a chain from its first entry and checks every hash, rule and anchor
(`tacit.ledger.book`). `verify_store` also compares the tables that a store maintains for speed
with the totals of the chain. `restore` writes a verified export into an empty store.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, insert, select

from tacit.accounting import show_loss
from tacit.core import Loss, Measure
from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger import entries as acts
from tacit.ledger.anchored_keys import lost_keys
from tacit.ledger.book import Book
from tacit.ledger.budget import BudgetRow, find_budget, least_amount
from tacit.ledger.chain import ALL_TIME, Anchor, Head, head_of, row_of, state_of, walk
from tacit.ledger.charge import NO_INCIDENTS, NO_LIMIT, NO_UNITS, Units, binding_of, receipt_of
from tacit.ledger.owner_keys import keys_in, write_keys
from tacit.ledger.populations import holdings_of, owners_of
from tacit.ledger.reserve import all_stored, stored_body
from tacit.store import Store, Work
from tacit.store.tables import (
    answers,
    budgets,
    entries,
    holders,
    holdings,
    members,
    owners,
    proposals,
    requests,
)

FORMAT = 1

_POPULATIONS = select(budgets.c.population)


def export(store: Store) -> Iterator[str]:
    """Yield the lines of an export of ``store``, read in one snapshot."""
    with store.reading() as work:
        yield from export_lines(work)


def export_lines(work: Work) -> Iterator[str]:
    """Yield the lines of an export, within a unit of work."""
    yield _line({"tacit ledger": FORMAT})
    # sorted in Python, because databases order text by different collations
    for (population,) in sorted(work.all(_POPULATIONS, {})):
        for entry in walk(work, population):
            yield _entry_line(entry)
    for release, body in all_stored(work):
        yield _answer_line(release, body)


@dataclass(frozen=True, slots=True)
class Exported:
    """The content of an export, before it is verified."""

    chains: dict[str, list[acts.Entry]]
    answers: dict[bytes, bytes]


def read_export(lines: Iterable[str]) -> Exported:
    """Parse an exported ledger; raise `LedgerBroken` for a line that is not canonical."""
    exported = Exported({}, {})
    numbered = enumerate(lines, start=1)
    if next(numbered, (0, ""))[1].rstrip("\n") != _line({"tacit ledger": FORMAT}).rstrip("\n"):
        raise InvalidValue(
            f"This is not an exported ledger of format {FORMAT}. Export the ledger again with "
            "this version of Tacit."
        )
    for number, line in numbered:
        try:
            written = _read_line(exported, json.loads(line))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerBroken(
                f"Line {number} is not a line of an exported ledger, so the export was "
                "changed. Export the ledger again."
            ) from error
        if written.rstrip("\n") != line.rstrip("\n"):
            raise LedgerBroken(
                f"Line {number} is not canonical, so the export was changed. Export the ledger "
                "again."
            )
    return exported


def _read_line(exported: Exported, value: dict[str, Any]) -> str:
    """Add one parsed line to ``exported``, and return the line's canonical text."""
    if "answer" in value:
        release, answer = bytes.fromhex(value["release"]), b64decode(value["answer"])
        if release in exported.answers:
            raise ValueError
        exported.answers[release] = answer
        return _answer_line(release, answer)
    name, seq, body = value["population"], value["seq"], value["body"]
    if (type(name), type(seq), type(body)) != (str, int, str):
        raise TypeError
    name.encode()  # fails for half of a surrogate pair, which JSON allows and UTF-8 does not
    entry = acts.Entry(name, seq, body, bytes.fromhex(value["hash"]))
    exported.chains.setdefault(name, []).append(entry)
    return _entry_line(entry)


def _entry_line(entry: acts.Entry) -> str:
    return _line(
        {
            "population": entry.population,
            "seq": entry.seq,
            "body": entry.body,
            "hash": entry.hash.hex(),
        }
    )


def _answer_line(release: bytes, body: bytes) -> str:
    return _line({"release": release.hex(), "answer": b64encode(body).decode()})


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n"


# ------------------------------------------------------------------ comparison with the tables

_HOLDERS = select(
    holders.c.holder,
    holders.c.cap_amount,
    holders.c.cap_delta,
    holders.c.spent_amount,
    holders.c.spent_delta,
).where(holders.c.population == bindparam("at"))
_MEMBERS = select(members.c.principal, members.c.holder).where(
    members.c.population == bindparam("at")
)
_PROPOSALS = select(proposals.c.seq, proposals.c.body).where(
    proposals.c.population == bindparam("at")
)
_BINDING_OF_REQUEST = select(requests.c.binding).where(
    requests.c.principal == bindparam("who"), requests.c.request == bindparam("key")
)

Limits = dict[str, tuple[Units, Units]]
"""The quota of each holder, and the sum that the holder has spent."""


def compare(work: Work, book: Book) -> None:
    """Raise `LedgerBroken` if the store's tables differ from the totals of the chain."""
    compare_totals(work, book)
    compare_rows(work, book)
    compare_unanswered(work, book)


def compare_totals(work: Work, book: Book) -> None:
    """Raise `LedgerBroken` if sums, quotas, owners or tables differ from those of the chain."""
    row = find_budget(work, book.population)
    head = head_of(work, book.population)
    if row != budget_in(book) or head != (book.seq, book.head):
        raise book.entry_error(
            "the budget in the store's tables is not the sum of the chain's entries"
        )
    found = {
        holder: (Units(*amounts[:2]), Units(*amounts[2:]))
        for holder, *amounts in work.all(_HOLDERS, {"at": book.population})
    }
    if found != limits_in(book):
        raise book.entry_error("the quotas in the store's tables are not those of the chain")
    _compare_government(work, book)
    if holdings_of(work, book.population) != book.holdings:
        raise book.entry_error("the store's list of tables is not the list in the chain")


def compare_rows(work: Work, book: Book, done: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Raise `LedgerBroken` if a request or an answer that ``book`` has read is not stored.

    ``done`` are the numbers of requests and answers that were compared before. Return those
    that are compared now.
    """
    for (principal, request), binding in islice(book.requests.items(), done[0], None):
        if work.one(_BINDING_OF_REQUEST, {"who": principal, "key": request}) != (binding,):
            raise book.entry_error(
                "a charged request is missing in the store, or differs there"
            )
    for release, answer in islice(book.kept.items(), done[1], None):
        body = stored_body(work, release)
        if body is None or sha256(body).digest() != answer:
            raise book.entry_error("a stored answer is not the one in the chain")
    return len(book.requests), len(book.kept)


def compare_unanswered(work: Work, book: Book) -> None:
    """Raise `LedgerBroken` if an answer is stored that is not in the chain, which has ended."""
    unanswered = {key for seq, key in book.unanswered.items() if seq >= book.since}
    for release in unanswered - book.kept.keys():
        if stored_body(work, release) is not None:
            raise book.entry_error("an answer is stored that is not in the chain")


def budget_in(book: Book) -> BudgetRow:
    """Return the budget that a chain adds up to."""
    opened = book.opened
    if opened is None:
        raise book.entry_error("the chain of this population has no entries")
    return BudgetRow(
        unit=opened.unit,
        neighbours=opened.neighbours,
        kind=opened.measure,
        conversion_delta=opened.conversion_delta,
        idealised=opened.idealised,
        cap_amount=book.cap.amount,
        cap_delta=book.cap.delta,
        spent_amount=book.spent.amount,
        spent_delta=book.spent.delta,
        missed=book.troubles.late,
        looked=book.looked,
        failed=book.troubles.failed,
        retried=book.troubles.retried,
        least_share=str(book.least_share),
        least_amount=least_amount(book.cap.amount, book.least_share),
        declared=book.declaration,
        frozen=int(book.frozen),
    )


def limits_in(book: Book) -> Limits:
    """Return the quotas, and the sums spent, that a chain adds up to."""
    return {
        holder: (book.quotas.get(holder, NO_LIMIT), book.spent_by.get(holder, NO_UNITS))
        for holder in book.quotas.keys() | book.spent_by.keys()
    }


def _compare_government(work: Work, book: Book) -> None:
    at = {"at": book.population}
    groups = {(who, group) for who, joined in book.groups.items() for group in joined}
    waiting = {(seq, acts.encode_act(act)) for seq, act in _waiting(book)}
    if (
        owners_of(work, book.population) != book.owners
        or set(work.all(_MEMBERS, at)) != groups
        or set(work.all(_PROPOSALS, at)) != waiting
    ):
        raise book.entry_error(
            "owners, groups, proposals or requests are not those of the chain"
        )
    compare_keys(work, book)


def compare_keys(work: Work, book: Book) -> None:
    """Raise `LedgerBroken` if the store's table of owners' keys is not that of the chain.

    The path that writes reads the table. If its rows were deleted or changed, acts would be
    accepted without a signature, or with the key of somebody else.
    """
    if keys_in(work, book.population) != book.keys:
        raise book.entry_error("the keys of owners in the store are not those of the chain")


def _waiting(book: Book) -> list[tuple[int, acts.Proposed | acts.QuotaRequested]]:
    """Return the proposals and the requests for quotas that owners have not decided."""
    return [*book.proposals.items(), *book.quota_requests.items()]


# ------------------------------------------------------------------ verification


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The summary of a verified chain: its length, its head and its totals."""

    population: str
    entries: int
    head: bytes
    spent: Loss
    cap: Loss
    anchored: bool
    conversion_delta: Fraction = Fraction(0)
    since: int = 0
    """Number of the checkpoint from which the chain was read; 0 for a walk from its start."""

    def __str__(self) -> str:
        against = "and match the anchor" if self.anchored else "(no anchor was given)"
        delta = self.conversion_delta
        spent, cap = show_loss(self.spent, delta), show_loss(self.cap, delta, whole=True)
        one = self.entries == 1
        read = "1 entry" if one else f"{self.entries} entries"
        if self.since:
            read += f", read from the checkpoint in entry {self.since},"
        consistent = f"{'is' if one else 'are'} consistent"
        return f"{self.population}: {read} {consistent} {against}; {spent} of {cap} is spent."


def verify(
    population: str,
    entries: Iterable[acts.Entry],
    anchor: Anchor | None = None,
    book: Book | None = None,
) -> Book:
    """Verify a chain: every hash, every rule and the anchor. Return its book.

    ``entries`` begin with the first one, or with the checkpoint that ``book`` is resumed from.

    Guarantee: with an anchor that is later than an entry, every change, removal or move of that
    entry is detected, up to a collision of SHA-256. Without an anchor, a chain that was cut off
    at its end, or rewritten as a whole, is not detected.
    """
    book = Book(population) if book is None else book
    head = anchor.head(population) if anchor else None
    fault: LedgerBroken | None = None
    for entry in entries:
        book.read(entry)
        if head is not None and book.seq == head.seq:
            fault = _compare_head(book, head)
    book.check_end()
    if head is not None and book.seq < head.seq:
        fault = book.entry_error(f"the chain ends here, but entry {head.seq} was anchored")
    if fault is not None and head is not None and head.hash.hex() not in book.lost:
        raise fault
    if head is not None and head.spent is not None and not head.spent <= book.spent:
        raise book.entry_error("less is spent than the sum that was anchored")
    if head is not None:
        known = [key for key, each in book.keys.known.items() if each.owner]
        lost = lost_keys(population, head.signed, head.keys, known)
        if lost is not None:
            raise book.entry_error(lost)
    if book.opened is None:
        raise LedgerBroken(
            f"The chain of {population!r} has no entries. Restore the ledger from a backup."
        )
    return book


def _compare_head(book: Book, head: Head) -> LedgerBroken | None:
    """Return the error for a book that is at the anchored entry and differs; None otherwise."""
    if book.head != head.hash:
        return book.entry_error("the entry differs from the entry that was anchored")
    if head.spent is not None and book.spent != head.spent:
        return book.entry_error("the sum of charges differs from the sum that was anchored")
    return None


def verify_store(store: Store, population: str, anchor: Anchor | None = None) -> ChainVerdict:
    """Verify the whole chain of one population, and the store's tables against it."""
    with store.reading() as work:
        book = verify(population, walk(work, population), anchor)
        compare(work, book)
    return verdict_on(book, anchor)


def verdict_on(book: Book, anchor: Anchor | None) -> ChainVerdict:
    """Return the summary of a verified chain."""
    measure = Measure(book.opened.measure) if book.opened else Measure.PURE
    anchored = anchor is not None and anchor.head(book.population) is not None
    return ChainVerdict(
        book.population,
        book.seq,
        book.head,
        book.spent.loss(measure),
        book.cap.loss(measure),
        anchored,
        Fraction(book.opened.conversion_delta) if book.opened else Fraction(0),
        book.since,
    )


def verify_export(exported: Exported, anchor: Anchor | None = None) -> list[Book]:
    """Verify an export, and return the book of each chain.

    Each chain must verify by itself. A charge on several populations must be in all of their
    chains, and an answer must be in the export if and only if it is in the chains.
    """
    for head in anchor.heads if anchor else ():
        if head.population not in exported.chains:
            raise LedgerBroken(
                f"The chain of {head.population!r} was anchored, but it is missing in this "
                "export. Export the newest ledger."
            )
    books = {name: verify(name, chain, anchor) for name, chain in exported.chains.items()}
    hashes = {release: hash_ for book in books.values() for release, hash_ in book.kept.items()}
    for book in books.values():
        for act in book.shared.values():
            _compare_shared(book, act, books)
    for book in books.values():
        _compare_inherited(book, books)
    if hashes != {release: sha256(body).digest() for release, body in exported.answers.items()}:
        raise LedgerBroken(
            "The answers in this export differ from those that its chains record, so the "
            "export was changed or is incomplete. Export the ledger again."
        )
    return list(books.values())


def _compare_inherited(book: Book, books: dict[str, Book]) -> None:
    for source, units in book.inherited.items():
        if source not in books or not units <= books[source].own:
            raise LedgerBroken(
                f"The chain of {book.population!r} inherits a larger loss from {source!r} than "
                f"the chain of {source!r} has spent, so one of them was changed or is an old "
                "copy. Export the newest ledger."
            )
    for source, troubles in book.inherited_troubles.items():
        if troubles.beyond(books[source].own_troubles) != NO_INCIDENTS:
            raise LedgerBroken(
                f"The chain of {book.population!r} inherits more incidents from {source!r} "
                "than its chain records, so one of them was changed or is an old copy. Export "
                "the newest ledger."
            )


def _compare_shared(book: Book, act: acts.Charged, books: dict[str, Book]) -> None:
    release = bytes.fromhex(act.release)
    for name in act.populations:
        twin = books[name].shared.get(act.nonce) if name in books else None
        if twin is None or _joint_part(twin) != _joint_part(act):
            raise LedgerBroken(
                f"A charge about {book.population!r} and {name!r} is missing in the chain of "
                f"{name!r}, so that chain was changed or is an old copy. Export the newest "
                "ledger."
            )
        if books[name].kept.get(release) != book.kept.get(release):
            raise LedgerBroken(
                f"The chains of {book.population!r} and {name!r} record different answers to "
                "one question, so one of them was changed or is an old copy. Export the newest "
                "ledger."
            )


def _joint_part(act: acts.Charged) -> acts.Charged:
    """Return a charge without the fields that differ between the chains of its populations."""
    return replace(act, holders=(), event="", amount=0, delta=0, declaration=0)


# ------------------------------------------------------------------ restore

_ANY = select(budgets.c.population).limit(1)
_BUDGET, _ENTRY, _OWNER, _HOLDER = map(insert, (budgets, entries, owners, holders))
_MEMBER, _PROPOSAL, _STORE_REQUEST, _ANSWER = map(
    insert, (members, proposals, requests, answers)
)
_HOLDING = insert(holdings)


def restore(store: Store, lines: Iterable[str], anchor: Anchor | None = None) -> None:
    """Verify an export and write it into the empty ``store``, all of it or nothing.

    Guarantee: every budget, quota, request and answer is as it was. A charge without an answer
    stays charged, and its answer is lost.
    """
    exported = read_export(lines)
    books = verify_export(exported, anchor)
    with store.writing() as work:
        restore_within(work, exported, books)


def restore_within(work: Work, exported: Exported, books: list[Book]) -> None:
    """Write a verified export into an empty store, and verify what was written."""
    if work.one(_ANY, {}) is not None:
        raise InvalidValue(
            "This store already has a ledger. A ledger can only be restored into an empty "
            "store."
        )
    for book in books:
        _restore_book(work, book, exported.chains[book.population])
    _restore_requests(work, exported)
    for book in books:
        compare(work, verify(book.population, walk(work, book.population)))


def _restore_book(work: Work, book: Book, chain: list[acts.Entry]) -> None:
    """Write the rows of one population, which follow from its chain."""
    name, shown = book.population, budget_in(book)
    budget = {
        "population": name,
        "period": ALL_TIME,
        "unit": shown.unit,
        "neighbours": shown.neighbours,
        "measure": shown.measure.value,
        "conversion_delta": shown.conversion_delta,
        "idealised": int(shown.idealised),
        "cap_amount": shown.cap.amount,
        "cap_delta": shown.cap.delta,
        "spent_amount": shown.spent.amount,
        "spent_delta": shown.spent.delta,
        "missed": shown.missed,
        "looked": shown.looked,
        "failed": shown.failed,
        "retried": shown.retried,
        "least_share": shown.least_share,
        "least_amount": shown.least_amount,
        "declared": shown.declared,
        "frozen": shown.frozen,
        "head_seq": book.seq,
        "head_hash": book.head,
    }
    work.run(_BUDGET, budget)
    for entry in chain:
        work.run(_ENTRY, row_of(entry, state_of(acts.decode_act(entry.body))))
    for owner in book.owners:
        work.run(_OWNER, {"population": name, "owner": owner})
    write_keys(work, name, book.keys)
    for holder, (cap, spent) in limits_in(book).items():
        row = {
            "population": name,
            "holder": holder,
            "cap_amount": cap.amount,
            "cap_delta": cap.delta,
            "spent_amount": spent.amount,
            "spent_delta": spent.delta,
        }
        work.run(_HOLDER, row)
    for principal, groups in book.groups.items():
        for group in groups:
            work.run(_MEMBER, {"population": name, "principal": principal, "holder": group})
    for identity, current in book.holdings.items():
        row = {"population": name, "identity": identity, "current": int(current)}
        work.run(_HOLDING, row)
    for seq, waits in _waiting(book):
        work.run(_PROPOSAL, {"population": name, "seq": seq, "body": acts.encode_act(waits)})


def _restore_requests(work: Work, exported: Exported) -> None:
    """Write the rows of the charged requests and of their answers."""
    charges: dict[str, tuple[acts.Charged, dict[str, acts.Entry]]] = {}
    paid_by: dict[tuple[str, int], str] = {}
    newest: dict[str, str] = {}
    for name, chain in exported.chains.items():
        for entry in chain:
            match acts.decode_act(entry.body):
                case acts.Charged() as act:
                    charges.setdefault(act.nonce, (act, {}))[1][name] = entry
                    paid_by[name, entry.seq] = act.nonce
                    newest[act.release] = act.nonce
                case acts.AnswerStored(charge, release, _, _):
                    newest[release] = paid_by[name, charge]
    receipts = {}
    for nonce, (act, lines) in charges.items():
        parts = tuple(lines[name] for name in act.populations)
        receipts[nonce] = receipt_of(parts)
        request = {
            "principal": act.principal,
            "request": bytes.fromhex(act.request),
            "binding": binding_of(act.principal, act.populations, bytes.fromhex(act.release)),
            "nonce": bytes.fromhex(nonce),
            "places": " ".join(str(part.seq) for part in parts),
        }
        work.run(_STORE_REQUEST, request)
    for release, nonce in newest.items():
        key = bytes.fromhex(release)
        body = exported.answers.get(key)
        row = {"release": key, "receipt": receipts[nonce], "until": 0, "body": body}
        row["places"] = None
        work.run(_ANSWER, row)
