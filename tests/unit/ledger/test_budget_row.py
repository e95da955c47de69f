"""A budget as the store holds it: when it is locked, what it refuses, and in which words."""

from fractions import Fraction

import pytest
from asking import PERSON, ask, open_pure

from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.errors import (
    BudgetExceeded,
    ChargesFrozen,
    Conflict,
    DeadlineMissed,
    DeclarationsChanged,
    InvalidValue,
    PopulationLocked,
    UnknownName,
)
from tacit.ledger.budget import (
    USUAL_SHARE,
    BudgetRow,
    at_least,
    count,
    find_budget,
    holders_of,
    least_amount,
    left_of,
    limit,
    own_quota,
)
from tacit.ledger.charge import (
    MOST,
    NO_INCIDENTS,
    NO_LIMIT,
    NO_UNITS,
    RETRIES,
    Charge,
    IncidentCounts,
    Record,
    Units,
)
from tacit.ledger.ledger import Ledger
from tacit.ledger.populations import (
    MOMENTARY,
    Owed,
    claim_tables,
    holdings_of,
    other_holders,
    release_tables,
    with_unknown_tables,
)
from tacit.ledger.sealed_states import state_hash
from tacit.store.store import Store

ONE = 10**12
ROW = BudgetRow(
    unit="person",
    neighbours=Neighbours.ADD_REMOVE.value,
    kind="epsilon",
    conversion_delta="0",
    idealised=0,
    cap_amount=ONE,
    cap_delta=0,
    spent_amount=ONE // 4,
    spent_delta=0,
    missed=0,
    looked=0,
    failed=0,
    retried=0,
    least_share="1/100000",
    least_amount=ONE // 10**5,
    declared=0,
    frozen=0,
)


@pytest.mark.parametrize(
    ("troubles", "marks"),
    [
        (IncidentCounts(), 0),
        (IncidentCounts(late=1), 1),
        (IncidentCounts(failed=1), 1),
        (IncidentCounts(retried=2), 0),
        (IncidentCounts(retried=3), 1),
        (IncidentCounts(retried=5), 1),
        (IncidentCounts(retried=6), 2),
        (IncidentCounts(1, 2, 3), 4),
    ],
)
def test_an_owner_looks_at_what_was_late_failed_or_retried_three_times(
    troubles: IncidentCounts, marks: int
) -> None:
    assert troubles.marks == marks
    assert RETRIES == 3
    row = ROW._replace(missed=troubles.late, failed=troubles.failed, retried=troubles.retried)
    for looked in range(marks + 2):
        assert row._replace(looked=looked).locked is (looked < marks)


def test_troubles_are_added_compared_and_joined_part_by_part() -> None:
    one, other = IncidentCounts(1, 5, 3), IncidentCounts(2, 4, 3)
    assert one.plus(other) == IncidentCounts(3, 9, 6)
    assert one.beyond(other) == IncidentCounts(0, 1, 0)
    assert one | other == IncidentCounts(2, 5, 3)
    assert IncidentCounts() == NO_INCIDENTS == IncidentCounts(0, 0, 0)


def test_a_locked_budget_says_what_an_owner_has_to_do() -> None:
    ROW.check_open("patients")
    ROW._replace(missed=2, looked=2).check_open("patients")
    with pytest.raises(
        DeadlineMissed, match="An answer about 'patients' missed its deadline, which can"
    ):
        ROW._replace(missed=1).check_open("patients")
    for row in (
        ROW._replace(failed=1),
        ROW._replace(retried=3),
        ROW._replace(missed=1, failed=1),
    ):
        with pytest.raises(
            PopulationLocked,
            match="A charged question about 'patients' failed or was late, which",
        ):
            row.check_open("patients")


def test_a_refusal_names_its_first_reason() -> None:
    cost = Units(ONE, 0)
    frozen = ROW._replace(frozen=1, declared=7)
    assert isinstance(frozen.refusal("patients", cost, 0), ChargesFrozen)
    changed = ROW._replace(declared=7, failed=1).refusal("patients", cost, 0)
    assert isinstance(changed, DeclarationsChanged)
    with pytest.raises(PopulationLocked):
        ROW._replace(declared=7, failed=1).refusal("patients", cost, 7)
    over = ROW.refusal("patients", cost, 0)
    assert isinstance(over, BudgetExceeded)
    assert str(over).startswith(
        "epsilon 1 does not fit into the budget of 'patients': epsilon 0.75 is left of epsilon "
        "1. "
    )


def test_what_fits_to_the_last_unit_was_refused_by_something_that_is_over() -> None:
    left = ONE - ONE // 4
    assert isinstance(ROW.refusal("patients", Units(left, 0), 0), Conflict)
    assert isinstance(ROW.refusal("patients", Units(left + 1, 0), 0), BudgetExceeded)
    with_delta = ROW._replace(kind="epsilon with delta", cap_delta=2)
    assert isinstance(with_delta.refusal("patients", Units(0, 2), 0), Conflict)
    assert isinstance(with_delta.refusal("patients", Units(0, 3), 0), BudgetExceeded)


@pytest.mark.parametrize(
    "unit", [PrivacyUnit("visit"), PrivacyUnit("person", Neighbours.REPLACE_ONE)]
)
def test_a_budget_counts_for_its_own_unit(unit: PrivacyUnit) -> None:
    ROW.check(Population("patients", PERSON))
    with pytest.raises(InvalidValue, match="protects one person"):
        ROW.check(Population("patients", unit))


