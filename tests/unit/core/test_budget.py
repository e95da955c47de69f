from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue

MILLIONTH = Fraction(1, 10**6)


def test_a_budget_is_a_cap_and_exact_noise_alone() -> None:
    assert Budget(Loss.pure(1)).cap == Loss.pure(1)
    assert Budget(Loss.pure(1)).conversion_delta == 0
    assert not Budget(Loss.pure(1)).idealised
    assert Budget(Loss.zcdp("0.1"), MILLIONTH) == Budget(Loss.zcdp("0.1"), MILLIONTH)


@pytest.mark.parametrize("delta", [0, -1, 1, 2])
def test_a_budget_in_rho_is_printed_at_a_delta(delta: int) -> None:
    told = f"but conversion_delta={delta} was given"
    with pytest.raises(InvalidValue, match=told):
        Budget(Loss.zcdp("0.1"), Fraction(delta))


@pytest.mark.parametrize("cap", [Loss.pure(1), Loss.approximate(1, MILLIONTH)])
def test_other_budgets_are_not_converted(cap: Loss) -> None:
    with pytest.raises(InvalidValue, match=f"budget in {cap.measure.value} is not converted"):
        Budget(cap, MILLIONTH)


def test_a_budget_is_frozen() -> None:
    budget = Budget(Loss.pure(1))
    with pytest.raises(FrozenInstanceError):
        budget.cap = Loss.pure(2)
    with pytest.raises(FrozenInstanceError):
        budget.idealised = True
