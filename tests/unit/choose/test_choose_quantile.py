from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.accounting.pricing import loss_of
from tacit.choose.noise import REACH_SHARE, choose_quantile
from tacit.core.loss import Loss
from tacit.testing.mechanism_contract import l1

LOSSES = [Loss.pure(1), Loss.zcdp("0.125"), Loss.approximate(1, "1e-6")]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (6, 2), (30, 10)])
def test_all_of_the_loss_is_spent_and_no_more(loss: Loss, rows: int, groups: int) -> None:
    found = choose_quantile(l1(rows), Fraction(9, 10), 100, groups, loss)
    spent = loss_of(found.event(l1(rows)), loss.measure)
    assert loss.amount * Fraction(999_999, 10**6) < spent.amount <= loss.amount
    more = replace(found, rate=found.rate * Fraction(101, 100))
    assert loss_of(more.event(l1(rows)), loss.measure).amount > loss.amount


def test_a_reach_gets_its_share() -> None:
    pure = choose_quantile(l1(1), Fraction(1, 2), 100, 1, Loss.pure(1))
    assert pure.reach_rate == REACH_SHARE
    assert pure.flips
    concentrated = choose_quantile(l1(1), Fraction(1, 2), 100, 1, Loss.zcdp("0.125"))
    assert round(float(concentrated.reach_rate) ** 2, 6) == float(REACH_SHARE)
    assert not concentrated.flips


def test_more_rows_or_groups_of_a_unit_are_told_apart_by_less() -> None:
    def rate(rows: int, groups: int) -> float:
        return float(choose_quantile(l1(rows), Fraction(1, 2), 9, groups, LOSSES[1]).rate)

    assert rate(3, 1) == pytest.approx(rate(1, 1) / 3, rel=1e-6)
    # one row in each of four groups: under rho that costs twice, and not four times
    assert rate(4, 4) == pytest.approx(rate(1, 1) / 2, rel=1e-6)
