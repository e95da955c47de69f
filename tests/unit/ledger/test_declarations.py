"""Declarations have numbers, charges can be stopped, tables take their charges along."""

from dataclasses import replace
from fractions import Fraction

import pytest
from asking import LEASE_MS, answer, ask, open_pure, population
from sqlalchemy import update

from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import (
    BudgetExceeded,
    ChargesFrozen,
    Conflict,
    DeclarationsChanged,
    InvalidValue,
    LedgerBroken,
    NotPermitted,
)
from tacit.ledger import reserve as reserving
from tacit.ledger.chain import SPEND, append
from tacit.ledger.charge import Charge, Units
from tacit.ledger.declarations import AnyDeclaration, CatalogDeclarations, Declaration
from tacit.ledger.entries import Charged, Inherited, decode_act, encode_act
from tacit.ledger.ledger import Ledger
from tacit.ledger.populations import claim_tables
from tacit.ledger.verify import export, read_export, verify_export
from tacit.store.store import Store
from tacit.store.tables import budgets

AGE = ("visits.age: integer, from 0 to 120",)
WIDER = ("visits.age: integer, from 0 to 150",)
TENTH = 10**11


@pytest.fixture
def ledger(store: Store) -> Ledger:
    made = Ledger(store)
    open_pure(made, "3")
    return made


def held(ledger: Ledger, *, partly: bool = False) -> Ledger:
    """The ledger for questions that are priced by what is declared now."""
    return ledger.under(CatalogDeclarations(ledger.declarations(), partly=partly))


def own_unit(name: str, unit: str) -> Population:
    return Population(name, PrivacyUnit(unit))


# ---------------------------------------------------------------- numbers


def test_a_charge_names_the_declaration_that_priced_it(ledger: Ledger) -> None:
    number = ledger.declare("patients", AGE, by="olga").seq
    answer(held(ledger), ask("count"))
    acts = [decode_act(entry.body) for entry in ledger.entries("patients")]
    (charge,) = [act for act in acts if isinstance(act, Charged)]
    assert charge.declaration == number == ledger.status("patients").declaration
    ledger.verify("patients")


def test_a_superseded_declaration_is_refused_and_costs_nothing(ledger: Ledger) -> None:
    ledger.declare("patients", AGE, by="olga")
    server = held(ledger)
    kept = answer(server, ask("before"))
    ledger.declare("patients", WIDER, by="olga")
    spent = ledger.status("patients").spent
    with pytest.raises(DeclarationsChanged, match="ask again"):
        server.reserve(ask("after"), lease_ms=LEASE_MS)
    with pytest.raises(DeclarationsChanged):
        server.enter(ask("a stream"), b"its horizon")
    assert ledger.status("patients").spent == spent
    assert server.reserve(ask("before"), lease_ms=LEASE_MS) == kept  # what was paid for is free
    assert server.redeclared_populations(["patients"]) == {"patients"}
    answer(held(ledger), ask("after"))


def test_who_knows_of_no_declaration_charges_nobody_who_has_one(ledger: Ledger) -> None:
    answer(ledger, ask("undeclared"))
    ledger.declare("patients", AGE, by="olga")
    with pytest.raises(DeclarationsChanged):
        answer(ledger, ask("unnamed"))


def test_a_declaration_that_says_the_same_is_taken_over(ledger: Ledger) -> None:
    ledger.declare("patients", AGE, by="olga")
    whole, part = held(ledger), held(ledger, partly=True)
    ledger.declare("patients", AGE, by="olga")
    answer(whole, ask("recorded again"))
    ledger.declare("patients", (*AGE, "labs.value: integer"), by="olga")
    answer(part, ask("another table"))
    with pytest.raises(DeclarationsChanged):
        answer(whole, ask("another table, of a project"))
    ledger.declare("patients", WIDER, by="olga")
    with pytest.raises(DeclarationsChanged):
        answer(part, ask("other bounds"))


def test_a_ledger_without_the_condition_charges_what_was_withdrawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.declare("patients", AGE, by="olga")
    server = held(ledger)
    ledger.declare("patients", WIDER, by="olga")
    monkeypatch.setattr(reserving, "SPEND", unconditional())
    answer(server, ask("after"))
    with pytest.raises(LedgerBroken, match="names the current declaration"):
        ledger.verify("patients")


def unconditional() -> object:
    """The conditional update without what it says of declarations and stops."""
    kept = [
        part
        for part in SPEND.whereclause.clauses  # type: ignore[union-attr]
        if "declared" not in str(part) and "frozen" not in str(part)
    ]
    spend = update(budgets).where(*kept).values(SPEND._values)
    return spend.returning(*SPEND._returning)


