from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.errors import InvalidValue
from tacit.noise.truncated import TruncatedDiscreteLaplace
from tacit.numeric.entropy import SystemEntropy

ENTROPY = SystemEntropy(b"unit")
CASES = [(Fraction(2), 7), (Fraction(3), 3), (Fraction(7, 2), 3), (Fraction(50), 4)]
DRAWS = 200_000


def p_value(drawn: np.ndarray, scale: float, reach: int) -> float:
    weights = np.exp(-abs(np.arange(-reach, reach + 1)) / scale)
    counts = np.bincount(drawn + reach, minlength=2 * reach + 1)
    return float(chisquare(counts, weights / weights.sum() * drawn.size).pvalue)


@pytest.mark.parametrize(("scale", "reach"), CASES)
def test_the_law_is_accepted_and_another_scale_rejected(scale: Fraction, reach: int) -> None:
    drawn = TruncatedDiscreteLaplace(scale, reach).draw(ENTROPY, DRAWS)
    assert p_value(drawn, float(scale), reach) > 1e-6
    # a flat law tells its scale badly, and the lie is greater there
    lie = 0.5 if scale > 4 * reach else 0.9
    assert p_value(drawn, float(scale) * lie, reach) < 1e-6


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
