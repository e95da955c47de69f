"""A declaration records when each of its epochs began, and `verify` checks that."""

from dataclasses import replace
from datetime import date
from itertools import count

import pytest
from asking import LEASE_MS, ask, open_pure

from tacit.core.catalog import Epoch, Location, PublicTable
from tacit.core.domain import Column, Kind, Schema
from tacit.errors import LedgerBroken
from tacit.ledger.chain import append
from tacit.ledger.charge import Charge, utc_day
from tacit.ledger.declarations import CatalogDeclarations, epochs_in, read_epochs
from tacit.ledger.entries import Described, FactsDeclared, decode_act, encode_act
from tacit.ledger.ledger import Ledger
from tacit.project.populations import epoch_fact, is_epoch_fact
from tacit.store.store import Store

DAY_MS = 86_400_000
START = 20_000 * DAY_MS
ONE, TWO, WARDS = "visits: epoch '1'", "visits: epoch '2'", "wards: epoch '1'"
AGE = "visits.age: integer"


@pytest.fixture
def ledger(store: Store) -> Ledger:
    """A ledger whose clock moves by a day with each act."""
    ticks = count(START, DAY_MS)
    made = Ledger(store, clock=lambda: next(ticks))
    open_pure(made, "3")  # on day 0
    return made


def days(ledger: Ledger) -> dict[str, int]:
    """The day of each epoch, counted from the opening of the budget."""
    now = ledger.under(CatalogDeclarations(ledger.declarations()))
    first = utc_day(START)
    assert first is not None
    found = now.epoch_days("patients")
    return {fact: (day - first).days for fact, day in found.items() if day is not None}


def test_an_epoch_begins_with_the_first_declaration_that_names_it(ledger: Ledger) -> None:
    ledger.declare("patients", (ONE,), by="olga")
    assert days(ledger) == {ONE: 1}
    ledger.declare("patients", (AGE, ONE, WARDS), by="olga")
    assert days(ledger) == {ONE: 1, WARDS: 2}
    ledger.declare("patients", (TWO, WARDS), by="olga")
    assert days(ledger) == {TWO: 3, WARDS: 2}
    ledger.declare("patients", (ONE, WARDS), by="olga")
    assert days(ledger) == {ONE: 4, WARDS: 2}  # it was away, so it began again
    ledger.verify("patients")


def test_a_population_without_declarations_has_no_days(ledger: Ledger) -> None:
    assert days(ledger) == {}
    assert ledger.epoch_days("patients") == {}


def test_earlier_versions_did_not_record_it_and_are_read_in_full(
    ledger: Ledger, store: Store
) -> None:
    with store.writing() as work:
        append(work, "patients", FactsDeclared((ONE,), "olga", START + DAY_MS))
        old = append(work, "patients", Described((ONE, AGE), (), "olga", START + 2 * DAY_MS))
    with store.reading() as work:
        assert epochs_in(work, "patients", old.seq) == {ONE: START + DAY_MS}
    ledger.declare("patients", (ONE,), by="olga")
    assert days(ledger) == {ONE: 1}
    ledger.verify("patients")


def test_a_wrong_time_is_noticed(ledger: Ledger, store: Store) -> None:
    entry = ledger.declare("patients", (ONE,), by="olga")
    act = decode_act(entry.body)
    assert isinstance(act, Described)
    assert read_epochs(act.since) == {ONE: START + DAY_MS}
    for since in ((f"{START} {ONE}",), (*act.since, f"{START} {TWO}")):
        with store.writing() as work:
            append(work, "patients", replace(act, since=since))
        with pytest.raises(LedgerBroken, match="an epoch begins with the first declaration"):
            ledger.verify("patients")


def test_a_charge_keeps_its_day(ledger: Ledger) -> None:
    charge = ledger.reserve(ask("count"), lease_ms=LEASE_MS)
    assert isinstance(charge, Charge)
    assert charge.day == utc_day(START + DAY_MS)
    assert ledger.day_charged("patients", charge.receipt) == charge.day
    assert ledger.day_charged("patients", b"another") is None
    ledger.keep(charge, b"an answer")
    assert ledger.day_charged("patients", charge.receipt) == charge.day


def test_days_are_those_of_utc() -> None:
    assert utc_day(0) == date(1970, 1, 1)
    assert [utc_day(DAY_MS + ms) for ms in (-1, 0)] == [date(1970, 1, 1), date(1970, 1, 2)]
    assert utc_day(2**62) is None


@pytest.mark.parametrize("label", ["2026", "it's", 'a "b"', "a 'b' \"c\"", "a: epoch 'b'"])
def test_the_fact_of_an_epoch_is_known_as_one(label: str) -> None:
    schema = Schema((Column("ward", Kind.TEXT),))
    table = PublicTable("wards", schema, Location("here", ("wards",)), Epoch(label))
    assert is_epoch_fact(epoch_fact(table))
    assert not is_epoch_fact(f"{epoch_fact(table)} or so")


def test_the_text_of_a_declaration_never_changes() -> None:
    old = Described((ONE,), (), "olga", 5)
    text = (
        '{"at":"5","by":"olga","facts":["visits: epoch \'1\'"],"kind":"described","tables":[]}'
    )
    assert encode_act(old) == text
    new = text.replace('"tables"', '"since":["3 visits: epoch \'1\'"],"tables"')
    assert encode_act(replace(old, since=(f"3 {ONE}",))) == new
    assert decode_act(new) == replace(old, since=(f"3 {ONE}",))