def test_what_a_guarantee_says_about_earlier_answers() -> None:
    row = ROW._replace(missed=1, failed=2, retried=3)
    assert row.record == Record(1, 2, 3, "epsilon 0.00001", 100_000)
    assert ROW._replace(least_amount=0).record == Record(0, 0, 0, "", 0)
    assert (ROW.cap, ROW.spent) == (Units(ONE, 0), Units(ONE // 4, 0))


def test_the_least_price_is_a_share_of_the_cap() -> None:
    assert Fraction(1, 10**5) == USUAL_SHARE
    assert least_amount(ONE, USUAL_SHARE) == 10**7
    assert least_amount(10**5 - 1, USUAL_SHARE) == 0
    assert at_least(Units(3, 7), 10) == Units(10, 7)
    assert at_least(Units(11, 7), 10) == Units(11, 7)
    assert at_least(Units(0, 7), 10) == Units(10, 7)
    assert at_least(NO_UNITS, 10) == NO_UNITS


def test_units_are_compared_in_both_parts() -> None:
    assert Units(1, 2) <= Units(1, 2)
    assert not Units(2, 1) <= Units(1, 2)
    assert not Units(1, 3) <= Units(1, 2)
    assert Units(5, 7) - Units(2, 3) == Units(3, 4)
    assert Units(MOST, MOST) == NO_LIMIT
    assert MOST == 2**62 - 1


def test_a_budget_is_found_as_it_was_opened(store: Store) -> None:
    open_pure(Ledger(store))
    with store.reading() as work:
        assert find_budget(work, "patients") == ROW._replace(spent_amount=0)
        with pytest.raises(UnknownName, match="no budget for the population 'staff'; an owner"):
            find_budget(work, "staff")


def test_a_charge_moves_what_was_spent_and_nothing_else(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    paid = ledger.reserve(ask("count"), lease_ms=1)
    assert isinstance(paid, Charge)
    (entry,) = paid.entries
    assert entry.seq == 2
    with store.reading() as work:
        assert find_budget(work, "patients") == ROW._replace(spent_amount=ONE // 10)


# ---------------------------------------------------------------- quotas and tables


def test_a_quota_is_filled_to_its_last_unit(store: Store) -> None:
    with store.writing() as work:
        assert own_quota(work, "patients", "ann") == (NO_LIMIT, NO_UNITS)
        limit(work, "patients", "ann", Units(10, 5))
        count(work, "patients", "ann", Units(6, 5))
        assert own_quota(work, "patients", "ann") == (Units(10, 5), Units(6, 5))
        assert not count(work, "patients", "ann", Units(5, 0))
        assert not count(work, "patients", "ann", Units(0, 1))
        assert count(work, "patients", "ann", Units(4, 0))
        assert left_of(work, "patients", "ann") == (NO_UNITS,)
        assert own_quota(work, "staff", "ann") == (NO_LIMIT, NO_UNITS)


def test_without_a_quota_spending_is_counted_and_never_refused(store: Store) -> None:
    with store.writing() as work:
        count(work, "patients", "bob", Units(6, 0))
        assert own_quota(work, "patients", "bob") == (NO_LIMIT, Units(6, 0))
        limit(work, "patients", "bob", Units(5, 0))
        assert left_of(work, "patients", "bob") == (Units(-1, 0),)
        assert holders_of(work, "patients", "bob") == ("bob",)


def test_tables_are_one_populations_at_a_time(store: Store) -> None:
    with store.writing() as work:
        claim_tables(work, "patients", ["a", "b", "a"])
        assert holdings_of(work, "patients") == {"a": True, "b": True}
        assert other_holders(work, "staff", ["a", "c"]) == (
            frozenset({"patients"}),
            frozenset({"patients"}),
        )
        release_tables(work, "patients", ["b"])
        assert holdings_of(work, "patients") == {"a": False, "b": True}
        assert other_holders(work, "staff", ["a"]) == (frozenset(), frozenset({"patients"}))
        claim_tables(work, "staff", ["a"])
        assert other_holders(work, "staff", ["a"])[0] == frozenset()

    def take() -> None:
        with store.writing() as work:
            claim_tables(work, "staff", ["b"])

    with pytest.raises(Conflict):
        take()


def test_a_momentary_identity_says_nothing_about_the_past(store: Store) -> None:
    table = f"{MOMENTARY}17"
    with store.writing() as work:
        claim_tables(work, "patients", [table])
        assert other_holders(work, "staff", [table]) == (frozenset({"patients"}), frozenset())


def test_a_population_that_was_charged_without_tables_is_known(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    with store.reading() as work:
        assert with_unknown_tables(work) == frozenset()
    ledger.reserve(ask("count"), lease_ms=1)
    with store.reading() as work:
        assert with_unknown_tables(work) == {"patients"}


def test_what_is_owed_is_the_larger_of_each_part() -> None:
    one = Owed(Units(5, 1), IncidentCounts(1, 0, 2))
    other = Owed(Units(3, 4), IncidentCounts(0, 1, 1))
    assert one.larger(other) == Owed(Units(5, 4), IncidentCounts(1, 1, 2))
    assert one.is_something
    assert Owed(NO_UNITS, IncidentCounts(late=1)).is_something
    assert Owed(Units(0, 1), NO_INCIDENTS).is_something
    assert not Owed(NO_UNITS, NO_INCIDENTS).is_something


def test_a_state_is_called_by_the_hash_of_its_name() -> None:
    assert state_hash("a") != state_hash("b")
    assert len(state_hash("a")) == 64