def test_a_population_that_nobody_declared_has_the_number_zero(ledger: Ledger) -> None:
    assert ledger.declarations() == {"patients": (0, Declaration())}
    assert ledger.numbers() == {"patients": 0}
    number = ledger.declare("patients", AGE, ("path visits",), by="olga").seq
    assert ledger.declarations() == {"patients": (number, Declaration(AGE, ("path visits",)))}
    assert ledger.numbers() == {"patients": number}


def test_a_population_is_redeclared_where_its_number_is_another(ledger: Ledger) -> None:
    both = ["patients", "nobody"]
    assert ledger.redeclared_populations(both) == frozenset()
    ledger.declare("patients", AGE, by="olga")
    assert ledger.redeclared_populations(both) == {"patients"}
    assert held(ledger).redeclared_populations(both) == frozenset()
    refusing = ledger.refusing({"patients": "its file changed"})
    assert refusing.redeclared_populations(both) == frozenset()


# ---------------------------------------------------------------- stops


def test_an_owner_stops_all_charges_and_allows_them_again(ledger: Ledger) -> None:
    kept = answer(ledger, ask("before"))
    ledger.freeze("patients", by="olga")
    assert ledger.status("patients").frozen
    for question in (ask("after"), ask("bob's", principal="bob")):
        with pytest.raises(ChargesFrozen, match="tacit thaw patients"):
            ledger.reserve(question, lease_ms=LEASE_MS)
    with pytest.raises(ChargesFrozen):
        ledger.enter(ask("a step"), b"free")
    assert ledger.reserve(ask("before"), lease_ms=LEASE_MS) == kept
    ledger.thaw("patients", by="olga")
    answer(ledger, ask("after"))
    ledger.verify("patients")


def test_only_owners_stop_charges_and_each_once(ledger: Ledger) -> None:
    for act in (ledger.freeze, ledger.thaw):
        with pytest.raises(NotPermitted, match="mallory does not own"):
            act("patients", by="mallory")
    with pytest.raises(InvalidValue, match="not stopped"):
        ledger.thaw("patients", by="olga")
    ledger.freeze("patients", by="olga")
    with pytest.raises(InvalidValue, match="already stopped"):
        ledger.freeze("patients", by="olga")
    assert ledger.verify("patients").entries == 2


