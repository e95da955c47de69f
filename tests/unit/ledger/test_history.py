"""A ledger in words: nobody and nothing is missing, and each line says what became of it."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from asking import answer, ask, open_pure, population
from history import charged, write_history

from tacit.accounting import budget_within
from tacit.core.loss import Loss
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger import entries as acts
from tacit.ledger.chain import append, walk
from tacit.ledger.charge import Units
from tacit.ledger.entry_words import COMPLETING, KINDS, NAMES, NOT_ADDED, AmountTexts
from tacit.ledger.history import History, HistoryFilter, HistoryLine
from tacit.ledger.ledger import Ledger
from tacit.render import spell
from tacit.store.store import Store

DAY_MS = 86_400_000


@pytest.fixture
def store(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Store:
    return opened(new_store("sqlite"))


@pytest.fixture
def ledger(store: Store) -> Ledger:
    found = Ledger(store)
    write_history(found)
    return found


def read(ledger: Ledger, population: str = "patients", **wanted: object) -> History:
    return ledger.history(population, HistoryFilter.of(**{"limit": 1000, **wanted}))  # type: ignore[arg-type]


def test_each_entry_has_a_line_and_no_line_is_made_up(ledger: Ledger, store: Store) -> None:
    for name in ("patients", "staff"):
        with store.reading() as work:
            kinds = {
                entry.seq: KINDS[type(acts.decode_act(entry.body))]
                for entry in walk(work, name)
            }
        everything = read(ledger, name, kind=set(kinds.values()))
        assert {line.entry: line.kind for line in everything} == kinds
        usual = {line.entry for line in read(ledger, name)}
        assert usual == {seq for seq, kind in kinds.items() if kind not in COMPLETING}


def test_every_kind_of_act_has_a_word(ledger: Ledger) -> None:
    acts_of_chains = set(acts.ACTS.values()) - set(acts.Decision.__args__)
    assert acts_of_chains <= KINDS.keys()
    assert all(line.what for name in ("patients", "staff") for line in read(ledger, name))


def test_the_costs_add_up_to_what_is_spent(ledger: Ledger) -> None:
    for name in ("patients", "staff"):
        costs = [line.cost for line in read(ledger, name) if line.cost is not None]
        total = sum((cost.amount for cost in costs), start=Loss.pure(0).amount)
        assert total == ledger.status(name).spent.amount
    assert {line.epsilon for line in read(ledger, kind="charge")} == {"0.1"}


def test_a_charge_says_whether_it_was_answered(ledger: Ledger) -> None:
    lines = read(ledger, kind="charge")
    told = [line.decision for line in lines]
    assert set(told) == {"answered", "late", "no answer"}
    assert told.count("late") == 1
    paid = charged(ledger, ask("failing"))
    ledger.retry(paid)
    assert read(ledger, kind="charge")[-1].decision == "run twice"
    ledger.fail(paid)
    assert read(ledger, kind="charge")[-1].decision == "run twice; failed"
    assert read(ledger, kind="failure")[-1].what == f"of charge {lines[-1].entry + 2}"


def test_a_proposal_says_who_approved_it_or_that_it_waits(ledger: Ledger) -> None:
    told = {line.what: line.decision for line in read(ledger, kind="proposal")}
    assert (
        told["raise the cap from epsilon 3 to epsilon 3.5: a new study"] == "approved by omar"
    )
    assert told[
        "raise the cap from epsilon 3.5 to epsilon 12.5: nobody agreed to this"
    ].startswith("waits")
    assert told["add the owner owen"] == "approved by olga"
    alone = read(ledger, "staff", kind="proposal")
    assert [line.decision for line in alone] == ["in effect"]
    assert {line.who for line in alone} == {"olga"}


def test_a_request_says_what_the_owner_decided(ledger: Ledger) -> None:
    ledger.request_quota("patients", Loss.pure(2), by="ann", reason="a report")
    (line,) = read(ledger, kind="request")
    assert (line.who, line.what) == ("ann", "epsilon 2 for ann: a report")
    assert line.decision == "waits for an owner"
    ledger.grant_quota("patients", line.entry, by="olga")
    assert read(ledger, kind="request")[0].decision == "granted by olga"
    ledger.request_quota("patients", Loss.pure(3), by="ann")
    ledger.decline_quota("patients", read(ledger, kind="request")[-1].entry, by="olga")
    assert [line.decision for line in read(ledger, kind="request")] == [
        "granted by olga",
        "declined by olga",
        "",
    ]


def test_lines_are_chosen_by_person_and_team(ledger: Ledger) -> None:
    lines = read(ledger)
    charges = {line.who for line in lines if line.kind == "charge"}
    assert charges == {"ann", "bob", "cem"}
    of_bob = read(ledger, analyst="bob")
    assert {(line.who, line.kind) for line in of_bob} == {("bob", "charge")}
    of_ann = {line.kind for line in read(ledger, analyst="ann")}
    assert of_ann == {"charge", "quota", "team"}
    team = read(ledger, analyst="@oncology")
    assert {line.who for line in team if line.kind == "charge"} == {"ann"}
    assert len(read(ledger, analyst="nobody")) == 0
    assert str(read(ledger, analyst="nobody")) == "No entry of the ledger of patients fits."


def test_the_newest_lines_are_returned_in_their_order(ledger: Ledger) -> None:
    lines = read(ledger)
    newest = read(ledger, limit=3)
    assert newest.lines == lines.lines[-3:]
    assert newest.more
    assert not lines.more
    assert not read(ledger, limit=len(lines)).more
    assert "older entries fit too" in str(newest)
    assert "older entries" not in str(lines)
    assert [line.entry for line in lines] == sorted(line.entry for line in lines)


def test_days_are_in_utc_and_both_are_included(store: Store) -> None:
    now = [0]
    ledger = Ledger(store, clock=lambda: now[0])
    start = int(datetime(2026, 11, 19, tzinfo=UTC).timestamp()) * 1000
    now[0] = start - 1
    open_pure(ledger)
    for number, at in enumerate((start, start + DAY_MS - 1, start + DAY_MS)):
        now[0] = at
        answer(ledger, ask(f"count {number}"))

    def entries(**days: object) -> list[str]:
        return [line.when[8:] for line in read(ledger, **days)]

    day = date(2026, 11, 19)
    assert entries() == ["18 23:59:59", "19 00:00:00", "19 23:59:59", "20 00:00:00"]
    assert entries(since=day, until="2026-11-19") == ["19 00:00:00", "19 23:59:59"]
    assert entries(since="2026-11-20") == ["20 00:00:00"]
    assert entries(until="2026-11-18") == ["18 23:59:59"]
    # an entry without a time is on no day
    with store.writing() as work:
        append(work, "patients", acts.StateSealed("ab" * 32, 1, "cd" * 32))
    assert len(read(ledger, kind="state")) == 1
    assert len(read(ledger, kind="state", since="1970-01-01")) == 0


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"kind": "charges"}, "'charges' is not a kind of entry. The kinds are: answer,"),
        ({"limit": 0}, "from 1 to 100000"),
        ({"limit": 100_001}, "from 1 to 100000"),
        ({"since": "2026-11-20", "until": "2026-11-19"}, "No day is since 2026-11-20"),
        ({"since": "yesterday"}, "must be written as in 2026-11-19"),
        ({"since": "2026-11-19T10:00"}, "without a time"),
        ({"until": datetime(2026, 11, 19, tzinfo=UTC)}, "without a time"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(wanted: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        HistoryFilter.of(**wanted)  # type: ignore[arg-type]


def test_a_history_is_the_same_after_json(ledger: Ledger) -> None:
    lines = read(ledger, kind=set(NAMES.values()) - {"state"})
    assert History.from_dict(lines.to_dict()) == lines
    told = lines.to_dict()["lines"][0]
    assert told["what"].startswith("budget of epsilon 3 for each person, owned by olga, omar")
    assert (told["kind"], told["cost"], told["epsilon"]) == ("opening", None, None)


def test_what_somebody_wrote_cannot_change_the_screen(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    with store.writing() as work:
        evil = "\x1b[2J<script>\u202e"
        append(work, "patients", acts.QuotaRequested("ann", "ann", 1, 0, evil, 5))
    shown = read(ledger)
    assert "\x1b" not in str(shown)
    assert "\u202e" not in str(shown)
    assert "<script>" in str(shown)
    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()


def test_a_name_that_looks_like_a_kind_is_no_kind(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    name = '","kind":"failed","x":"'
    answer(ledger, ask("count", principal=name))
    lines = read(ledger)
    assert [line.kind for line in lines] == ["opening", "charge"]
    assert lines[-1].who == name


def test_a_population_that_is_not_there_is_named(ledger: Ledger) -> None:
    with pytest.raises(UnknownName, match="no budget for the population 'nobody'"):
        read(ledger, "nobody")


def in_rho(store: Store) -> Ledger:
    """A ledger of one owner whose budget is in rho, with raises and a lower cap."""
    ledger = Ledger(store)
    whole = population("patients")
    ledger.open_budget(whole, budget_within(3, "1e-6"), ("olga",), by="olga")
    return ledger


def test_a_raise_is_shown_by_the_caps_before_and_after_it(store: Store) -> None:
    ledger = in_rho(store)
    cap = float(ledger.status("patients").cap.amount)
    ledger.raise_cap("patients", Loss.zcdp("0.1"), "a second study", by="olga")
    ledger.raise_cap("patients", Loss.zcdp("0.2"), "a third study", by="olga")
    first, second = (line.what for line in read(ledger, kind="proposal"))
    assert first.startswith(f"raise the cap from epsilon 3, delta 0.000001 (rho {cap:.6f}")
    middle = first.partition(" to ")[2].partition(": ")[0]
    assert f"(rho {cap + 0.1:.6f})" in middle
    assert second.startswith(f"raise the cap from {middle} to epsilon ")
    assert "epsilon 0." not in first  # a part of a cap in rho has no epsilon that adds up
    ledger.lower_cap("patients", Loss.zcdp("0.3"), "less is enough", by="olga")
    first, second = (line.what for line in read(ledger, kind="proposal"))
    assert second.startswith("raise the cap by epsilon ")  # the lower cap hides the one before
    assert "which is not the difference" in second
    texts = AmountTexts.of(ledger.status("patients"))
    rise = acts.CapRaised(10**11, 0, "why")
    assert texts.decision(rise, Units(10**11, 0)).count("epsilon") == 2


def test_epsilons_that_do_not_add_up_are_said_to(store: Store, ledger: Ledger) -> None:
    assert NOT_ADDED not in str(read(ledger))  # a pure epsilon adds up
    other = Ledger(store)
    other.open_budget(population("others"), budget_within(3, "1e-6"), ("olga",), by="olga")
    lines = tuple(
        HistoryLine(n, 0, "ann", "charge", "question", Loss.zcdp("0.1"), "2.2") for n in (1, 2)
    )
    assert NOT_ADDED in str(History("others", lines))
    assert NOT_ADDED not in str(History("others", lines[:1]))


def test_a_charge_is_found_by_its_receipt(ledger: Ledger) -> None:
    answered = answer(ledger, ask("the newest"))
    lines = {line.entry: line for line in read(ledger, kind="charge")}
    newest = lines[max(lines)]
    assert newest.receipt == answered.receipt.hex()
    for line in lines.values():
        assert read(ledger, receipt=line.receipt).lines == (line,)
    both = next(line for line in lines.values() if "other" in line.what)
    assert read(ledger, "staff", receipt=both.receipt).lines[0].receipt == both.receipt
    assert f"  {newest.receipt[:12]}" in str(read(ledger, limit=1))
    assert len(read(ledger, receipt=newest.receipt, kind="freeze")) == 0
    with pytest.raises(UnknownName, match="No charge about staff has the receipt"):
        read(ledger, "staff", receipt=newest.receipt)
    with pytest.raises(UnknownName, match="No charge about patients has the receipt 00"):
        read(ledger, receipt="00" * 32)
    with pytest.raises(InvalidValue, match="64 hexadecimal digits"):
        read(ledger, receipt="%")


def test_tables_are_counted_and_not_their_addresses(ledger: Ledger) -> None:
    facts = ("visits.age: integer", "visits: epoch '1'", "labs.value: integer")
    ledger.declare("staff", facts, tuple(f"path {n}" for n in range(6)), by="olga")
    assert read(ledger, "staff", kind="declaration")[-1].what == "3 facts, 2 tables"
    ledger.declare("staff", facts[:1], by="olga")
    assert read(ledger, "staff", kind="declaration")[-1].what == "1 fact, 1 table"
    assert [spell(n, "entry", "entries") for n in (0, 1, 2)] == [
        "0 entries",
        "1 entry",
        "2 entries",
    ]
