"""Diagnostics are right, and no mechanism takes one."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue, SecretMisuse
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.influence import (
    GrossErrorNoise,
    ProbableSmoothBound,
    asymptotic_variance,
    fixed_scale_influence,
    fixed_scale_sensitivity,
    gross_error_sensitivity,
    influence,
    location,
)
from tacit.robust.location import Huber, Psi, Tukey
from tacit.robust.quantiles import RankQuantile
from tacit.robust.smooth_noise import Lomax, SmoothLaplace

SAMPLE = np.random.default_rng(5).normal(3, 1, 400)
MECHANISMS: list[Any] = [
    Laplace(Fraction(10)),
    Gaussian(Fraction(10)),
    Lomax(Fraction(1), Fraction(1, 6)),
    SmoothLaplace(Fraction(2), Fraction(1, 30)),
    Exponential(Fraction(1), candidates=2),
    RankQuantile(Fraction(1, 2), Fraction(1), points=2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("diagnosed", [gross_error_sensitivity, location, asymptotic_variance])
def test_no_mechanism_takes_a_diagnostic(mechanism: Any, diagnosed: Any) -> None:
    found = diagnosed(SAMPLE, Huber())
    with pytest.raises(SecretMisuse, match="must hold for all data"):
        mechanism.event(found)
    gateway = LiveGateway(SystemEntropy(b"diagnostics"))
    with pytest.raises(SecretMisuse, match="must hold for all data"):
        mechanism.release(Secret(np.array([1, 2])), found, gateway)


def test_a_diagnostic_is_no_number_and_prints_none() -> None:
    found = gross_error_sensitivity(SAMPLE, Huber())
    with pytest.raises(InvalidValue):
        Sensitivity.of(found, Norm.L1, Rule("what these data say"))  # type: ignore[arg-type]
    with pytest.raises(SecretMisuse):
        float(found)
    with pytest.raises(TypeError):
        json.dumps(found)
    assert str(found.for_the_owner)[:4] not in f"{found!r} {found}"


def test_a_number_taken_out_by_hand_is_taken() -> None:
    """What the type cannot hold back: whoever writes ``for_the_owner`` has said so."""
    by_hand = gross_error_sensitivity(SAMPLE, Huber()).for_the_owner
    assert Laplace(Fraction(1)).event(Sensitivity.of(by_hand, Norm.L1, Rule("a lie")))


@pytest.mark.parametrize("lecture", [
    GrossErrorNoise(1.0, 1e-6, Huber()),
    ProbableSmoothBound(0.05, 0.01, 200.0, Huber()),
])  # fmt: skip
def test_the_lectures_formulas_refuse_to_be_mechanisms(lecture: Any) -> None:
    gateway = LiveGateway(SystemEntropy(b"diagnostics"))
    one = Sensitivity.of(1, Norm.L1, Rule("one"))
    with pytest.raises(SecretMisuse, match="is not a private mechanism"):
        lecture.event(one)
    with pytest.raises(SecretMisuse, match="is not a private mechanism"):
        lecture.release(SAMPLE, gateway)


@pytest.mark.parametrize("psi", [Huber(), Tukey()])
def test_an_influence_function_is_what_a_little_more_of_a_value_does(psi: Psi) -> None:
    at = np.array([-10.0, 0.0, 2.5, 3.0, 4.2, 5.0, 40.0])
    little = fixed_scale_influence(SAMPLE, at, psi, 1e-6)
    assert np.allclose(influence(SAMPLE, at, psi), little, atol=5e-3)
    # the lectures' formula has no t in front of the point mass
    whole = fixed_scale_influence(SAMPLE, at, psi, 0.5)
    assert not np.allclose(influence(SAMPLE, at, psi), whole, atol=5e-3)


@pytest.mark.parametrize("psi", [Huber(), Tukey()])
def test_the_gross_error_sensitivity_is_the_greatest_influence(psi: Psi) -> None:
    at = np.linspace(-10, 20, 4001)
    greatest = float(abs(influence(SAMPLE, at, psi)).max())
    found = gross_error_sensitivity(SAMPLE, psi).for_the_owner
    assert found == pytest.approx(greatest, rel=1e-3)
    near = fixed_scale_sensitivity(SAMPLE, psi, 1 / SAMPLE.size).for_the_owner
    assert near == pytest.approx(found, rel=0.05)


def test_the_asymptotic_variance_is_the_estimators_own() -> None:
    rng = np.random.default_rng(6)
    found = [location(rng.normal(0, 1, 100), Huber()).for_the_owner for _ in range(400)]
    said = asymptotic_variance(rng.normal(0, 1, 100_000), Huber()).for_the_owner
    assert 100 * np.var(found) == pytest.approx(said, rel=0.3)


def test_the_formulas_say_what_the_lectures_say() -> None:
    noise = GrossErrorNoise(1.0, 1e-6, Huber()).deviation(SAMPLE).for_the_owner
    gross = gross_error_sensitivity(SAMPLE, Huber()).for_the_owner
    assert noise == pytest.approx(gross * 5 * (2 * np.log(400) * np.log(2e6)) ** 0.5 / 400)
    bound = ProbableSmoothBound(0.5, 0.01, 200.0, Huber())
    assert bound.radius(200) == pytest.approx(0.23, abs=0.001)
    assert 2 * gross / 400 <= 1.1 * bound.bound(SAMPLE).for_the_owner


def test_nothing_has_no_diagnostic_and_a_share_is_one() -> None:
    with pytest.raises(InvalidValue, match="at least one value"):
        location([], Huber())
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        fixed_scale_sensitivity(SAMPLE, Huber(), 1.0)
