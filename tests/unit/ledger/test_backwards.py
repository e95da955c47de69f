"""A chain is read from its end, and no further than what is wanted needs."""

import json
from typing import Any

import pytest
from asking import TENTH, ask, open_pure
from history import charged, write_history

from tacit.core.codec import encode_event
from tacit.ledger import backwards as reading
from tacit.ledger import history, unanswered
from tacit.ledger.backwards import incidents_since_review, kind_in
from tacit.ledger.chain import append, walk
from tacit.ledger.entries import ACTS, AnswerStored, Charged, Failed, Looked, decode_act
from tacit.ledger.history import HistoryFilter
from tacit.ledger.ledger import Ledger
from tacit.ledger.unanswered import Mark
from tacit.store.store import Store

DAY_MS = 86_400_000


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes the numbers of the entries that are read backwards, in small pages."""
    found: list[int] = []
    honest = reading.backwards

    def noted(*given: object, **named: object) -> object:
        for seq, body in honest(*given, **named):  # type: ignore[arg-type]
            found.append(seq)
            yield seq, body

    for module in (reading, history):
        monkeypatch.setattr(module, "backwards", noted)
    monkeypatch.setattr(reading, "SMALL", 3)
    monkeypatch.setattr(reading, "PAGE", 5)
    monkeypatch.setattr(history, "PAGE", 5)
    return found


def marks_by_walking(store: Store, before: int) -> tuple[Mark, ...]:
    """What a walk over all entries finds."""
    found: list[Mark] = []
    with store.reading() as work:
        for entry in walk(work, "patients"):
            act = decode_act(entry.body)
            if entry.seq >= before:
                break
            if isinstance(act, Looked):
                found.clear()
            elif isinstance(act, Mark):
                found.append(act)
    return tuple(found)


def test_entries_are_those_of_a_walk_in_reverse(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SMALL", 3)
    monkeypatch.setattr(reading, "PAGE", 5)
    write_history(Ledger(store))
    with store.reading() as work:
        whole = [(entry.seq, entry.body) for entry in walk(work, "patients")]
        assert list(reading.backwards(work, "patients")) == whole[::-1]
        assert list(reading.backwards(work, "patients", 7, 20)) == whole[6:19][::-1]
        without = list(reading.backwards(work, "patients", answers=False))
    assert without == [each for each in whole[::-1] if '"kind":"kept"' not in each[1]]
    assert len(without) < len(whole) - 10


def test_the_kind_of_a_text_is_that_of_its_act(store: Store) -> None:
    write_history(Ledger(store))
    with store.reading() as work:
        for entry in walk(work, "patients"):
            assert ACTS[kind_in(entry.body)] is type(decode_act(entry.body))


def test_the_database_leaves_out_answers_and_charges_and_nothing_else(store: Store) -> None:
    write_history(Ledger(store))
    left = {"answers": AnswerStored, "charges": Charged}
    with store.reading() as work:
        for name in ("patients", "staff"):
            acts = {entry.seq: decode_act(entry.body) for entry in walk(work, name)}
            for what, kind in left.items():
                found = [seq for seq, _ in reading.backwards(work, name, **{what: False})]
                assert found == [seq for seq in acts if not isinstance(acts[seq], kind)][::-1]
    with_event = [kind for kind in ACTS.values() if "event" in kind.__dataclass_fields__]
    first = {name for kind in ACTS.values() for name in kind.__dataclass_fields__}
    assert with_event == [Charged]
    assert min(first) == "amount"
    assert min(first - {"amount"}) == "answer"


@pytest.mark.parametrize("name", ["bob", "b%b", "b_b", "b/b", "%", "Bob", "b'b", "Zoë", "b\\b"])
def test_charges_of_one_person_are_found_whatever_the_name(store: Store, name: str) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    for number, who in enumerate((name, "ann", "bxb", name, "bob")):
        charged(ledger, ask(f"count {number}", principal=who))
    wanted = [2, 5] if name != "bob" else [2, 5, 6]
    lines = ledger.history("patients", HistoryFilter.of(analyst=name))
    assert [line.entry for line in lines] == wanted
    with store.reading() as work:
        found = reading.backwards(work, "patients", named=json.dumps(name))
        places = [seq for seq, _ in found]
    assert set(places) >= {1, *wanted}  # the opening is no charge
    assert 3 not in places
    assert 4 not in places


def test_a_chain_without_incidents_is_not_read(store: Store, read: list[int]) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    for number in range(9):
        charged(ledger, ask(f"count {number}"))
    assert ledger.unreviewed_incidents("patients") == ()
    assert read == []


def test_incidents_are_those_of_a_walk(store: Store, read: list[int]) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "3")
    waiting = [charged(ledger, ask(f"count {number}")) for number in range(12)]
    place = 0
    for number, charge in enumerate(waiting):
        if number % 4 == 1:
            ledger.retry(charge)
        if number % 4 == 2:
            ledger.miss(charge)
        if number % 4 == 3:
            ledger.fail(charge)
            seen = ledger.unreviewed_incidents("patients")
            assert seen == marks_by_walking(store, 10**6)
            assert len(seen) == 3
            read.clear()
            assert ledger.look("patients", by="olga") == seen
            assert min(read) >= place  # nothing before the last review was read
            place = max(ledger.chain_ends().values())
            assert ledger.unreviewed_incidents("patients") == ()
    with store.reading() as work:
        found, review = incidents_since_review(work, "patients", 13, place)
    assert (len(found), review) == (3, place - 4)


def test_a_review_covers_what_was_recorded_while_it_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incident between the reading and the writing of a review is part of it."""
    ledger = Ledger(store)
    open_pure(ledger)
    first, second = (charged(ledger, ask(name)) for name in ("one", "two"))
    ledger.miss(first)
    waiting = [second]
    check = unanswered.compare_signers

    def between(*given: Any) -> None:
        check(*given)
        while waiting:
            append(given[0], "patients", Failed(waiting.pop().entries[0].seq, 5))
            given[0].run(unanswered._FAIL, {"at": "patients"})

    monkeypatch.setattr(unanswered, "compare_signers", between)
    covered = ledger.look("patients", by="olga")
    assert [type(each).__name__ for each in covered] == ["Missed", "Failed"]
    assert not ledger.status("patients").locked
    ledger.verify("patients")


