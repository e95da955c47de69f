"""Quotas under a cap: whoever works together gains nothing."""

from collections.abc import Callable
from itertools import product

import pytest
from asking import TENTH, answer, ask, open_pure

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted, UnknownName
from tacit.ledger.ledger import Ledger
from tacit.ledger.quotas import request_id
from tacit.store.store import Store

TEN = [f"account {number}" for number in range(10)]


@pytest.fixture
def ledger(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Ledger:
    return Ledger(opened(new_store("sqlite")))


def asked(ledger: Ledger, principal: str, plan: str) -> bool:
    """Whether this analyst's question was answered."""
    try:
        answer(ledger, ask(plan, principal=principal))
    except BudgetExceeded:
        return False
    return True


def granted(ledger: Ledger, principals: list[str], each: int) -> int:
    pairs = product(range(each), principals)
    return sum(asked(ledger, who, f"{who} {number}") for number, who in pairs)


def test_an_analyst_stays_within_their_quota(ledger: Ledger) -> None:
    open_pure(ledger)
    ledger.set_quota("patients", "ann", Loss.pure("0.2"), by="olga")
    assert granted(ledger, ["ann"], 5) == 2
    with pytest.raises(BudgetExceeded) as refused:
        answer(ledger, ask("more"))
    assert str(refused.value) == (
        "The quota of ann on 'patients' is too small: this question needs epsilon 0.1, and "
        "epsilon 0 is left. Ask for less, or ask for a larger quota: "
        "`tacit quota request patients`."
    )
    assert ledger.status("patients").spent == Loss.pure("0.2")
    assert granted(ledger, ["bob"], 5) == 5
    ledger.verify("patients")


def test_what_was_spent_before_counts_for_a_quota(ledger: Ledger) -> None:
    open_pure(ledger)
    assert granted(ledger, ["ann"], 3) == 3
    ledger.set_quota("patients", "ann", Loss.pure("0.2"), by="olga")
    assert not asked(ledger, "ann", "more")
    ledger.set_quota("patients", "ann", Loss.pure("0.4"), by="olga")
    assert asked(ledger, "ann", "more")
    assert not asked(ledger, "ann", "and more")


def test_no_more_questions_fit_than_into_the_quotas_of_whoever_asks(ledger: Ledger) -> None:
    open_pure(ledger)
    event = TENTH

    def fit(who: str | None = None) -> int:
        return ledger.status("patients", who).questions_like(event)

    assert (fit(), fit("ann"), fit("bob")) == (10, 10, 10)
    ledger.set_quota("patients", "ann", Loss.pure("0.3"), by="olga")
    assert (fit(), fit("ann"), fit("bob")) == (10, 3, 10)
    ledger.set_quota("patients", "@lab", Loss.pure("0.2"), by="olga")
    assert fit("bob") == 10  # until they are members
    for who in ("ann", "bob"):
        ledger.join("patients", who, "@lab", by="olga")
    assert (fit(), fit("ann"), fit("bob")) == (10, 2, 2)
    answer(ledger, ask("one", principal="bob"))
    assert (fit(), fit("ann"), fit("bob")) == (9, 1, 1)
    ledger.set_quota("patients", "@lab", Loss.pure("0.05"), by="olga")
    assert (fit(), fit("ann"), fit("bob")) == (9, 0, 0)  # and not less than none


def test_a_larger_quota_is_still_under_the_cap(ledger: Ledger) -> None:
    open_pure(ledger, "0.3")
    ledger.set_quota("patients", "ann", Loss.pure(100), by="olga")
    assert granted(ledger, ["ann"], 5) == 3


def test_ten_accounts_of_one_person_never_pass_the_cap(ledger: Ledger) -> None:
    open_pure(ledger, "0.7")
    for account in TEN:
        ledger.set_quota("patients", account, Loss.pure("0.2"), by="olga")
    assert granted(ledger, TEN, 5) == 7
    assert ledger.status("patients").left == Loss.pure(0)


def test_ten_accounts_of_a_group_never_pass_its_quota(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_quota("patients", "@lab", Loss.pure("0.3"), by="olga")
    for account in TEN:
        ledger.join("patients", account, "@lab", by="olga")
    assert granted(ledger, TEN, 3) == 3
    assert granted(ledger, ["somebody else"], 3) == 3
    ledger.verify("patients")


def test_without_the_group_they_would(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_quota("patients", "@lab", Loss.pure("0.3"), by="olga")
    assert granted(ledger, TEN, 3) == 30


def test_what_a_member_asks_counts_for_every_group(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    for group, quota in (("@lab", "0.3"), ("@visitors", "0.2")):
        ledger.set_quota("patients", group, Loss.pure(quota), by="olga")
        ledger.join("patients", "ann", group, by="olga")
    assert granted(ledger, ["ann"], 5) == 2
    with pytest.raises(BudgetExceeded, match="quota of @visitors"):
        answer(ledger, ask("more"))


def test_a_refused_question_counts_for_nobody(ledger: Ledger) -> None:
    open_pure(ledger)
    ledger.join("patients", "ann", "@lab", by="olga")
    ledger.join("patients", "bob", "@lab", by="olga")
    ledger.set_quota("patients", "@lab", Loss.pure("0.1"), by="olga")
    assert granted(ledger, ["ann"], 3) == 1  # two refusals by the group, after ann was counted
    ledger.set_quota("patients", "ann", Loss.pure("0.2"), by="olga")
    ledger.set_quota("patients", "@lab", Loss.pure("0.2"), by="olga")
    assert asked(ledger, "ann", "more")
    assert ledger.status("patients").spent == Loss.pure("0.2")


def test_a_quota_on_one_population_is_none_on_another(ledger: Ledger) -> None:
    open_pure(ledger)
    staff = open_pure(ledger, name="staff")
    ledger.set_quota("patients", "ann", Loss.pure(0), by="olga")
    assert not asked(ledger, "ann", "a")
    answer(ledger, ask("a", of=staff))


def test_owners_alone_set_quotas_and_groups(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(NotPermitted, match="ann does not own the budget of 'patients'"):
        ledger.set_quota("patients", "ann", Loss.pure(9), by="ann")
    with pytest.raises(NotPermitted, match="ann does not own"):
        ledger.join("patients", "bob", "@lab", by="ann")
    with pytest.raises(UnknownName, match="no budget for the population 'staff'"):
        ledger.set_quota("staff", "ann", Loss.pure(9), by="olga")
    with pytest.raises(UnknownName, match="no budget for the population 'staff'"):
        ledger.join("staff", "ann", "@lab", by="olga")
    assert ledger.verify("patients").entries == 1


def test_a_quota_or_a_group_that_means_nothing_is_refused(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="must be in the measure of its budget"):
        ledger.set_quota("patients", "ann", Loss.zcdp("0.1"), by="olga")
    with pytest.raises(InvalidValue, match="must begin with @, as in @lab"):
        ledger.join("patients", "ann", "lab", by="olga")
    ledger.join("patients", "ann", "@lab", by="olga")
    with pytest.raises(InvalidValue, match="ann is already in the team @lab"):
        ledger.join("patients", "ann", "@lab", by="olga")
    assert ledger.verify("patients").entries == 2


def test_an_analyst_without_a_quota_has_the_default_one(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_quota("patients", "ann", Loss.pure("0.4"), by="olga")
    ledger.set_default_quota("patients", Loss.pure("0.2"), by="olga")
    assert granted(ledger, ["ann"], 9) == 4
    assert granted(ledger, ["bob"], 9) == 2
    with pytest.raises(BudgetExceeded, match="quota of bob on 'patients' is too small"):
        answer(ledger, ask("more", principal="bob"))
    assert granted(ledger, TEN, 9) == 20  # each of them has it, and the cap still holds
    ledger.set_quota("patients", "bob", Loss.pure("0.3"), by="olga")
    assert granted(ledger, ["bob"], 9) == 3  # of which two are repeated, and free
    ledger.verify("patients")


def test_the_first_charge_is_within_the_default_quota_too(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_default_quota("patients", Loss.pure("0.09"), by="olga")
    assert not asked(ledger, "ann", "count")
    assert ledger.status("patients").spent == Loss.pure(0)
    ledger.set_default_quota("patients", Loss.pure("0.1"), by="olga")
    assert asked(ledger, "ann", "count")
    assert not asked(ledger, "ann", "another")


def test_what_was_spent_before_counts_for_a_default_quota(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    assert granted(ledger, ["ann"], 3) == 3
    ledger.set_default_quota("patients", Loss.pure("0.2"), by="olga")
    assert not asked(ledger, "ann", "more")
    own = ledger.status_for("patients", "ann")
    assert (own.cap, own.spent, own.left) == tuple(map(Loss.pure, ("0.2", "0.3", 0)))
    assert ledger.status("patients", "ann").questions_like(TENTH) == 0
    assert ledger.status("patients", "ann").quotas == (Loss.pure(0),)
    assert ledger.status("patients", "bob").questions_like(TENTH) == 2
    assert ledger.status("patients").questions_like(TENTH) == 47


def test_a_default_quota_is_not_that_of_groups(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.join("patients", "ann", "@lab", by="olga")
    ledger.join("patients", "bob", "@lab", by="olga")
    ledger.set_default_quota("patients", Loss.pure("0.3"), by="olga")
    assert granted(ledger, ["ann", "bob"], 5) == 6
    assert ledger.status_for("patients", "@lab").cap == Loss.pure(5)
    ledger.verify("patients")


def test_without_a_default_quota_only_the_cap_limits_them(ledger: Ledger) -> None:
    open_pure(ledger, "2")
    assert granted(ledger, ["ann"], 30) == 20
    assert ledger.status("patients", "ann").quotas == ()


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, " bob", "bob ", "@", "@ b", "e\u0301"])
def test_a_quota_has_a_holder_with_a_name(ledger: Ledger, name: str) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="1 to 200 printable characters"):
        ledger.set_quota("patients", name, Loss.pure(1), by="olga")


def test_only_an_owner_sets_a_default_quota_in_the_budgets_measure(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(NotPermitted):
        ledger.set_default_quota("patients", Loss.pure(1), by="mallory")
    with pytest.raises(InvalidValue, match="must be in the measure of its budget"):
        ledger.set_default_quota("patients", Loss.zcdp(1), by="olga")


def test_whoever_leaves_a_group_counts_for_it_no_longer(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_quota("patients", "@lab", Loss.pure("0.3"), by="olga")
    for who in ("ann", "bob"):
        ledger.join("patients", who, "@lab", by="olga")
    assert granted(ledger, ["ann", "bob"], 5) == 3
    assert ledger.teams("patients") == {"@lab": ("ann", "bob")}
    ledger.leave("patients", "ann", "@lab", by="olga")
    assert ledger.teams("patients") == {"@lab": ("bob",)}
    assert asked(ledger, "ann", "alone")
    assert not asked(ledger, "bob", "still a member")  # the team keeps what it has spent
    with pytest.raises(InvalidValue, match="ann is not in the team @lab"):
        ledger.leave("patients", "ann", "@lab", by="olga")
    with pytest.raises(NotPermitted, match="bob does not own"):
        ledger.leave("patients", "bob", "@lab", by="bob")
    ledger.verify("patients")


@pytest.mark.parametrize(
    ("who", "group"),
    [("", "@lab"), ("@a", "@lab"), ("a\nb", "@lab"), ("ann", "@"), ("a", "@@b"), ("a ", "@b")],
)
def test_members_and_groups_have_names(ledger: Ledger, who: str, group: str) -> None:
    open_pure(ledger)
    for name in (who, "a" * 201):
        with pytest.raises(InvalidValue, match="must have 1 to 200 printable characters"):
            ledger.join("patients", name, group, by="olga")


def test_an_owner_grants_or_declines_what_an_analyst_asks_for(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    ledger.set_quota("patients", "ann", Loss.pure("0.1"), by="olga")
    assert granted(ledger, ["ann"], 2) == 1
    more = ledger.request_quota("patients", Loss.pure("0.3"), by="ann", reason="a new wave")
    assert not asked(ledger, "ann", "not yet")
    assert list(ledger.quota_requests("patients")) == [more.seq]
    named = request_id("patients", more.body)
    with pytest.raises(InvalidValue, match=f"Your request {named} about 'patients' is still"):
        ledger.request_quota("patients", Loss.pure("0.4"), by="ann")
    with pytest.raises(NotPermitted, match="ann does not own"):
        ledger.grant_quota("patients", more.seq, by="ann")
    assert not asked(ledger, "ann", "not by themselves")
    ledger.verify("patients")
    ledger.grant_quota("patients", more.seq, by="olga")
    assert granted(ledger, ["ann"], 5) == 3  # of which one is repeated, and free
    with pytest.raises(UnknownName, match="waits for a decision"):
        ledger.grant_quota("patients", more.seq, by="olga")
    again = ledger.request_quota("patients", Loss.pure(1), by="ann")
    ledger.decline_quota("patients", request_id("patients", again.body), by="olga")
    with pytest.raises(UnknownName, match="waits for a decision"):
        ledger.decline_quota("patients", again.seq, by="olga")
    assert not asked(ledger, "ann", "declined")
    less = ledger.request_quota("patients", Loss.pure(1), by="ann")
    ledger.grant_quota("patients", less.seq, by="olga", cap=Loss.pure("0.4"))
    assert asked(ledger, "ann", "one more")
    assert not asked(ledger, "ann", "two more")
    assert ledger.quota_requests("patients") == {}
    ledger.verify("patients")


def test_a_member_asks_for_their_team_and_no_other(ledger: Ledger) -> None:
    open_pure(ledger, "5")
    for team in ("@lab", "@ward"):
        ledger.set_quota("patients", team, Loss.pure("0.1"), by="olga")
    ledger.join("patients", "ann", "@lab", by="olga")
    for other in ("@ward", "bob"):
        with pytest.raises(InvalidValue, match=f"and not for {other}"):
            ledger.request_quota("patients", Loss.pure(1), by="ann", team=other)
    wanted = ledger.request_quota("patients", Loss.pure("0.2"), by="ann", team="@lab")
    ledger.grant_quota("patients", wanted.seq, by="olga")
    assert granted(ledger, ["ann"], 5) == 2
    found = {each.holder: (each.quota, each.spent) for each in ledger.quotas("patients")}
    assert found == {
        "@lab": (Loss.pure("0.2"), Loss.pure("0.2")),
        "@ward": (Loss.pure("0.1"), Loss.pure(0)),
        "ann": (None, Loss.pure("0.2")),
    }


def test_a_request_that_means_nothing_is_refused(ledger: Ledger) -> None:
    open_pure(ledger)
    with pytest.raises(InvalidValue, match="No quota limits ann on 'patients'"):
        ledger.request_quota("patients", Loss.pure(1), by="ann")
    ledger.set_quota("patients", "ann", Loss.pure("0.2"), by="olga")
    with pytest.raises(InvalidValue, match="is already as large"):
        ledger.request_quota("patients", Loss.pure("0.2"), by="ann")
    with pytest.raises(InvalidValue, match="in the measure of its budget"):
        ledger.request_quota("patients", Loss.zcdp(1), by="ann")
    for reason in ("two\nlines", "x" * 201):
        with pytest.raises(InvalidValue, match="at most 200 printable"):
            ledger.request_quota("patients", Loss.pure(1), by="ann", reason=reason)
    with pytest.raises(UnknownName, match="no budget for the population 'staff'"):
        ledger.request_quota("staff", Loss.pure(1), by="ann")
    assert ledger.verify("patients").entries == 2


def test_a_request_is_no_proposal(ledger: Ledger) -> None:
    open_pure(ledger)
    ledger.set_quota("patients", "ann", Loss.pure("0.2"), by="olga")
    wanted = ledger.request_quota("patients", Loss.pure(1), by="ann")
    assert ledger.waiting_proposals("patients") == {}
    with pytest.raises(UnknownName, match="waits for approval"):
        ledger.approve("patients", wanted.seq, by="olga")
