"""Truncated noise on integers: its reach, its size, and settings that are refused."""

from fractions import Fraction
from math import exp, sqrt

import pytest

from tacit.errors import InvalidValue
from tacit.noise.gaussian import LONGEST_REACH, TruncatedDiscreteGaussian
from tacit.noise.laplace import TruncatedDiscreteLaplace
from tacit.numeric.entropy import SystemEntropy

ENTROPY = SystemEntropy(b"unit")


CASES = [(Fraction(2), 7), (Fraction(3), 3), (Fraction(7, 2), 3), (Fraction(50), 4)]


DRAWS = 200_000


@pytest.mark.parametrize(("scale", "reach"), CASES)
def test_every_integer_within_reach_is_drawn_and_no_other(scale: Fraction, reach: int) -> None:
    drawn = TruncatedDiscreteLaplace(scale, reach).draw(ENTROPY, DRAWS)
    assert set(drawn.tolist()) == set(range(-reach, reach + 1))


@pytest.mark.parametrize("scale", [Fraction(2**80, 3), Fraction(2**80 + 1, 2**40)])
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(5)])
def test_huge_scales_stay_exact(scale: Fraction, share: Fraction) -> None:
    reach = int(scale * share)
    drawn = TruncatedDiscreteLaplace(scale, reach).draw(ENTROPY, 300)
    assert drawn.shape == (300,)
    assert all(abs(int(y)) <= reach for y in drawn)
    assert max(abs(int(y)) for y in drawn) > reach / 5


def test_no_reach_is_no_noise() -> None:
    assert TruncatedDiscreteLaplace(Fraction(9), 0).draw(ENTROPY, 50).tolist() == [0] * 50
    assert TruncatedDiscreteLaplace(Fraction(9), 2).draw(ENTROPY, 0).shape == (0,)


@pytest.mark.parametrize(("scale", "reach"), [(0, 3), (-1, 3), (2, -1)])
def test_wrong_parameters_are_refused(scale: int, reach: int) -> None:
    with pytest.raises(InvalidValue, match="a scale above 0 and a reach of at least 0"):
        TruncatedDiscreteLaplace(Fraction(scale), reach)


@pytest.mark.parametrize(("variance", "reach"), [(Fraction(4), 6), (Fraction(1, 3), 2)])
def test_gaussians_are_drawn_within_reach_with_their_frequencies(
    variance: Fraction, reach: int
) -> None:
    drawn = TruncatedDiscreteGaussian(variance, reach).draw(ENTROPY, DRAWS).tolist()
    assert set(drawn) <= set(range(-reach, reach + 1))
    weights = {y: exp(-y * y / (2 * float(variance))) for y in range(-reach, reach + 1)}
    total = sum(weights.values())
    for y, weight in weights.items():
        wanted = DRAWS * weight / total
        slack = 7 * sqrt(wanted) + 7
        assert abs(drawn.count(y) - wanted) < slack
        # the lie: outcomes one step beside their places
        if weight / total > 0.1:
            assert abs(drawn.count(y) - DRAWS * weights.get(y + 1, 0) / total) > slack or (
                weights.get(y + 1) == pytest.approx(weight, rel=0.1)
            )


@pytest.mark.parametrize(("variance", "reach"), [(0, 3), (-1, 3), (2, -1)])
def test_wrong_parameters_of_gaussians_are_refused(variance: int, reach: int) -> None:
    with pytest.raises(InvalidValue, match="a variance above 0 and a reach from 0"):
        TruncatedDiscreteGaussian(Fraction(variance), reach)
    with pytest.raises(InvalidValue, match="a reach from 0"):
        TruncatedDiscreteGaussian(Fraction(2), LONGEST_REACH + 1)
