"""Checkpoints: entries that say that a chain was verified so far, so that few are read again.

Verifying an entry costs about 80 microseconds, so that a chain of two million entries takes
minutes. A reader who has verified a chain therefore appends a *checkpoint*: an entry with the
hash of the state that the chain adds up to, signed with a key of the ledger. The state itself
is in a table. A later reader who has the same key resumes from that state, and reads the
entries after it. A walk from the first entry verifies every checkpoint too.

A reader who resumes does not see an old entry that was changed in the database after its
checkpoint: the totals are those that were verified then, and the entry is not read. A walk
from the start sees it, and so does an anchor of that entry. A checkpoint that is signed with
another key is not trusted: the chain is then read from its start.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import Conflict, LedgerBroken, StoreFailed
from tacit.ledger.book import Book
from tacit.ledger.book_state import NEWEST_FORM, signed_text, state_digest
from tacit.ledger.chain import PAGE, Anchor, append, head_of, hold, walk
from tacit.ledger.chain_acts import Checkpointed
from tacit.ledger.entries import Entry, decode_act
from tacit.ledger.verify import (
    ChainVerdict,
    compare,
    compare_keys,
    compare_rows,
    compare_totals,
    compare_unanswered,
    verdict_on,
    verify,
)
from tacit.store import (
    ANCHOR,
    Seen,
    SigningKey,
    Store,
    Work,
    check_end,
    is_signed,
    missing_entry,
)
from tacit.store.tables import budgets, checkpoints, entries

EVERY = 1000
"""Entries after which a reader who has verified a chain writes a checkpoint."""

SHORT = 200
"""The most entries that are read while other writers wait for a checkpoint."""

_NEWEST = select(checkpoints.c.seq, checkpoints.c.state).where(
    checkpoints.c.population == bindparam("at")
)
_NUMBERS = select(checkpoints.c.population, checkpoints.c.seq)
_POPULATIONS = select(budgets.c.population)
_ENTRY = select(entries.c.body, entries.c.hash).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("place")
)
_new = upsert(checkpoints)
_STORE = _new.on_conflict_do_update(
    index_elements=[checkpoints.c.population],
    set_={"seq": _new.excluded.seq, "state": _new.excluded.state},
)


def resume_book(work: Work, population: str, key: SigningKey | None) -> Book:
    """Return the book of a chain at its newest checkpoint, or an empty one.

    It is empty without a ``key`` or a checkpoint, and if another key signed it, or it is of an
    earlier form. Raise
    `LedgerBroken` if the checkpoint, or the state that is stored with it, was changed.
    """
    row = work.one(_NEWEST, {"at": population}) if key is not None else None
    if row is None or key is None:
        return Book(population)
    seq, state = row
    found = work.one(_ENTRY, {"at": population, "place": seq})
    before = work.one(_ENTRY, {"at": population, "place": seq - 1})
    act = None if found is None else decode_act(found[0])
    if before is None or not isinstance(act, Checkpointed):
        raise _refuse_checkpoint(population, seq, "it is not in the chain")
    if act.key != key.public.hex() or act.form != NEWEST_FORM:
        return Book(population)
    previous = bytes(before[1])
    text = signed_text(population, seq, previous, act.state)
    if not is_signed(text, _signature(act), key.public):
        raise _refuse_checkpoint(population, seq, "its signature does not fit")
    if state_digest(state) != act.state:
        raise _refuse_checkpoint(
            population, seq, "the state that is stored with it was changed"
        )
    return Book.resume(population, seq, previous, state)


def _signature(act: Checkpointed) -> bytes:
    try:
        return bytes.fromhex(act.signature)
    except ValueError:
        return b""


def _refuse_checkpoint(population: str, seq: int, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"The checkpoint in entry {seq} of {population!r} cannot be used: {why}. Run `tacit "
        "ledger verify --from-the-start` to see whether the chain is sound, and restore the "
        "ledger from a backup."
    )


def current_book(work: Work, population: str, key: SigningKey | None) -> Book:
    """Return the book of the whole chain, read from its newest checkpoint, within ``work``.

    Raise `LedgerBroken` if an entry after the checkpoint does not verify, or if the table of
    owners' keys is not the one that the chain has.
    """
    book = resume_book(work, population, key)
    book.read_all(walk(work, population, book.seq))
    book.check_end()
    if book.opened is None:
        raise LedgerBroken(
            f"The chain of {population!r} has no entries. Restore the ledger from a backup."
        )
    compare_keys(work, book)
    return book


def compare_signers(work: Work, population: str, key: SigningKey | None) -> None:
    """Raise `LedgerBroken` if the keys that an owner's act is signed by are not the chain's.

    It locks the chain, and must be called before the act is written. Without a ``key`` nothing
    is compared, since the chain could not be read from a checkpoint.
    """
    if key is not None:
        hold(work, population)
        current_book(work, population, key)


def check_kept(store: Store, key: SigningKey | None) -> None:
    """Raise `LedgerBroken` if ``store`` lost an entry, or its keys are not those of its chains.

    The entries are those that this process has read or written last. Each chain is read from
    its newest checkpoint.
    """
    store.check_file()
    with store.reading() as work:
        for population in sorted(work.known.ends):
            check_end(work, population)
        for (population,) in sorted(work.all(_POPULATIONS, {})):
            current_book(work, population, key)


def verify_since_checkpoint(
    store: Store,
    population: str,
    anchor: Anchor | None = None,
    key: SigningKey | None = None,
) -> tuple[ChainVerdict, Book]:
    """Verify a chain, and the store's tables against it; return the summary and the book.

    With a ``key``, entries are read from the newest checkpoint that it signed. An anchor of an
    earlier entry is then compared with that entry alone.
    """
    with store.reading() as work:
        book = resume_book(work, population, key)
        head = anchor.head(population) if anchor else None
        if head is not None and head.seq <= book.seq:
            seen = Seen(population, head.seq, head.hash, head.first)
            error = missing_entry(work, seen, ANCHOR)
            if error is not None:
                raise error
        verify(population, walk(work, population, book.seq), anchor, book)
        compare(work, book)
    return verdict_on(book, anchor), book


def checkpoints_in(work: Work) -> dict[str, int]:
    """Return the number of the newest checkpoint of each chain that has one."""
    return dict(work.all(_NUMBERS, {}))


def write_checkpoint(  # noqa: PLR0913 - a chain that was read, and how to write
    store: Store,
    book: Book,
    key: SigningKey,
    now: int,
    rest: Callable[[float], None] = lambda _: None,
    *,
    compared: bool = False,
) -> Entry | None:
    """Verify the rest of the chain of ``book``, and append a checkpoint.

    ``rest`` is called with the seconds that each part took, so that a thread can leave time to
    others. ``compared`` says that the requests and answers of ``book`` were compared with the
    tables. Return None if another writer was first.

    Guarantee: the checkpoint states what the verified entries add up to, and the totals in the
    store's tables are the same.
    """
    population = book.population
    done = (len(book.requests), len(book.kept)) if compared else (0, 0)
    while True:
        began = time.perf_counter()
        with store.reading() as work:
            page = list(islice(walk(work, population, book.seq), PAGE))
            book.read_all(page)
            done = compare_rows(work, book, done)
        rest(time.perf_counter() - began)
        if len(page) <= SHORT:
            break
    with suppress(Conflict), store.writing() as work:
        hold(work, population)
        book.read_all(walk(work, population, book.seq))
        compare_rows(work, book, done)
        compare_totals(work, book)
        compare_unanswered(work, book)
        return _append(work, book, key, now)
    return None


def _append(work: Work, book: Book, key: SigningKey, now: int) -> Entry:
    book.check_end()
    seq, previous = head_of(work, book.population)
    state = book.state
    digest = state_digest(state)
    signature = key.sign(signed_text(book.population, seq + 1, bytes(previous), digest))
    act = Checkpointed(digest, key.public.hex(), signature.hex(), now, NEWEST_FORM)
    entry = append(work, book.population, act)
    work.run(_STORE, {"population": book.population, "seq": entry.seq, "state": state})
    return entry


def write_if_due(
    store: Store, book: Book, key: SigningKey | None, now: int, *, compared: bool = False
) -> None:
    """Write a checkpoint if there were many entries since the last one.

    The ``book`` was verified, and perhaps ``compared``. A store that cannot be written stays as
    it is: the next reader reads as many entries.
    """
    if key is None or book.seq < EVERY:
        return
    with store.looking() as work:
        last = checkpoints_in(work).get(book.population, 0)
    if book.seq - last >= EVERY:
        with suppress(StoreFailed):
            write_checkpoint(store, book, key, now, compared=compared)
