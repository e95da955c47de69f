"""A filter admits what fits as a plain sum: the test that unsound composition must fail.

Advanced composition holds for losses fixed in advance. An analyst who picks each epsilon after
the answers so far breaks it (Rogers, Roth, Ullman, Vadhan 2016, section 4), so a filter may not
use it, however well it looks for many small losses.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded
from tacit.lab.accountants import PrivacyFilter

SMALL = Loss.approximate("0.01", 0)


def test_a_hundred_small_losses_fill_a_filter() -> None:
    spent = PrivacyFilter(Loss.approximate(1, "1e-6"))
    for _ in range(100):
        spent = spent.admit(SMALL)
    assert not spent.admits(SMALL)
    with pytest.raises(BudgetExceeded):
        spent.admit(SMALL)


@given(st.lists(st.fractions(0, Fraction(1, 2)), max_size=30))
def test_a_filter_admits_exactly_what_the_sum_allows(asked: list[Fraction]) -> None:
    for make in (Loss.pure, Loss.zcdp):
        spent, total = PrivacyFilter(make(1)), Fraction(0)
        for amount in asked:
            assert spent.admits(make(amount)) == (total + amount <= 1)
            if total + amount <= 1:
                spent, total = spent.admit(make(amount)), total + amount
