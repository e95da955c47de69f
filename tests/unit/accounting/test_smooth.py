from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest

from tacit.accounting.curves import lomax_factor, lomax_worst_loss, smooth_laplace_delta

EPSILONS = [Fraction(text) for text in ("0.1", "0.3", "1", "3")]
SHARES = [Fraction(text) for text in ("0.02", "0.1", "1/6", "0.25", "0.45")]


def brute_force_loss(epsilon: float, smoothing: float, factor: float) -> float:
    """The worst log-ratio over scales, shifts and places, on a grid of all three."""
    power = 1 + epsilon / smoothing
    far = np.geomspace(1e-3, 1e13, 300) * factor
    places = np.concatenate([-far[::-1], [0.0], np.linspace(0, 1.2, 25), far])
    worst = 0.0
    for log_ratio in np.linspace(-smoothing, smoothing, 41):
        for share in np.linspace(0, 1, 11):
            shift, other = share * min(1.0, exp(log_ratio)), factor * exp(log_ratio)
            z = np.append(places, shift)
            left = -log(factor) - power * np.log1p(abs(z) / factor)
            right = -log(other) - power * np.log1p(abs(z - shift) / other)
            worst = max(worst, float(abs(left - right).max()))
    return worst


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("share", SHARES)
def test_lomax_loses_epsilon_and_five_percent_less_noise_loses_more(
    epsilon: Fraction, share: Fraction
) -> None:
    smoothing = share * epsilon
    factor = lomax_factor(epsilon, smoothing)
    claimed = lomax_worst_loss(epsilon, smoothing)
    found = brute_force_loss(float(epsilon), float(smoothing), float(factor))
    assert found <= float(epsilon) * (1 + 1e-9)
    assert claimed == pytest.approx(float(epsilon), rel=1e-9)
    assert found == pytest.approx(claimed, rel=1e-6)
    lie = factor * Fraction(95, 100)
    beyond = brute_force_loss(float(epsilon), float(smoothing), float(lie))
    assert beyond > float(epsilon) * 1.005
    assert lomax_worst_loss(epsilon, smoothing, lie) == pytest.approx(beyond, rel=1e-9)


@pytest.mark.parametrize(
    ("share", "wanted"), [("0.02", 0.971), ("0.1", 0.868), ("1/6", 0.797), ("0.25", 0.722)]
)
def test_the_exact_scale_is_less_than_the_simple_one(share: str, wanted: float) -> None:
    beta = Fraction(share)
    simple = (1 + beta) / (beta * (1 - beta))
    assert float(lomax_factor(Fraction(1), beta) / simple) == pytest.approx(wanted, abs=5e-4)


@pytest.mark.parametrize(("epsilon", "wanted"), [(1.0, 1.5e-3), (0.5, 7.7e-4)])
def test_the_lectures_scale_in_p_dimensions_is_rejected(epsilon: float, wanted: float) -> None:
    beta = Fraction(epsilon / (4 * (1 + 2 * log(2 / 1e-6))))
    lie = smooth_laplace_delta(Fraction(1 / epsilon), beta, Fraction(epsilon))
    assert lie == pytest.approx(wanted, rel=0.03)
    honest = smooth_laplace_delta(Fraction(2 / epsilon), beta, Fraction(epsilon))
    assert honest < 1e-6


def test_a_factor_of_1_44_is_enough_where_the_textbook_takes_2() -> None:
    beta = Fraction(1 / (2 * log(2 / 1e-6)))
    assert smooth_laplace_delta(Fraction("1.45"), beta, Fraction(1)) <= 1e-6
    assert smooth_laplace_delta(Fraction("1.42"), beta, Fraction(1)) > 1e-6


def test_equal_scales_are_the_laplace_mechanism() -> None:
    nearly_none = Fraction(1, 10**9)
    for epsilon, wanted in ((1.0, 0.0), (0.5, 1 - exp(-0.25)), (0.0, 1 - exp(-0.5))):
        found = smooth_laplace_delta(Fraction(1), nearly_none, Fraction(epsilon))
        assert found == pytest.approx(wanted, abs=1e-8)


def test_far_laws_are_told_apart() -> None:
    assert smooth_laplace_delta(Fraction(1, 50), Fraction(1), Fraction(1)) > 0.999
    assert smooth_laplace_delta(Fraction(1, 50), Fraction(1), Fraction(1)) < inf