def test_a_receipt_is_read_without_what_came_after(store: Store, read: list[int]) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "2")
    paid = [charged(ledger, ask(f"count {number}")) for number in range(12)]
    (line,) = ledger.history("patients", HistoryFilter.of(receipt=paid[0].receipt.hex()))
    assert (line.entry, line.decision, read) == (2, "no answer", [])
    ledger.retry(paid[0])
    ledger.retry(paid[5])
    (line,) = ledger.history("patients", HistoryFilter.of(receipt=paid[0].receipt.hex()))
    assert line.decision == "run twice"
    assert min(read) == 14  # the first incident of the chain, and no charge
    wanted = HistoryFilter.of(receipt=paid[0].receipt.hex(), kind="late")
    assert len(ledger.history("patients", wanted)) == 0


def write_days(store: Store, days: list[int]) -> None:
    """Charges at these days, written into the chain as they are."""
    event = encode_event(TENTH)
    with store.writing() as work:
        for number, day in enumerate(days):
            hash_ = f"{number:064x}"
            act = Charged(
                *("ann", ("ann",), hash_, hash_, hash_, event, 1, 0, "0", ("patients",)),
                f"{number:032x}",
                day * DAY_MS,
            )
            append(work, "patients", act)


def test_a_first_day_ends_the_reading_and_loses_no_line(store: Store, read: list[int]) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    # four entries of a clock that was set wrong are not enough to end it
    write_days(store, [*range(100, 140), 139, 1, 1, 1, 1, 140, 141])
    since = HistoryFilter.of(kind="charge", since="1970-05-17", limit=1000)  # day 136
    days = [line.at // DAY_MS for line in ledger.history("patients", since)]
    assert days == [136, 137, 138, 139, 139, 140, 141]
    assert min(read) > 25
    read.clear()
    everything = ledger.history("patients", HistoryFilter.of(kind="charge", limit=1000))
    assert (len(everything), min(read)) == (47, 1)
    until = HistoryFilter.of(kind="charge", until="1970-04-13", limit=1000)  # day 102
    assert len(ledger.history("patients", until)) == 7
