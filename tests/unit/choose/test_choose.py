from fractions import Fraction
from itertools import product
from math import exp, sqrt

import pytest

from tacit.accounting.pricing import delta_at, loss_of
from tacit.choose.noise import choose_noise
from tacit.core.loss import Loss
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.vector_noise import Ball, Cube
from tacit.robust.selection import PermuteAndFlip, choose_selector

ERRORS = range(200, 300, 10)  # of ten classifiers on a thousand examples


def moved(amount: int, norm: Norm) -> Sensitivity:
    return Sensitivity.of(amount, norm, Rule("an example"))


def test_the_measure_decides_between_selections() -> None:
    one = moved(1, Norm.LINF)
    pure = choose_selector(one, 10, Loss.pure(1)).mechanism
    zcdp = choose_selector(one, 10, Loss.zcdp("0.05")).mechanism
    assert isinstance(pure, PermuteAndFlip)
    assert isinstance(zcdp, Exponential)
    assert loss_of(pure.event(one), Loss.pure(1).measure) <= Loss.pure(1)
    assert loss_of(zcdp.event(one), Loss.zcdp(1).measure) <= Loss.zcdp("0.05")


def exponential_shortfall(rate: float) -> float:
    weights = [exp(-rate * (count - 200)) for count in ERRORS]
    return sum(w * (c - 200) for w, c in zip(weights, ERRORS, strict=True)) / sum(weights)


def flip_shortfall(rate: float) -> float:
    heads = [exp(-rate * (count - 200)) for count in ERRORS]
    total = 0.0
    for fell in product((0, 1), repeat=9):
        chance = 1.0
        for coin, head in zip(fell, heads[1:], strict=True):
            chance *= head if coin else 1 - head
        down = [0.0] + [
            c - 200.0 for coin, c in zip(fell, list(ERRORS)[1:], strict=True) if coin
        ]
        total += chance * sum(down) / len(down)
    return total


def test_at_equal_rho_the_exponential_mechanism_errs_a_third() -> None:
    # T15: rho = 0.05 buys epsilon = sqrt(8 rho) of one and sqrt(2 rho) of the other
    rho = 0.05
    exponential = exponential_shortfall(sqrt(8 * rho) / 2)
    flip = flip_shortfall(sqrt(2 * rho) / 2)
    assert abs(exponential - 0.44) < 0.02
    assert abs(flip - 1.58) < 0.05
    assert flip / exponential >= 3
    # and at equal epsilon the order is the other way
    assert flip_shortfall(0.25) < exponential_shortfall(0.25)


@pytest.mark.parametrize(
    ("norms", "loss", "idealised", "kind"),
    [
        ({Norm.L1: 1}, Loss.pure(1), False, Laplace),
        ({Norm.L1: 10, Norm.LINF: 1}, Loss.pure(1), False, Cube),
        ({Norm.L1: 10, Norm.L2: 1}, Loss.pure(1), True, Ball),
        ({Norm.L1: 1, Norm.L2: 1}, Loss.zcdp("0.1"), False, Gaussian),
        ({Norm.L2: 1}, Loss.approximate(1, "1e-6"), False, Gaussian),
        ({Norm.L2: 1}, Loss.approximate(1, "1e-6"), True, Ball),
        ({Norm.L2: 1}, Loss.zcdp("0.1"), True, Gaussian),
    ],
)
def test_the_noise_with_the_least_error_is_taken(
    norms: dict[Norm, int],
    loss: Loss,
    idealised: bool,  # noqa: FBT001
    kind: type[Laplace],
) -> None:
    known = [moved(amount, norm) for norm, amount in norms.items()]
    best = choose_noise(known, 10, loss, idealised=idealised)
    assert isinstance(best.mechanism, kind)
    in_its_norm = next(
        s for s in known if s.norm in {Norm.L1, Norm.L2, Norm.LINF} and _fits(best, s)
    )
    event = best.mechanism.event(in_its_norm)
    if idealised and loss.delta:
        assert delta_at(event, loss.amount) <= loss.delta * (1 + Fraction(1, 10**6))
    else:
        assert loss_of(event, loss.measure, loss.delta) <= loss


def _fits(best: object, sensitivity: Sensitivity) -> bool:
    try:
        best.mechanism.event(sensitivity)  # type: ignore[attr-defined]
    except InvalidValue:
        return False
    return True


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(InvalidValue, match="No noise fits"):
        choose_noise([moved(1, Norm.L2)], 10, Loss.pure(1))
    with pytest.raises(InvalidValue, match="above 0"):
        choose_selector(moved(0, Norm.LINF), 10, Loss.pure(1))
