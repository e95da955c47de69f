"""Anchors are checked when a ledger is opened, and written as charges go by."""

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from sqlalchemy import select

from tacit.core.event import LaplaceNoise
from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue, LedgerBroken, StoreFailed
from tacit.ledger import anchor_keeper
from tacit.ledger.anchor_keeper import MOST_BEHIND, AnchorKeeper
from tacit.ledger.anchor_places import (
    AnchorPlace,
    CommandPlace,
    FilePlace,
    FolderPlace,
    check_place,
    newest_anchor,
    renew_anchor,
    start_anchors,
)
from tacit.ledger.chain import Anchor, Head, take_anchor
from tacit.ledger.charge import Units
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.store.key_files import SigningKey
from tacit.store.store import SqlStore
from tacit.store.tables import entries

KEY = SigningKey(bytes(32))
SMALL = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10**6))
KEEP = """\
import pathlib, sys
kept = pathlib.Path("kept")
if sys.argv[1] == "get":
    lines = kept.read_text().splitlines() if kept.exists() else []
    print(lines[-1] if lines else "")
else:
    with kept.open("a") as file:
        file.write(sys.stdin.read())
"""
KINDS = ("file", "folder", "command")


def place_in(folder: Path, kind: str) -> AnchorPlace:
    if kind == "file":
        return FilePlace(folder / "anchors")
    if kind == "folder":
        return FolderPlace(folder / "many")
    (folder / "keep.py").write_text(KEEP)
    return CommandPlace((sys.executable, "keep.py"), folder)


@pytest.mark.parametrize("kind", KINDS)
def test_the_newest_anchor_is_read_again(kind: str, tmp_path: Path, store: SqlStore) -> None:
    place, ledger = place_in(tmp_path, kind), Ledger(store)
    assert place.newest() is None
    assert renew_anchor(store, place, KEY, lambda: 1) is None  # there is nothing to anchor
    open_pure(ledger)
    for number in range(12):
        answer(ledger, ask(f"count {number % 9}"))
        written = renew_anchor(store, place, KEY, partial(int, number))
        assert newest_anchor(place, KEY) == written == take_anchor(store)
    assert written is not None
    assert written.heads[0].spent == Units(9 * 10**11, 0)
    assert check_place(store, place, KEY) == written
    line = place.newest()
    assert renew_anchor(store, place, KEY, lambda: 99) == written
    assert place.newest() == line  # nothing has happened since


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_series_is_the_newest_though_it_is_shorter(
    kind: str, tmp_path: Path, opened: Callable[[str], SqlStore], new_store: Callable[..., str]
) -> None:
    place = place_in(tmp_path, kind)
    long, short = (opened(new_store("sqlite")) for _ in range(2))
    open_pure(Ledger(long))
    answer(Ledger(long), ask("count"))
    open_pure(Ledger(short))
    renew_anchor(long, place, KEY, lambda: 1)
    with pytest.raises(LedgerBroken, match="The ledger was replaced"):
        renew_anchor(short, place, KEY, lambda: 2)
    begun = start_anchors(short, place, KEY, lambda: 3)
    assert newest_anchor(place, KEY) == begun
    assert check_place(short, place, KEY) == begun


GARBLED = (b"{", b"\xff\xfe", b'{"tacit anchor":3,"heads":[]}')
READABLE = [
    (kind, text)
    for kind in KINDS
    for text in GARBLED
    if kind != "command" or text.isascii()  # a command that prints no text has failed
]


