from fractions import Fraction

import pytest

from tacit.accounting.curves import gaussian_delta
from tacit.core.event import GaussianNoise, Numerics, RealGaussianNoise, Repeated
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.errors import InvalidValue, MissingExtra
from tacit.extras import is_installed
from tacit.lab.deep import train
from tacit.lab.dp_sgd import SampledDescent, SampledGaussian
from tacit.ml.registry import spec_of

DESCENT = SampledDescent(Fraction(1, 100), steps=100, expected=50, noise=Fraction(1))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_sample_of_all_is_gaussian_noise_and_no_less(epsilon: float) -> None:
    known = gaussian_delta(epsilon, 10**0.5 / 4)
    found = SampledGaussian(Fraction(1), Fraction(4), 10).delta_at(epsilon)
    assert known <= found <= known * 1.001 + 1e-11
    # the lie: one time fewer
    assert SampledGaussian(Fraction(1), Fraction(4), 9).delta_at(epsilon) < known


def test_a_smaller_sample_loses_less_and_more_steps_lose_more() -> None:
    law = SampledGaussian(Fraction(1, 100), Fraction(1), 100)
    assert law.epsilon_at(1e-5) > SampledGaussian(
        Fraction(1, 200), Fraction(1), 100
    ).epsilon_at(1e-5)
    assert law.epsilon_at(1e-5) < SampledGaussian(
        Fraction(1, 100), Fraction(1), 200
    ).epsilon_at(1e-5)


def test_a_delta_that_rounding_hides_is_refused() -> None:
    with pytest.raises(InvalidValue, match="delta must be above"):
        SampledGaussian(Fraction(1, 100), Fraction(1), 100).epsilon_at(1e-13)


def test_noise_is_the_least_within_a_loss() -> None:
    loss = Loss.approximate(1, "1e-5")
    found = SampledDescent.within(loss, "0.01", steps=100, expected=50)
    assert found.loss("1e-5") <= loss
    less = SampledDescent(found.probability, 100, 50, found.noise - Fraction(1, 100))
    assert not less.loss("1e-5") <= loss


def test_its_event_is_idealised_and_priced_by_its_own_law() -> None:
    assert DESCENT.event().numerics is Numerics.IDEALISED
    assert SampledGaussian.of(DESCENT.event()) == SampledGaussian(
        Fraction(1, 100), Fraction(1), 100
    )
    for other in (
        RealGaussianNoise(Fraction(1), Fraction(1)),
        Repeated(GaussianNoise(Fraction(1), Fraction(1)), 3),
    ):
        with pytest.raises(InvalidValue, match="for repeated real Gaussian noise"):
            SampledGaussian.of(other)


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"noise": Fraction(0)}, {"probability": Fraction(2)}, {"expected": 0}],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    settings = {"probability": Fraction(1, 10), "steps": 1, "expected": 1, "noise": Fraction(1)}
    SampledDescent(**settings)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue):
        SampledDescent(**settings | wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", [Loss.pure(1), Loss.zcdp(1), Loss.approximate(1, 0)])
def test_a_loss_without_a_delta_is_refused(loss: Loss) -> None:
    with pytest.raises(InvalidValue, match="an epsilon and a delta"):
        SampledDescent.within(loss, "0.01", steps=100, expected=50)


def trained(neighbours: Neighbours) -> object:
    people = Population("people", PrivacyUnit("person", neighbours))
    return train(
        lambda weights, _: weights,
        0.0,
        [],
        descent=DESCENT,
        optimiser=None,
        population=people,
        delta="1e-5",
    )


def test_samples_hide_no_replacement() -> None:
    with pytest.raises(InvalidValue, match="added or removed"):
        trained(Neighbours.REPLACE_ONE)


@pytest.mark.skipif(is_installed("deep"), reason="JAX is here")
def test_without_jax_it_says_how_to_get_it() -> None:
    with pytest.raises(MissingExtra, match=r"tacit\[deep\]"):
        trained(Neighbours.ADD_REMOVE)


def test_no_session_fits_it() -> None:
    with pytest.raises(InvalidValue, match="session cannot fit"):
        spec_of(DESCENT)
