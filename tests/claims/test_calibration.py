"""Noise is calibrated by the curve of its own event."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tacit.accounting.convert import epsilon_of_rho
from tacit.accounting.pricing import calibrate, loss_of
from tacit.core.event import (
    AboveThreshold,
    BallNoise,
    CubeNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    KeySelection,
    LaplaceNoise,
    LomaxNoise,
    PermuteAndFlipSelection,
    ProposeTestReleaseEvent,
    RandomisedResponseEvent,
    Repeated,
    Sampled,
    SmoothLaplaceNoise,
    StudentNoise,
    TruncatedLaplaceNoise,
)
from tacit.core.loss import Loss
from tacit.lab.accountants import selections_epsilon

MICRO = Fraction(1, 10**6)


HALF = Fraction(1, 2)


def laplace(scale: Fraction) -> Event:
    return LaplaceNoise(Fraction(3), scale)


def gaussian(variance: Fraction) -> Event:
    return GaussianNoise(Fraction(2), variance)


EVENT_AT: dict[str, Callable[[Fraction], Event]] = {
    "laplace": lambda x: LaplaceNoise(Fraction(3), x),
    "gaussian": lambda x: GaussianNoise(Fraction(2), x),
    "cube": lambda x: CubeNoise(Fraction(1), x, 3),
    "ball": lambda x: BallNoise(Fraction(2), x, 3),
    "truncated laplace": lambda x: TruncatedLaplaceNoise(Fraction(1), x, int(50 * x) + 1),
    "exponential": lambda x: ExponentialSelection(1 / x),
    "permute and flip": lambda x: PermuteAndFlipSelection(1 / x),
    "keys": lambda x: KeySelection(1 / x, MICRO / 10, 2),
    "above threshold": lambda x: AboveThreshold(1 / x, 2 / x),
    "lomax": lambda x: LomaxNoise(1 / x, 1 / (8 * x)),
    "student": lambda x: StudentNoise(3, 1 / (8 * x), 1 / x),
    "propose test release": lambda x: ProposeTestReleaseEvent(1 / x, 1 / x, MICRO / 10),
    "randomised response": lambda x: RandomisedResponseEvent(HALF + HALF / (1 + x), 2),
    "smooth laplace": lambda x: SmoothLaplaceNoise(x, Fraction(1, 30)),
    "sampled": lambda x: Sampled(LaplaceNoise(Fraction(1), x), Fraction(1, 10)),
    "repeated": lambda x: Repeated(LaplaceNoise(Fraction(1), x), 52),
}


@pytest.mark.parametrize("name", EVENT_AT)
def test_every_mechanism_is_calibrated_by_its_own_curve(name: str) -> None:
    event_at, loss = EVENT_AT[name], Loss.approximate(1, "1e-6")
    delta = MICRO if name in {"gaussian", "smooth laplace"} else Fraction(0)
    unit = Fraction(1, 1000)
    parameter = calibrate(event_at, loss, delta, unit)
    assert loss_of(event_at(parameter), loss.measure, delta) <= loss
    assert not loss_of(event_at(parameter - unit), loss.measure, delta) <= loss


def test_selections_fixed_in_advance() -> None:
    assert abs(selections_epsilon(0.1, 52, 1e-6) - 1.5673) < 0.001
    assert abs(selections_epsilon(0.5, 52, 1e-6) - 9.567) < 0.005
    # the budget's own price for the same is above, as it must be
    assert float(epsilon_of_rho(52 * Fraction("0.1") ** 2 / 8, MICRO)) > 1.69