def test_a_charge_after_a_stop_is_found_by_whoever_reads_the_chain(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.freeze("patients", by="olga")
    monkeypatch.setattr(reserving, "SPEND", unconditional())
    answer(ledger, ask("after"))
    with pytest.raises(LedgerBroken, match="while an owner has stopped"):
        ledger.verify("patients")


# ---------------------------------------------------------------- tables


def move(ledger: Ledger, old: str, new: str, *tables: str, by: str = "olga") -> None:
    """Let ``tables`` leave one population and join another."""
    with ledger.governing(by=by) as acts:
        acts.declare({old: Declaration(), new: Declaration(AGE, tables)})


def open_over(ledger: Ledger, name: str, table: str, by: str) -> None:
    """Open a budget over a table, in one work."""
    with ledger.governing(by=by) as acts:
        acts.open_budget(population(name), Budget(Loss.pure(9)), (by,))
        acts.declare({name: Declaration(AGE, (table,))})


def charged(store: Store, name: str, epsilon: str = "1", times: int = 1) -> Ledger:
    """A population that has a table of its own name, and was asked about it."""
    ledger = Ledger(store)
    open_pure(ledger, epsilon, name)
    ledger.declare(name, AGE, (f"path {name}",), by="olga")
    for number in range(times):
        answer(ledger.under(AnyDeclaration()), ask(f"{name} {number}", of=population(name)))
    return ledger


def test_one_table_belongs_to_one_population(store: Store) -> None:
    ledger = charged(store, "patients")
    open_pure(ledger, "1", "clinic")
    before = ledger.entries("clinic")
    with pytest.raises(InvalidValue, match="belongs to the population 'patients'"):
        ledger.declare("clinic", AGE, ("path patients", "path other"), by="olga")
    assert ledger.entries("clinic") == before
    charged(store, "alumni")
    with pytest.raises(InvalidValue, match="remove it there first") as told:
        ledger.declare("clinic", AGE, ("path patients", "path alumni"), by="olga")
    assert str(told.value) == (
        "A table of 'clinic' already belongs to the population 'alumni' and is charged to its "
        "budget. One table belongs to one population: declare it under 'alumni', or let an "
        "owner of 'alumni' remove it there first."
    )
    with pytest.raises(Conflict), store.writing() as work:  # the database's own lock
        claim_tables(work, "clinic", ["path patients"])


def test_a_renamed_population_starts_with_what_was_spent(store: Store) -> None:
    ledger = charged(store, "patients", times=3)
    open_pure(ledger, "1", "clinic")
    move(ledger, "patients", "clinic", "path patients")
    assert ledger.status("clinic").spent == ledger.status("patients").spent == Loss.pure("0.3")
    assert ledger.book("clinic").inherited == {"patients": Units(3 * TENTH, 0)}
    ledger.verify("clinic")
    for number in range(7):
        answer(ledger.under(AnyDeclaration()), ask(str(number), of=population("clinic")))
    with pytest.raises(BudgetExceeded):
        answer(ledger.under(AnyDeclaration()), ask("one more", of=population("clinic")))


def test_a_renamed_population_keeps_what_failed(store: Store) -> None:
    ledger = charged(store, "patients")
    asking = ledger.under(AnyDeclaration())
    failing = asking.reserve(ask("fails", of=population("patients")), lease_ms=1)
    assert isinstance(failing, Charge)
    asking.retry(failing)
    asking.fail(failing)
    open_pure(ledger, "1", "clinic")
    with pytest.raises(InvalidValue, match="An owner of 'patients' must first run"):
        move(ledger, "patients", "clinic", "path patients")
    ledger.look("patients", by="olga")
    move(ledger, "patients", "clinic", "path patients")
    status = ledger.status("clinic")
    assert (status.failed, status.retried, status.locked) == (1, 1, False)
    ledger.verify("clinic")
    after = asking.reserve(ask("one more", of=population("clinic")), lease_ms=1)
    assert isinstance(after, Charge)
    assert "1 failed answer failed regardless of any one person's data" in after.assumptions
    move(ledger, "clinic", "patients", "path patients")  # nothing is counted twice
    back = ledger.status("patients")
    assert (back.failed, back.retried, back.locked) == (1, 1, False)
    ledger.verify("patients")


def test_a_charge_that_waits_obeys_owners(store: Store) -> None:
    """A charge whose engine was not reached is not begun by what an owner has ended since."""
    ledger = charged(store, "patients")
    old = ledger.under(CatalogDeclarations(ledger.declarations()))
    asked = ask("waits", of=population("patients"))
    waiting = old.reserve(asked, lease_ms=1)
    assert isinstance(waiting, Charge)
    old.park(waiting)
    ledger.freeze("patients", by="olga")
    with pytest.raises(ChargesFrozen):
        old.reserve(asked, lease_ms=1)
    ledger.thaw("patients", by="olga")
    ledger.declare("patients", (), ("path patients",), by="olga")
    with pytest.raises(DeclarationsChanged):
        old.reserve(asked, lease_ms=1)
    again = ledger.under(CatalogDeclarations(ledger.declarations())).reserve(asked, lease_ms=1)
    assert isinstance(again, Charge)
    assert again.entries == waiting.entries  # it is the same charge, and nobody pays twice


def test_a_guarantee_says_what_a_least_price_prevents(store: Store) -> None:
    ledger = charged(store, "patients")
    asking = ledger.under(AnyDeclaration())
    told = []
    for share in (Fraction(0), Fraction(1, 100)):
        ledger.set_least("patients", share, by="olga")
        found = asking.reserve(ask(str(share), of=population("patients")), lease_ms=1)
        assert isinstance(found, Charge)
        told += found.assumptions
    without, with_one = told
    assert "which the ledger does not prevent" in without
    assert with_one == (
        "no more than 100 further questions are tried, which the ledger enforces by a least "
        "price of epsilon 0.01"
    )


def test_a_table_that_was_given_up_keeps_its_charges(store: Store) -> None:
    ledger = charged(store, "patients", times=2)
    ledger.declare("patients", (), (), by="olga")
    open_pure(ledger, "1", "clinic")
    ledger.declare("clinic", AGE, ("path patients",), by="olga")
    assert ledger.status("clinic").spent == Loss.pure("0.2")


def test_nothing_is_counted_twice_when_a_table_goes_back_and_forth(store: Store) -> None:
    ledger = charged(store, "a", times=2)
    open_pure(ledger, "1", "b")
    asking = ledger.under(AnyDeclaration())
    move(ledger, "a", "b", "path a")
    answer(asking, ask("of b", of=population("b")))
    move(ledger, "b", "a", "path a")
    move(ledger, "a", "b", "path a")
    assert ledger.status("a").spent == ledger.status("b").spent == Loss.pure("0.3")
    open_pure(ledger, "1", "c")
    move(ledger, "b", "c", "path a")  # of a, by way of b
    assert ledger.status("c").spent == Loss.pure("0.3")
    for name in "abc":
        ledger.verify(name)


def test_two_tables_that_change_places_take_their_charges_along(store: Store) -> None:
    ledger = charged(store, "a", times=1)
    charged(store, "b", times=2)
    with ledger.governing(by="olga") as acts:
        acts.declare({"a": Declaration(AGE, ("path b",)), "b": Declaration(AGE, ("path a",))})
    assert ledger.status("a").spent == ledger.status("b").spent == Loss.pure("0.3")


def test_what_does_not_fit_or_cannot_be_counted_is_refused(store: Store) -> None:
    ledger = charged(store, "patients", times=5)
    open_pure(ledger, "0.4", "small")
    with pytest.raises(BudgetExceeded, match="Set a larger budget"):
        move(ledger, "patients", "small", "path patients")
    zcdp = Budget(Loss.zcdp("1"), Fraction(1, 10**6))
    ledger.open_budget(population("other"), zcdp, ("olga",), by="olga")
    with pytest.raises(InvalidValue, match="another privacy unit, neighbours or measure"):
        move(ledger, "patients", "other", "path patients")
    homes = own_unit("homes", "household")
    ledger.open_budget(homes, Budget(Loss.pure(1)), ("olga",), by="olga")
    with pytest.raises(InvalidValue, match="another privacy unit, neighbours or measure"):
        move(ledger, "patients", "homes", "path patients")
    open_pure(ledger, "1", "clinic")
    ledger.freeze("patients", by="olga")
    with pytest.raises(InvalidValue, match="must first run `tacit ledger look"):
        move(ledger, "patients", "clinic", "path patients")
    assert ledger.book("patients").holdings == {"path patients": True}
    assert ledger.status("clinic").spent == Loss.pure(0)


def test_an_inode_says_nothing_about_the_past(store: Store) -> None:
    ledger = charged(store, "patients")
    ledger.declare("patients", AGE, ("path patients", "inode 7"), by="olga")
    open_pure(ledger, "1", "staff")
    with pytest.raises(InvalidValue, match="belongs to"):
        ledger.declare("staff", AGE, ("path staff", "inode 7"), by="olga")
    ledger.declare("patients", AGE, ("path patients", "inode 8"), by="olga")  # a new file
    ledger.declare("staff", AGE, ("path staff", "inode 7"), by="olga")
    assert ledger.status("staff").spent == Loss.pure(0)


def test_who_was_charged_before_tables_were_recorded_declares_first(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger, "1", "patients")
    answer(ledger, ask("by version 0.1"))
    with pytest.raises(InvalidValue, match="does not know the tables of 'patients'"):
        open_over(ledger, "clinic", "path 1", by="olga")
    assert ledger.populations() == ("patients",)
    ledger.declare("patients", AGE, ("path 1",), by="olga")
    open_over(ledger, "clinic", "path 2", by="olga")


def test_acts_of_one_work_happen_together_or_not_at_all(store: Store) -> None:
    ledger = charged(store, "patients")
    entries = ledger.entries("patients")
    with pytest.raises(InvalidValue, match="belongs to the population 'patients'"):
        open_over(ledger, "mine", "path patients", by="mallory")
    with pytest.raises(NotPermitted, match="mallory does not own"):
        ledger.declare("patients", (), by="mallory")
    assert ledger.populations() == ("patients",)
    assert ledger.entries("patients") == entries


def test_an_inheritance_that_nobody_left_is_found_in_an_export(store: Store) -> None:
    ledger = charged(store, "patients")
    verify_export(read_export(export(store)))
    open_pure(ledger, "1", "clinic")
    with store.writing() as work:
        append(work, "clinic", Inherited("patients", 2 * TENTH, 0, "olga", 1))
        work.run(
            update(budgets)
            .where(budgets.c.population == "clinic")
            .values(spent_amount=2 * TENTH),
            {},
        )
    with pytest.raises(LedgerBroken, match="inherits a larger loss"):
        verify_export(read_export(export(store)))


def test_what_is_left_out_cannot_be_written_out() -> None:
    question = ask("any")
    act = Charged(
        "ann", ("ann",), "00", "00", "00", "{}", 1, 0, "0", question.populations, "00", 1
    )
    assert "declaration" not in encode_act(act)
    assert decode_act(encode_act(replace(act, declaration=7))) == replace(act, declaration=7)
    zero = encode_act(replace(act, declaration=7)).replace(
        '"declaration":"7"', '"declaration":"0"'
    )
    with pytest.raises(LedgerBroken, match="canonical"):
        decode_act(zero)
