from fractions import Fraction
from math import exp

import pytest

from tacit.accounting.curves import gaussian_delta, gaussian_scale
from tacit.accounting.pricing import loss_of
from tacit.core.event import (
    BallNoise,
    Composed,
    CubeNoise,
    ExponentialSelection,
    GaussianNoise,
    KeySelection,
    LaplaceNoise,
    Nothing,
    PermuteAndFlipSelection,
    Repeated,
)
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue
from tacit.lab.accountants import group_event, group_loss

ONE = Fraction(1)


def test_a_group_of_five_under_gaussian_noise() -> None:
    # T05: Gaussian noise at (2, 1e-6)
    scale = float(gaussian_scale(Fraction(2), Fraction(1, 10**6)))
    true = gaussian_delta(10, 5 / scale)
    assert 1.56e-4 <= true <= 1.58e-4
    bound = group_loss(Loss.approximate(2, "1e-6"), 5)
    assert bound.amount == 10
    assert true <= float(bound.delta)
    assert abs(float(bound.delta) / 3.45e-3 - 1) < 0.01
    # the lie of the lecture: five times delta
    assert true > 5e-6


def test_delta_grows_by_the_geometric_sum() -> None:
    bound = group_loss(Loss.approximate(1, "1e-6"), 3)
    exact = 1e-6 * (exp(3) - 1) / (exp(1) - 1)
    assert abs(float(bound.delta) / exact - 1) < 1e-12


@pytest.mark.parametrize(
    "event",
    [
        LaplaceNoise(ONE, Fraction(10)),
        CubeNoise(ONE, Fraction(10), 2),
        BallNoise(ONE, Fraction(10), 2),
        GaussianNoise(ONE, Fraction(100)),
        ExponentialSelection(Fraction(1, 10)),
        PermuteAndFlipSelection(Fraction(1, 10)),
        Composed((LaplaceNoise(ONE, Fraction(10)), Nothing())),
        Repeated(LaplaceNoise(ONE, Fraction(10)), 3),
    ],
)
def test_a_known_mechanism_is_seen_as_with_more_sensitivity(event: LaplaceNoise) -> None:
    rho = loss_of(event, Measure.ZCDP)
    assert loss_of(group_event(event, 4), Measure.ZCDP) == group_loss(rho, 4)
    assert group_event(event, 1) == event


def test_pure_loss_grows_with_the_group() -> None:
    assert group_loss(Loss.pure("0.1"), 7) == Loss.pure("0.7")


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no group event of KeySelection"):
        group_event(KeySelection(ONE, ONE / 100, 1), 2)
    with pytest.raises(InvalidValue, match="convert it"):
        group_loss(Loss.zcdp(1, "1e-6"), 2)
    with pytest.raises(InvalidValue, match="at least 1"):
        group_loss(Loss.pure(1), 0)
