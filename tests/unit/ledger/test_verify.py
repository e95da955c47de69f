"""A chain that is cut, changed, moved or rewritten, beside its anchor and its store."""

from dataclasses import replace
from hashlib import sha256

import pytest
from asking import answer, ask, open_pure

from tacit.core.loss import Loss
from tacit.errors import LedgerBroken, UnknownName
from tacit.ledger import chain as chains
from tacit.ledger.chain import Anchor, Head, check_anchor, head_of, hold, take_anchor, walk
from tacit.ledger.entries import FORMAT, GENESIS, Entry, follow
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import (
    Exported,
    export,
    read_export,
    verify,
    verify_export,
    verify_store,
)
from tacit.store.store import Store


@pytest.fixture
def kept(store: Store) -> list[Entry]:
    """A chain of three: opened, charged, answered."""
    ledger = Ledger(store)
    open_pure(ledger)
    answer(ledger, ask("count"))
    with store.reading() as work:
        made = list(walk(work, "patients"))
    assert [entry.seq for entry in made] == [1, 2, 3]
    return made


def anchored(entry: Entry) -> Anchor:
    return Anchor((Head(entry.population, entry.seq, entry.hash),))


def test_the_hash_of_an_entry_ties_it_to_its_place() -> None:
    entry = follow(GENESIS, "patients", 1, "{}")
    place = (1).to_bytes(8, "big") + (8).to_bytes(4, "big") + b"patients"
    assert entry.hash == sha256(FORMAT + bytes(32) + place + b"{}").digest()
    others = (
        follow(bytes(31) + b"\1", "patients", 1, "{}"),
        follow(GENESIS, "patient", 1, "s{}"),
        follow(GENESIS, "patients", 2, "{}"),
        follow(GENESIS, "patients", 1, "{ }"),
    )
    assert entry.hash not in {other.hash for other in others}


def test_a_whole_chain_is_believed_with_the_anchor_of_each_of_its_entries(
    kept: list[Entry],
) -> None:
    for entry in kept:
        book = verify("patients", kept, anchored(entry))
        assert (book.seq, book.head) == (3, kept[-1].hash)


@pytest.mark.parametrize("left", [1, 2])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_chain_that_is_cut_before_its_anchor_is_not_believed(
    kept: list[Entry], left: int, place: int
) -> None:
    cut, anchor = kept[:left], anchored(kept[place - 1])
    assert verify("patients", cut).seq == left  # the lie: without an anchor it is believed
    if left >= place:
        assert verify("patients", cut, anchor).seq == left
        return
    told = f"the chain ends here, but entry {place} was anchored"
    with pytest.raises(LedgerBroken, match=told):
        verify("patients", cut, anchor)


def test_an_anchor_of_another_chain_is_noticed_at_its_entry(kept: list[Entry]) -> None:
    for entry in kept:
        forged = Anchor((Head("patients", entry.seq, bytes(32)),))
        told = f"Entry {entry.seq} of 'patients': .*differs from the entry that was anchored"
        with pytest.raises(LedgerBroken, match=told):
            verify("patients", kept, forged)
    other = Anchor((Head("staff", 9, bytes(32)),))
    assert verify("patients", kept, other).seq == 3


def test_an_empty_chain_is_not_believed(kept: list[Entry]) -> None:
    with pytest.raises(LedgerBroken, match="The chain of 'patients' has no entries"):
        verify("patients", [])
    with pytest.raises(LedgerBroken, match="ends here, but entry 3 was anchored"):
        verify("patients", [], anchored(kept[-1]))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_entry_is_noticed(kept: list[Entry], place: int) -> None:
    for changed in (
        replace(kept[place], body=kept[place].body.replace("patients", "pirates") + " "),
        replace(kept[place], hash=bytes(32)),
        replace(kept[place], seq=kept[place].seq + 1),
    ):
        entries = [*kept[:place], changed, *kept[place + 1 :]]
        with pytest.raises(LedgerBroken):
            verify("patients", entries)


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (0, 1, 1), (0, 2), (1, 2), (0, 0, 1)])
def test_entries_that_are_moved_doubled_or_taken_out_are_noticed(
    kept: list[Entry], order: tuple[int, ...]
) -> None:
    with pytest.raises(LedgerBroken):
        verify("patients", [kept[place] for place in order])


def test_a_chain_is_of_its_population(kept: list[Entry]) -> None:
    with pytest.raises(LedgerBroken):
        verify("staff", kept)


