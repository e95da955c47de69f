"""Put an exported ledger into an empty store: nothing that was ever charged is forgotten."""

from collections.abc import Iterable
from hashlib import sha256

from sqlalchemy import insert, select

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.act import Charged, Kept
from tacit.ledger.anchor import Anchor
from tacit.ledger.book import Book
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import receipt_of
from tacit.ledger.entry import Entry
from tacit.ledger.export import Exported, read_export
from tacit.ledger.question import binding_of
from tacit.ledger.stored_act import decode, encode
from tacit.ledger.units import NO_LIMIT, NO_UNITS
from tacit.ledger.verify import verify
from tacit.store.store import Store
from tacit.store.tables import (
    answers,
    budgets,
    entries,
    holders,
    members,
    owners,
    proposals,
    requests,
)
from tacit.store.work import Work

_ANY = select(budgets.c.population).limit(1)
_BUDGET, _ENTRY, _OWNER, _HOLDER = map(insert, (budgets, entries, owners, holders))
_MEMBER, _PROPOSAL, _REQUEST, _ANSWER = map(insert, (members, proposals, requests, answers))


def restore(store: Store, lines: Iterable[str], anchor: Anchor | None = None) -> None:
    """Fill the empty ``store`` with an export that verifies, all of it or nothing.

    Guarantee: every budget, quota, request and answer is as it was; a charge without an answer
    stays charged, and its answer is lost.
    """
    exported = read_export(lines)
    books = [verify(name, chain, anchor) for name, chain in exported.chains.items()]
    for book in books:
        for release, digest in book.kept.items():
            if sha256(exported.answers.get(release, b"")).digest() != digest:
                raise LedgerBroken(
                    f"An answer about {book.population!r} is not as it was kept."
                )
    with store.writing() as work:
        if work.one(_ANY, {}) is not None:
            raise InvalidValue("A ledger is restored into an empty store, and this is not one.")
        for book in books:
            _restore_book(work, book, exported.chains[book.population])
        _restore_requests(work, exported)


def _restore_book(work: Work, book: Book, chain: list[Entry]) -> None:
    """The rows of one population, which follow from its chain."""
    name, opened = book.population, book.opened
    if opened is None:
        raise LedgerBroken(f"The chain of {name!r} is empty.")
    budget = {
        "population": name,
        "period": ALL_TIME,
        "unit": opened.unit,
        "neighbours": opened.neighbours,
        "measure": opened.measure,
        "conversion_delta": opened.conversion_delta,
        "idealised": opened.idealised,
        "cap_amount": book.cap.amount,
        "cap_delta": book.cap.delta,
        "spent_amount": book.spent.amount,
        "spent_delta": book.spent.delta,
        "head_seq": book.seq,
        "head_hash": book.head,
    }
    work.run(_BUDGET, budget)
    for entry in chain:
        row = {"population": name, "seq": entry.seq, "body": entry.body, "hash": entry.hash}
        work.run(_ENTRY, row)
    for owner in book.owners:
        work.run(_OWNER, {"population": name, "owner": owner})
    for holder in book.quotas.keys() | book.spent_by.keys():
        cap = book.quotas.get(holder, NO_LIMIT)
        spent = book.spent_by.get(holder, NO_UNITS)
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
    for seq, proposed in book.proposals.items():
        work.run(_PROPOSAL, {"population": name, "seq": seq, "body": encode(proposed)})


def _restore_requests(work: Work, exported: Exported) -> None:
    """The requests that were charged, and the place of each answer."""
    charges: dict[str, tuple[Charged, dict[str, Entry]]] = {}
    paid_by: dict[tuple[str, int], str] = {}
    newest: dict[str, str] = {}
    for name, chain in exported.chains.items():
        for entry in chain:
            match decode(entry.body):
                case Charged() as act:
                    charges.setdefault(act.nonce, (act, {}))[1][name] = entry
                    paid_by[name, entry.seq] = act.nonce
                    if act.release not in newest or bytes.fromhex(act.release) not in (
                        exported.answers
                    ):
                        newest[act.release] = act.nonce
                case Kept(charge, release, _, _):
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
        work.run(_REQUEST, request)
    for release, nonce in newest.items():
        key = bytes.fromhex(release)
        body = exported.answers.get(key)
        row = {"release": key, "receipt": receipts[nonce], "until": 0, "body": body}
        work.run(_ANSWER, row)
