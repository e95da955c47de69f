from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.convert import convert, delta_of_rho, epsilon_of_rho, rho_within
from tacit.accounting.curves import discrete_gaussian_delta, gaussian_delta, gaussian_scale
from tacit.accounting.pricing import UNIT, calibrate, loss_of
from tacit.core.event import Event, GaussianNoise, LaplaceNoise
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue

MICRO = Fraction(1, 10**6)
rhos = st.fractions(Fraction(1, 10**6), 5)
deltas = st.fractions(Fraction(1, 10**12), Fraction(1, 10))


@pytest.mark.parametrize(("rho", "epsilon"), [("0.1", 2.142), ("0.5", 5.222), ("1", 7.766)])
def test_rho_converts_to_the_tabulated_epsilon(rho: str, epsilon: float) -> None:
    assert round(float(epsilon_of_rho(Fraction(rho), MICRO)), 3) == epsilon


@given(rhos, deltas)
def test_the_conversion_is_never_above_the_simple_one(rho: Fraction, delta: Fraction) -> None:
    simple = float(rho) + 2 * (float(rho) * log(1 / delta)) ** 0.5
    assert float(epsilon_of_rho(rho, delta)) <= simple * (1 + 1e-9)


@given(rhos, deltas)
def test_it_is_never_below_the_exact_gaussian(rho: Fraction, delta: Fraction) -> None:
    mu = float(2 * rho) ** 0.5
    epsilon = epsilon_of_rho(rho, delta)
    assert gaussian_delta(float(epsilon), mu) <= float(delta) * (1 + 1e-6)
    # a seventh less would be below what the Gaussian really loses, where delta is small
    if delta < MICRO and epsilon > 1:
        assert gaussian_delta(0.85 * float(epsilon), mu) > float(delta)


@given(rhos, deltas)
def test_both_ways_of_one_conversion_agree(rho: Fraction, delta: Fraction) -> None:
    found = delta_of_rho(rho, epsilon_of_rho(rho, delta))
    assert found <= delta * (1 + Fraction(1, 10**6)) or found <= 1


@given(st.fractions(Fraction(1, 100), 10), deltas)
def test_rho_within_an_epsilon_is_the_most(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_within(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon
    assert epsilon_of_rho(rho + Fraction(2, 10**12), delta) > epsilon or rho >= epsilon / 2


def test_conversions_only_loosen() -> None:
    assert convert(Loss.pure(1), Measure.ZCDP) == Loss.zcdp("0.5")
    assert convert(Loss.pure(1), Measure.APPROXIMATE) == Loss.approximate(1, 0)
    assert convert(Loss.approximate(1, "1e-6"), Measure.ZCDP) == Loss.zcdp("0.5", "1e-6")
    there = convert(Loss.zcdp("0.5", "1e-6"), Measure.APPROXIMATE, MICRO)
    assert there.delta == 2 * MICRO
    assert there.amount > 1  # not the epsilon that it came from
    assert convert(there, Measure.APPROXIMATE) is there


@pytest.mark.parametrize("measure", [Measure.ZCDP, Measure.APPROXIMATE])
def test_nothing_becomes_pure(measure: Measure) -> None:
    with pytest.raises(InvalidValue, match="cannot be converted to epsilon"):
        convert(Loss(measure, Fraction(1)), Measure.PURE)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1)])
def test_a_conversion_needs_a_delta(delta: Fraction) -> None:
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        epsilon_of_rho(Fraction(1), delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "scale"),
    [
        ("0.1", "1e-6", 36.305),
        ("0.5", "1e-6", 8.058),
        ("1", "1e-6", 4.2247),
        ("1", "1e-5", 3.7306),
        ("3", "1e-6", 1.5439),
        ("10", "1e-6", 0.5411),
    ],
)
def test_analytic_gaussian_scales(epsilon: str, delta: str, scale: float) -> None:
    found = gaussian_scale(Fraction(epsilon), Fraction(delta))
    assert abs(float(found) / scale - 1) < 1e-4
    assert gaussian_delta(float(epsilon), 1 / float(found)) <= float(delta)
    assert gaussian_delta(float(epsilon), 1.001 / float(found)) > float(delta)


def test_the_discrete_gaussian_is_not_the_continuous_one() -> None:
    discrete = float(discrete_gaussian_delta(Fraction(16), 1, Fraction(1)))
    assert abs(discrete / 3.055e-6 - 1) < 0.005
    assert abs(gaussian_delta(1, 1 / 4) / 2.924e-6 - 1) < 0.005
    small = float(discrete_gaussian_delta(Fraction(1), 1, Fraction(2)))
    assert small / gaussian_delta(2, 1) > 1.18


def laplace(scale: Fraction) -> Event:
    return LaplaceNoise(Fraction(3), scale)


def gaussian(variance: Fraction) -> Event:
    return GaussianNoise(Fraction(2), variance)


@pytest.mark.parametrize(
    ("event_at", "loss"),
    [
        (laplace, Loss.pure("0.7")),
        (laplace, Loss.zcdp("0.01")),
        (gaussian, Loss.zcdp("0.01")),
        (gaussian, Loss.approximate(1, "1e-6")),
    ],
)
def test_calibration_solves_the_events_own_curve(
    event_at: type[LaplaceNoise], loss: Loss
) -> None:
    parameter = calibrate(event_at, loss, MICRO, unit=Fraction(1, 10**6))  # type: ignore[arg-type]
    measure = loss.measure
    assert loss_of(event_at(parameter), measure, MICRO) <= loss  # type: ignore[call-arg,arg-type]
    less = event_at(parameter - UNIT * 1000)  # type: ignore[call-arg,arg-type]
    assert not loss_of(less, measure, MICRO) <= loss


def test_no_noise_is_enough_for_no_loss() -> None:
    with pytest.raises(InvalidValue, match="above 0"):
        calibrate(laplace, Loss.pure(0))
