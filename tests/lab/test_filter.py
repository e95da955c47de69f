from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.lab.accountants import PrivacyFilter

amounts = st.lists(st.fractions(0, 1), max_size=30)


@given(amounts)
def test_what_is_admitted_never_passes_the_cap(asked: list[Fraction]) -> None:
    budget = PrivacyFilter(Loss.zcdp(2, "1e-6"))
    admitted = Fraction(0)
    for amount in asked:
        loss = Loss.zcdp(amount)
        if budget.admits(loss):
            budget, admitted = budget.admit(loss), admitted + amount
        else:
            assert admitted + amount > 2
    assert budget.spent.amount == admitted <= 2


def test_ten_charges_of_a_tenth_fill_it() -> None:
    budget = PrivacyFilter(Loss.pure(1))
    for _ in range(10):
        budget = budget.admit(Loss.pure(0.1))
    assert budget.spent == budget.cap
    with pytest.raises(
        BudgetExceeded, match=r"ε = 0.1 exceeds the cap: ε = 1 of ε = 1 is spent"
    ):
        budget.admit(Loss.pure(0.1))


def test_delta_is_capped_too() -> None:
    budget = PrivacyFilter(Loss.approximate(1, "1e-6"))
    assert not budget.admits(Loss.approximate("0.1", "1e-5"))


def test_one_measure_is_fixed_beforehand() -> None:
    with pytest.raises(InvalidValue, match="same measure"):
        PrivacyFilter(Loss.pure(1)).admits(Loss.zcdp(1))
