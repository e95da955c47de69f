from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import laplace as laplace_law

from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.smooth_noise import AddSmoothLaplace, SmoothLaplace
from tacit.testing.entropy import ScriptedEntropy

STEPS = 10**6


def test_the_draw_has_the_laplace_law_and_not_a_fifth_more() -> None:
    draw, entropy = AddSmoothLaplace(Fraction(3, 2)), SystemEntropy(b"test")
    secret = np.array([0, STEPS])
    drawn = np.array([int(draw(secret, entropy)[0]) for _ in range(20_000)]) / STEPS
    assert kstest(drawn, laplace_law(scale=1.5).cdf).pvalue > 1e-6
    assert kstest(drawn * 1.2, laplace_law(scale=1.5).cdf).pvalue < 1e-6


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1])
def test_the_first_and_last_words_have_a_draw(word: int) -> None:
    drawn = AddSmoothLaplace(Fraction(1))(np.array([0, 1]), ScriptedEntropy([word]))
    assert abs(int(drawn[0])) <= 45


def test_what_is_out_of_range_is_refused() -> None:
    for factor, smoothing in ((0, 1), (1, 0)):
        with pytest.raises(InvalidValue, match="must be above 0"):
            SmoothLaplace(Fraction(factor), Fraction(smoothing))
