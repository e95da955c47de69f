"""Anchors of stores on disk: an old copy, or an anchor older than the last, is refused."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from asking import answer, ask, open_pure
from conftest import Bar

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.chain import Anchor, AnchorFile
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.store.store import SqlStore

COPIES = 100


YEAR_MS = 365 * 86_400_000


Opener = Callable[[str], SqlStore]


def copy(path: Path, to: Path) -> None:
    """What a backup is, made while the ledger is open."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def accepted(store: SqlStore, anchor: Anchor | None, shift_ms: int = 0) -> bool:
    try:
        Ledger(store, anchor=anchor, clock=lambda: wall_clock() + shift_ms)
    except LedgerBroken:
        return False
    return True


def test_old_copies_are_refused_and_the_newest_is_not(
    tmp_path: Path, opened: Opener, bar: Bar
) -> None:
    path, file = tmp_path / "ledger.db", AnchorFile(tmp_path / "anchors")
    store = opened(f"sqlite:///{path}")
    ledger = Ledger(store)
    open_pure(ledger, str(COPIES))
    for number in range(COPIES):
        copy(path, tmp_path / f"{number}.db")
        answer(ledger, ask(f"count {number}"))
        file.add(store)
    copy(path, tmp_path / "newest.db")
    anchor = file.newest()

    refused = trusting = 0
    for number in range(COPIES):
        old = opened(f"sqlite:///{tmp_path}/{number}.db")
        shifts = (0, YEAR_MS, -YEAR_MS)
        refused += not any(accepted(old, anchor, shift) for shift in shifts)
        # the lie: without the anchor an old copy opens, and its own chain verifies
        trusting += accepted(old, None) and Ledger(old).verify("patients").entries > 0
        old.close()
    bar("old copies refused, by three clocks", refused, f"{COPIES}", refused == COPIES)
    bar("old copies taken without the anchor", trusting, "told on the page", True)
    assert trusting == COPIES
    newest = opened(f"sqlite:///{tmp_path}/newest.db")
    assert all(accepted(newest, anchor, shift) for shift in (0, YEAR_MS, -YEAR_MS))


def test_a_file_of_anchors_refuses_to_go_back(
    tmp_path: Path, opened: Opener, new_store: Callable[[str], str]
) -> None:
    file = AnchorFile(tmp_path / "anchors")
    assert file.newest() is None
    store, older = opened(new_store("sqlite")), opened(new_store("sqlite"))
    open_pure(Ledger(store))
    first = file.add(store)
    answer(Ledger(store), ask("count"))
    second = file.add(store)
    assert file.newest() == second != first
    written = (tmp_path / "anchors").read_text()
    with pytest.raises(LedgerBroken, match="ends before entry 3"):
        file.add(older)
    assert (tmp_path / "anchors").read_text() == written


def test_a_line_that_a_crash_cut_short_is_not_an_anchor(
    store: SqlStore, tmp_path: Path
) -> None:
    path = tmp_path / "anchors"
    file = AnchorFile(path)
    open_pure(Ledger(store))
    first = file.add(store)
    whole = path.read_text()
    path.write_text(whole + first.text[:25])
    assert file.newest() == first
    assert file.add(store) == first
    assert path.read_text() == whole * 2
    path.write_text(whole + first.text[:25] + "\n")
    with pytest.raises(InvalidValue, match="text is not an anchor"):
        file.newest()
