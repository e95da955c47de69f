"""Every sampler has its law, at a million draws: accepted, and rejected one percent off."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar

from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing import distribution
from tacit.testing.distribution import ExactLaw, Floats, GaussianLaw, LaplaceLaw

pytestmark = pytest.mark.claim

DRAWS = 10**6
ODD = 1e-6
SCALES = [Fraction(1, 3), *map(Fraction, (1, 3, 30, 1000, 10**6, 2**50))]
CASES = [(name, scale) for name in ("laplace", "gaussian") for scale in SCALES]

law_of: dict[str, Callable[[float], ExactLaw]] = {
    "laplace": LaplaceLaw,
    "gaussian": GaussianLaw,
}


def sample(name: str, scale: Fraction) -> Floats:
    sampler = DiscreteLaplace(scale) if name == "laplace" else DiscreteGaussian(scale**2)
    return sampler.draw(SystemEntropy(b"claim"), DRAWS).astype(np.float64)


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_the_law_is_accepted_and_one_percent_off_is_rejected(
    name: str, scale: Fraction, bar: Bar
) -> None:
    law = law_of[name](float(scale))
    drawn = sample(name, scale)
    label = f"{name} {scale if scale < 2**50 else '2^50'}"
    fit = distribution.goodness(drawn, law)
    bar(f"law {label}, chi-square p", fit, "> 1e-6", fit > ODD)
    others = {
        "scale": distribution.scale(drawn, law),
        "P(0)": distribution.zeros(drawn, law),
        "symmetry": distribution.symmetry(drawn),
        "lag-1": distribution.independence(drawn),
    } | {f"tail {p}": distribution.tail(drawn, law, p) for p in (1e-2, 1e-3, 1e-4, 1e-5)}
    least = min(others, key=lambda key: others[key])
    text = f"least p of {len(others)}, {least}"
    bar(f"law {label}, {text}", others[least], "> 1e-6", others[least] > ODD)
    off = abs(distribution.scale_errors(sample(name, scale * Fraction(101, 100)), law))
    bar(f"law {label}, scale 1% off, standard errors", off, "> 5", off > 5)


@pytest.fixture(scope="module")
def honest() -> Floats:
    return sample("laplace", Fraction(30))


LAW = LaplaceLaw(30)


def test_a_sign_that_flips_once_in_a_hundred_is_rejected(honest: Floats) -> None:
    lie = honest.copy()
    lie[::100] = np.abs(lie[::100])
    assert distribution.symmetry(lie) < ODD < distribution.symmetry(honest)


def test_a_missing_zero_is_rejected(honest: Floats) -> None:
    lie = honest[(honest != 0) | (np.arange(honest.size) % 10 > 0)]
    assert distribution.zeros(lie, LAW) < ODD < distribution.zeros(honest, LAW)


def test_a_tail_cut_at_one_in_ten_thousand_is_rejected(honest: Floats) -> None:
    edge = LAW.quantile(np.array([1 - 0.5e-4]))[0]
    lie = np.clip(honest, -edge, edge)
    assert distribution.tail(lie, LAW, 1e-4) < ODD < distribution.tail(honest, LAW, 1e-4)


def test_noise_used_twice_once_in_a_hundred_is_rejected(honest: Floats) -> None:
    lie = honest.copy()
    lie[1::100] = lie[::100]
    assert distribution.independence(lie) < ODD < distribution.independence(honest)


def test_a_comb_that_keeps_the_scale_is_rejected_by_its_shape(honest: Floats) -> None:
    lie = np.round(honest / 4) * 4
    assert distribution.goodness(lie, LAW) < ODD < distribution.goodness(honest, LAW)
