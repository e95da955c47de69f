"""Anchors: old copies are refused, whatever the clock says, and other chains too."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from history import write_history

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.anchor import Anchor, AnchorFile, Head, check_anchor, take_anchor
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


def test_what_was_charged_after_the_anchor_is_accepted(store: SqlStore) -> None:
    ledger = Ledger(store)
    write_history(ledger)
    anchor = take_anchor(store)
    answer(ledger, ask("one more"))
    open_pure(ledger, "1", "visitors")
    check_anchor(store, anchor)
    verdict = ledger.verify("patients", anchor)
    assert verdict.anchored
    assert not ledger.verify("visitors", anchor).anchored
    assert "and its anchor" in str(verdict)
    assert "and no anchor" in str(ledger.verify("patients"))


def test_another_ledger_of_the_same_length_is_refused(
    new_store: Callable[[str], str], opened: Opener
) -> None:
    ours, theirs = opened(new_store("sqlite")), opened(new_store("sqlite"))
    for store in (ours, theirs):
        write_history(Ledger(store))
    with pytest.raises(LedgerBroken, match="not the one that was anchored"):
        Ledger(theirs, anchor=take_anchor(ours))


def test_a_population_that_vanished_is_refused(store: SqlStore) -> None:
    open_pure(Ledger(store))
    heads = take_anchor(store).heads
    with pytest.raises(LedgerBroken, match="ends before entry 1"):
        Ledger(store, anchor=Anchor((*heads, Head("staff", 1, bytes(32)))))


def test_an_anchor_is_its_own_line(store: SqlStore) -> None:
    write_history(Ledger(store))
    anchor = take_anchor(store)
    assert [head.population for head in anchor.heads] == ["patients", "staff"]
    assert Anchor.of(anchor.text) == anchor
    assert "\n" not in anchor.text
    assert anchor.head("nobody") is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", '{"heads":[["a",1,"zz"]]}', '{"heads":1}']
)
def test_what_is_not_an_anchor_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="not the text of an anchor"):
        Anchor.of(text)


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
    with pytest.raises(InvalidValue, match="not the text of an anchor"):
        file.newest()
