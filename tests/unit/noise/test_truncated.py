"""Truncated noise on integers: its reach, its size, and settings that are refused."""

from fractions import Fraction

import pytest

from tacit.errors import InvalidValue
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
