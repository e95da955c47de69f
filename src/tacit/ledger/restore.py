"""Put an exported ledger into an empty store: nothing that was ever charged is forgotten."""

from collections.abc import Iterable

from sqlalchemy import insert, select

from tacit.errors import InvalidValue
from tacit.ledger.act import Charged, Kept, StateSealed
from tacit.ledger.anchor import Anchor
from tacit.ledger.book import Book
from tacit.ledger.chain import ALL_TIME, row_of
from tacit.ledger.charge import receipt_of
from tacit.ledger.compare import budget_in, limits_in
from tacit.ledger.entry import Entry
from tacit.ledger.export import Exported, read_export
from tacit.ledger.question import binding_of
from tacit.ledger.stored_act import decode, encode
from tacit.ledger.verify import verify_export
from tacit.store.store import Store
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
from tacit.store.work import Work

_ANY = select(budgets.c.population).limit(1)
_BUDGET, _ENTRY, _OWNER, _HOLDER = map(insert, (budgets, entries, owners, holders))
_MEMBER, _PROPOSAL, _REQUEST, _ANSWER = map(insert, (members, proposals, requests, answers))
_HOLDING = insert(holdings)


def restore(store: Store, lines: Iterable[str], anchor: Anchor | None = None) -> None:
    """Fill the empty ``store`` with an export that verifies, all of it or nothing.

    Guarantee: every budget, quota, request and answer is as it was; a charge without an answer
    stays charged, and its answer is lost.
    """
    exported = read_export(lines)
    books = verify_export(exported, anchor)
    with store.writing() as work:
        if work.one(_ANY, {}) is not None:
            raise InvalidValue("A ledger is restored into an empty store, and this is not one.")
        for book in books:
            _restore_book(work, book, exported.chains[book.population])
        _restore_requests(work, exported)


def _restore_book(work: Work, book: Book, chain: list[Entry]) -> None:
    """The rows of one population, which follow from its chain."""
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
        act = decode(entry.body)
        state = act.state if isinstance(act, StateSealed) else None
        work.run(_ENTRY, row_of(entry, state))
    for owner in book.owners:
        work.run(_OWNER, {"population": name, "owner": owner})
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
        row["places"] = None
        work.run(_ANSWER, row)