def test_the_verdict_on_a_store_tells_what_it_adds_up_to(
    store: Store, kept: list[Entry]
) -> None:
    verdict = verify_store(store, "patients")
    assert (verdict.population, verdict.entries) == ("patients", 3)
    assert (verdict.head, verdict.anchored) == (kept[-1].hash, False)
    assert (verdict.spent, verdict.cap) == (Loss.pure("0.1"), Loss.pure(1))
    assert str(verdict) == (
        "patients: 3 entries are consistent (no anchor was given); epsilon 0.1 of epsilon 1 "
        "is spent."
    )
    assert verify_store(store, "patients", anchored(kept[1])).anchored
    other = Anchor((Head("staff", 1, bytes(32)),))
    assert not verify_store(store, "patients", other).anchored


def test_a_store_that_is_older_than_its_anchor_is_refused(
    store: Store, kept: list[Entry]
) -> None:
    check_anchor(store, take_anchor(store))
    for entry in kept:
        check_anchor(store, anchored(entry))
    with pytest.raises(LedgerBroken, match="ends before entry 4, which was anchored"):
        check_anchor(store, Anchor((Head("patients", 4, bytes(32)),)))
    with pytest.raises(
        LedgerBroken, match="entry 3 of 'patients' differs from the entry that was"
    ):
        check_anchor(store, Anchor((Head("patients", 3, kept[1].hash),)))


def test_the_head_of_a_chain_is_its_last_entry(store: Store, kept: list[Entry]) -> None:
    with store.reading() as work:
        assert head_of(work, "patients") == (3, kept[-1].hash)
        assert list(walk(work, "patients", after=1)) == kept[1:]
        assert list(walk(work, "patients", after=3)) == []
        with pytest.raises(UnknownName, match="no budget for the population 'staff'; an owner"):
            head_of(work, "staff")
    with (
        pytest.raises(UnknownName, match="no budget for the population 'staff'"),
        store.writing() as work,
    ):
        hold(work, "staff")


def test_a_long_chain_is_read_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "9")
    for number in range(3):
        answer(ledger, ask(f"count {number}"))
    with store.reading() as work:
        whole = list(walk(work, "patients"))
        for page in (1, 2, 3, 7):
            monkeypatch.setattr(chains, "PAGE", page)
            assert list(walk(work, "patients")) == whole
    assert [entry.seq for entry in whole] == list(range(1, 8))


def exported(store: Store) -> Exported:
    return read_export(export(store))


def test_an_export_is_believed_whole(store: Store, kept: list[Entry]) -> None:
    found = exported(store)
    assert [list(chain) for chain in found.chains.values()] == [kept]
    (book,) = verify_export(found, take_anchor(store))
    assert book.seq == 3


@pytest.mark.usefixtures("kept")
def test_an_export_without_an_answer_or_with_another_is_noticed(store: Store) -> None:
    found = exported(store)
    ((release, body),) = found.answers.items()
    for answers in ({}, {release: body + b" "}, {bytes(32): body}, {release: body, b"x": b""}):
        with pytest.raises(LedgerBroken, match="answers in this export differ"):
            verify_export(replace(found, answers=answers))


@pytest.mark.usefixtures("kept")
def test_an_export_without_an_anchored_chain_is_noticed(store: Store) -> None:
    open_pure(Ledger(store), "1", "staff")
    anchor = take_anchor(store)
    found = exported(store)
    assert len(verify_export(found, anchor)) == 2
    chains_left = {"patients": found.chains["patients"]}
    with pytest.raises(
        LedgerBroken, match="The chain of 'staff' was anchored, but it is missing"
    ):
        verify_export(replace(found, chains=chains_left), anchor)
    assert len(verify_export(replace(found, chains=chains_left))) == 1


def test_the_entries_of_a_chain_are_told_from_the_first_or_after_one(
    store: Store, kept: list[Entry]
) -> None:
    ledger = Ledger(store)
    assert ledger.entries("patients") == tuple(kept)
    assert ledger.entries("patients", after=1) == tuple(kept[1:])
    assert ledger.entries("staff") == ()
    assert ledger.owners("patients") == {"olga"}
    assert ledger.owners("staff") == frozenset()
    (body,) = exported(store).answers.values()
    (release,) = exported(store).answers
    assert ledger.stored_body(release) == body
    assert ledger.stored_body(bytes(32)) is None
