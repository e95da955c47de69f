"""Whether the tables that a store keeps for speed say what its chain says."""

from hashlib import sha256

from sqlalchemy import bindparam, select

from tacit.ledger.answer import stored_body
from tacit.ledger.book import Book
from tacit.ledger.budget_row import BudgetRow, find_budget
from tacit.ledger.chain import head_of
from tacit.ledger.decide import owners_of
from tacit.ledger.holding import holdings_of
from tacit.ledger.least import least_amount
from tacit.ledger.stored_act import encode
from tacit.ledger.units import NO_LIMIT, NO_UNITS, Units
from tacit.store.tables import holders, members, proposals, requests
from tacit.store.work import Work

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
_REQUEST = select(requests.c.binding).where(
    requests.c.principal == bindparam("who"), requests.c.request == bindparam("key")
)

Limits = dict[str, tuple[Units, Units]]
"""What each holder may spend, and has spent."""


def compare(work: Work, book: Book) -> None:
    """Refuse a store whose tables are not what the chain in ``book`` adds up to."""
    row = find_budget(work, book.population)
    head = head_of(work, book.population)
    if row != budget_in(book) or head != (book.seq, book.head):
        raise book.broken("the budget that the store shows is not what the chain adds up to")
    found = {
        holder: (Units(*amounts[:2]), Units(*amounts[2:]))
        for holder, *amounts in work.all(_HOLDERS, {"at": book.population})
    }
    if found != limits_in(book):
        raise book.broken("the quotas that the store shows are not those of the chain")
    _compare_government(work, book)
    if holdings_of(work, book.population) != book.holdings:
        raise book.broken("the tables that the store shows are not those of the chain")
    for (principal, request), binding in book.requests.items():
        if work.one(_REQUEST, {"who": principal, "key": request}) != (binding,):
            raise book.broken("a request that was charged is not remembered as it was")
    for release, answer in book.kept.items():
        body = stored_body(work, release)
        if body is None or sha256(body).digest() != answer:
            raise book.broken("a stored answer is not the one that the chain tells of")
    for release in set(book.unanswered.values()) - book.kept.keys():
        if stored_body(work, release) is not None:
            raise book.broken("an answer is stored that the chain does not tell of")


def budget_in(book: Book) -> BudgetRow:
    """The budget that a chain adds up to."""
    opened = book.opened
    if opened is None:
        raise book.broken("the chain is empty")
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
    """The quotas that a chain adds up to."""
    return {
        holder: (book.quotas.get(holder, NO_LIMIT), book.spent_by.get(holder, NO_UNITS))
        for holder in book.quotas.keys() | book.spent_by.keys()
    }


def _compare_government(work: Work, book: Book) -> None:
    at = {"at": book.population}
    groups = {(who, group) for who, joined in book.groups.items() for group in joined}
    waiting = {(seq, encode(proposed)) for seq, proposed in book.proposals.items()}
    if (
        owners_of(work, book.population) != book.owners
        or set(work.all(_MEMBERS, at)) != groups
        or set(work.all(_PROPOSALS, at)) != waiting
    ):
        raise book.broken("owners, groups or proposals are not those of the chain")
