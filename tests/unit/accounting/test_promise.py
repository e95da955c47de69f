"""What may be printed about a whole budget."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.convert import budget_within, epsilon_of_rho, to_approximate_dp
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize("cap", [Loss.pure(1), Loss.approximate(1, MILLIONTH)])
def test_a_cap_in_epsilon_is_its_own_promise(cap: Loss) -> None:
    assert to_approximate_dp(cap, Fraction(0)) == cap


def test_a_printed_delta_is_that_of_the_conversion_and_all_that_is_charged() -> None:
    total = to_approximate_dp(Loss.zcdp("0.1", "1e-7"), MILLIONTH)
    assert total.measure is Measure.APPROXIMATE
    assert total.delta == MILLIONTH + Fraction(1, 10**7)
    exact = epsilon_of_rho(Fraction(1, 10), MILLIONTH)
    assert exact <= total.amount < exact + MILLIONTH
    # an epsilon that forgot the conversion's delta would need none of it, and no rho has it
    assert to_approximate_dp(Loss.zcdp("0.1"), MILLIONTH).delta > 0


@given(st.fractions(Fraction(1, 100), 20), st.fractions(Fraction(1, 10**12), Fraction(1, 100)))
def test_a_budget_within_an_epsilon_and_a_delta_keeps_both(
    epsilon: Fraction, delta: Fraction
) -> None:
    budget = budget_within(epsilon, delta)
    total = to_approximate_dp(budget.cap, budget.conversion_delta)
    assert total.amount <= epsilon
    assert total.delta == delta
    # and gives nearly all of it: a hundredth more would not fit
    more = to_approximate_dp(
        Loss.zcdp(budget.cap.amount * Fraction(101, 100)), budget.conversion_delta
    )
    assert more.amount > epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, "1e-6"), (-1, "1e-6"), (1, 0), (1, 1), (1, -1), (1, 2)]
)
def test_a_budget_that_promises_nothing_is_refused(epsilon: int, delta: str) -> None:
    told = f"epsilon above 0 and a delta between 0 and 1; {epsilon!r} and {delta!r} were"
    with pytest.raises(InvalidValue, match=told):
        budget_within(epsilon, delta)