@pytest.mark.parametrize(("kind", "garbled"), READABLE)
def test_no_series_begins_after_an_anchor_that_cannot_be_read(
    kind: str, garbled: bytes, tmp_path: Path, store: SqlStore
) -> None:
    """In a folder it would have been the older one, and the garbled one the newest."""
    place = place_in(tmp_path, kind)
    open_pure(Ledger(store))
    for number in range(2):
        answer(Ledger(store), ask(f"count {number}"))
        renew_anchor(store, place, KEY, lambda: 7)
    newest = max((tmp_path / "many").iterdir()) if kind == "folder" else None
    file = newest or tmp_path / ("anchors" if kind == "file" else "kept")
    file.write_bytes(garbled + b"\n")
    with pytest.raises(InvalidValue, match="move it aside and keep it"):
        start_anchors(store, place, KEY, lambda: 8)
    file.unlink()
    begun = start_anchors(store, place, KEY, lambda: 9)
    assert newest_anchor(place, KEY) == begun
    assert begun.generation == (1 if kind == "folder" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_or_empty_place_is_refused_once_something_was_charged(
    kind: str, tmp_path: Path, store: SqlStore
) -> None:
    place, ledger = place_in(tmp_path, kind), Ledger(store)
    open_pure(ledger)
    assert check_place(store, place, KEY) is None
    answer(ledger, ask("count"))
    with pytest.raises(LedgerBroken, match="There is no anchor in the"):
        check_place(store, place, KEY)
    for name in ("anchors", "kept"):
        (tmp_path / name).write_text("")
    with pytest.raises(LedgerBroken, match="There is no anchor in the"):
        check_place(store, place, KEY)
    start_anchors(store, place, KEY, lambda: 1)
    assert check_place(store, place, KEY) == take_anchor(store)


def test_a_command_that_fails_says_so(tmp_path: Path, store: SqlStore) -> None:
    for command, words in ((("/bin/false",), "exit code 1"), (("/no/such",), "could not be")):
        with pytest.raises(StoreFailed, match=words):
            check_place(store, CommandPlace(command, tmp_path), KEY)


def test_an_anchor_of_another_key_or_without_one_is_refused(
    tmp_path: Path, store: SqlStore
) -> None:
    place = FilePlace(tmp_path / "anchors")
    open_pure(Ledger(store))
    for signed in (take_anchor(store), take_anchor(store).sign(SigningKey(b"1" * 32), 1)):
        place.put(signed)
        with pytest.raises(LedgerBroken, match="not signed with the key of this ledger"):
            check_place(store, place, KEY)
    place.put(take_anchor(store).sign(KEY, 1))
    assert check_place(store, place, KEY) is not None


def test_the_line_of_many_populations_is_read_as_a_whole(tmp_path: Path) -> None:
    """Such a line is longer than the end of a file that is read first."""
    place = FilePlace(tmp_path / "anchors")
    heads = tuple(Head(f"p{n:03}", 1, bytes(32), Units(1, 0), bytes(32)) for n in range(600))
    for at in (1, 2):
        place.put(Anchor(heads).sign(KEY, at))
        with (tmp_path / "anchors").open("a") as file:
            file.write(Anchor(heads).text)  # a crash cut this line short
        newest = newest_anchor(place, KEY)
        assert newest is not None
        assert newest.at == at


def test_every_edit_of_an_anchor_is_seen(tmp_path: Path, store: SqlStore, bar: Bar) -> None:
    """Each character of the newest line is replaced, and each part of it is left out."""
    place, ledger = FilePlace(tmp_path / "anchors"), Ledger(store)
    open_pure(ledger)
    open_pure(ledger, "1", "staff")
    answer(ledger, ask("count"))
    anchor = renew_anchor(store, place, KEY, lambda: 7)
    assert anchor is not None
    text = anchor.text
    edits = [text[:at] + "0" + text[at + 1 :] for at in range(len(text)) if text[at] != "0"]
    parts = json.loads(text)
    edits += [json.dumps({k: v for k, v in parts.items() if k != each}) for each in parts]
    edits.append(json.dumps(parts | {"heads": parts["heads"][:1]}, separators=(",", ":")))
    seen = 0
    for edit in edits:
        (tmp_path / "anchors").write_text(edit + "\n")
        try:
            check_place(store, place, KEY)
        except LedgerBroken:
            seen += 1
    bar(
        "edits of an anchor that are seen", f"{seen} of {len(edits)}", "all", seen == len(edits)
    )
    # the lie: an anchor without a signature is believed about a sum that was lowered
    head = anchor.heads[0]
    lowered = Head(head.population, head.seq, head.hash, Units(0, 0), head.first)
    (tmp_path / "anchors").write_text(Anchor((lowered,)).text + "\n")
    assert check_place(store, place, None) is not None


def test_a_long_file_keeps_its_newest_lines(
    tmp_path: Path, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ledger.anchor_places.LARGEST_FILE", 20_000)
    monkeypatch.setattr("tacit.ledger.anchor_places.KEPT_LINES", 10)
    place, ledger = FilePlace(tmp_path / "anchors"), Ledger(store)
    open_pure(ledger)
    for number in range(100):
        place.put(take_anchor(store).sign(KEY, number))
    newest = newest_anchor(place, KEY)
    assert newest is not None
    assert newest.at == 99
    assert 10 <= len((tmp_path / "anchors").read_text().splitlines()) < 60


# ------------------------------------------------------------------ as charges go by


class SlowPlace(FilePlace):
    """A place that takes a while, and writes down how far it is behind each time."""

    def __init__(self, path: Path, store: SqlStore, seconds: float) -> None:
        super().__init__(path)
        self.store, self.seconds = store, seconds
        self.behind: list[int] = []
        self.anchored = 0

    def put(self, anchor: Anchor) -> None:
        time.sleep(self.seconds)
        with self.store.looking() as work:
            charged = sum(
                '"kind":"charged"' in body for (body,) in work.all(select(entries.c.body), {})
            )
        self.behind.append(charged - self.anchored)
        covered = anchor.heads[0].spent
        assert covered is not None
        super().put(anchor)
        self.anchored = covered.amount // 10**6


class BrokenPlace(FilePlace):
    """A place that cannot be written while ``broken``."""

    broken = True

    def put(self, anchor: Anchor) -> None:
        if self.broken:
            raise StoreFailed("The disk of the anchors is full.")
        super().put(anchor)


def keeper_of(store: SqlStore, place: AnchorPlace) -> AnchorKeeper:
    keeper = AnchorKeeper(store, place, KEY, wall_clock)
    keeper.open()
    return keeper


def charge_many(ledger: Ledger, threads: int, each: int) -> None:
    def work(writer: int) -> None:
        for number in range(each):
            ledger.reserve(ask(f"{writer} {number}", event=SMALL), lease_ms=60_000)

    running = [Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def opened_with_small_charges(store: SqlStore) -> None:
    ledger = Ledger(store)
    people = ask("x").targets[0].population
    ledger.open_budget(people, Budget(Loss.pure(100)), ("olga",), by="olga")
    ledger.set_least("patients", 0, by="olga")


@pytest.mark.parametrize(("threads", "each"), [(1, 300), (32, 20)])
def test_anchors_are_at_most_a_hundred_charges_behind(
    tmp_path: Path, store: SqlStore, bar: Bar, threads: int, each: int
) -> None:
    place = SlowPlace(tmp_path / "anchors", store, 0.1)
    opened_with_small_charges(store)
    keeper = keeper_of(store, place)
    charge_many(Ledger(store, gate=keeper), threads, each)
    keeper.close()
    most = max(place.behind)
    name = f"most charges without an anchor, {threads} threads"
    bar(name, most, f"at most {MOST_BEHIND}", most <= MOST_BEHIND)
    assert place.anchored == threads * each
    if threads == 32:  # the lie: a gate that lets everything pass
        place.behind.clear()
        idle = keeper_of(store, place)
        idle._start()
        ledger = Ledger(store)
        for number in range(150):
            ledger.reserve(ask(f"lie {number}", event=SMALL), lease_ms=60_000)
        idle.close()
        assert max(place.behind) > MOST_BEHIND


def test_charges_are_refused_while_no_anchor_can_be_written(
    tmp_path: Path, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_keeper, "LONGEST_BEHIND", 1.0)
    monkeypatch.setattr(anchor_keeper, "PAUSE", 0.1)
    place = BrokenPlace(tmp_path / "anchors")
    opened_with_small_charges(store)
    keeper = keeper_of(store, place)
    ledger = Ledger(store, gate=keeper)
    ledger.reserve(ask("first", event=SMALL), lease_ms=60_000)
    time.sleep(1.5)
    assert not keeper.is_current
    before = ledger.status("patients").spent
    with pytest.raises(StoreFailed, match="The disk of the anchors is full"):
        ledger.reserve(ask("second", event=SMALL), lease_ms=60_000)
    assert ledger.status("patients").spent == before
    place.broken = False
    end = time.monotonic() + 60
    while not keeper.is_current and time.monotonic() < end:
        time.sleep(0.05)
    ledger.reserve(ask("second", event=SMALL), lease_ms=60_000)
    keeper.close()
    assert newest_anchor(place, KEY) == take_anchor(store)


def test_what_a_killed_process_left_behind_counts_for_the_next(
    tmp_path: Path, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_keeper, "LONGEST_BEHIND", 1.0)
    place = BrokenPlace(tmp_path / "anchors")
    opened_with_small_charges(store)
    place.broken = False
    keeper_of(store, place).close()
    place.broken = True
    killed = Ledger(store)
    for number in range(MOST_BEHIND):
        killed.reserve(ask(f"killed {number}", event=SMALL), lease_ms=60_000)
    ledger = Ledger(store, gate=keeper_of(store, place))
    with pytest.raises(StoreFailed, match="too far behind"):
        ledger.reserve(ask("next", event=SMALL), lease_ms=60_000)


def test_anchors_that_vanish_while_charges_go_by_stop_them(
    tmp_path: Path, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_keeper, "PAUSE", 0.1)
    place = FilePlace(tmp_path / "anchors")
    opened_with_small_charges(store)
    keeper_of(store, place).close()
    keeper = keeper_of(store, place)
    ledger = Ledger(store, gate=keeper)
    (tmp_path / "anchors").unlink()
    ledger.reserve(ask("first", event=SMALL), lease_ms=60_000)
    end = time.monotonic() + 60
    while keeper.is_current and time.monotonic() < end:
        time.sleep(0.05)
    assert not keeper.is_current
    assert not (tmp_path / "anchors").exists()
