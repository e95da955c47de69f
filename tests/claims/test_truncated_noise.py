from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.noise.laplace import TruncatedDiscreteLaplace
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
