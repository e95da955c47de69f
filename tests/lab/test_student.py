from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import t as student_law

from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.smooth_noise import AddStudent, Student, student_within

STEPS = 10**6


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 10])
def test_the_finite_sum_is_the_cumulative_law(degrees: int) -> None:
    for size in (0.1, 1.0, 3.0, 20.0):
        wanted = 1 - 2 * student_law.sf(size, degrees)
        assert student_within(size, degrees) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("degrees", [1, 3, 6])
def test_the_draw_has_students_law_and_not_that_of_its_neighbours(degrees: int) -> None:
    draw, entropy = AddStudent(degrees, Fraction(1)), SystemEntropy(b"test")
    secret = np.array([0, STEPS])
    drawn = np.array([int(draw(secret, entropy)[0]) for _ in range(20_000)]) / STEPS
    assert kstest(drawn, student_law(degrees).cdf).pvalue > 1e-6
    assert kstest(drawn * 1.2, student_law(degrees).cdf).pvalue < 1e-6


def worst_loss(degrees: int, smoothing: float, rate: float) -> float:
    worst = 0.0
    far = np.geomspace(1e-2, 1e8, 400)
    places = np.concatenate([-far, far, np.linspace(-5, 5, 401)])
    for log_ratio in np.linspace(-smoothing, smoothing, 21):
        other = np.exp(log_ratio)
        shift = min(1.0, other)
        left = student_law.logpdf(places * rate, degrees)
        right = student_law.logpdf((places - shift) * rate / other, degrees) - log_ratio
        worst = max(worst, float(abs(left - right).max()))
    return worst


@pytest.mark.parametrize("degrees", [1, 3, 5])
def test_the_loss_is_below_the_claim_and_near_it(degrees: int) -> None:
    smoothing, rate = 0.05, 0.4
    claimed = smoothing * degrees + rate * (degrees + 1) / (2 * sqrt(degrees))
    assert worst_loss(degrees, smoothing, rate) <= claimed
    assert worst_loss(degrees, smoothing, 1.5 * rate) > claimed
    assert worst_loss(degrees, 8 * smoothing, rate) > claimed


def test_what_is_out_of_range_is_refused() -> None:
    for bad in ((0, "1", "1"), (3, "0", "1"), (3, "1", "0")):
        with pytest.raises(InvalidValue, match="must be above 0"):
            Student(bad[0], Fraction(bad[1]), Fraction(bad[2]))
