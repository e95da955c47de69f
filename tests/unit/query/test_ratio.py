from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.query.mean_intervals import Ratio

SURE = Fraction(19, 20)


@pytest.mark.parametrize("top", [0, 37, -500, 4000])
def test_the_ends_are_as_far_as_the_noise_allows(top: int) -> None:
    ratio = Ratio.of(Gaussian(Fraction(400)), Gaussian(Fraction(9)), SURE)
    found = ratio.interval(top, 900)
    assert found is not None
    for end in found:
        apart = (top - float(end) * 900) ** 2
        allowed = float(ratio.top_reach) ** 2 + (float(end) * float(ratio.bottom_reach)) ** 2
        assert apart == pytest.approx(allowed, rel=1e-6)


@pytest.mark.parametrize("noise", [Gaussian(Fraction(100)), Laplace(Fraction(7))])
def test_nothing_is_said_of_a_quotient_by_what_may_be_nothing(
    noise: Gaussian | Laplace,
) -> None:
    assert Ratio.of(noise, noise, SURE).interval(1000, 10) is None
    assert Ratio.of(noise, noise, SURE).interval(1000, -500) is None


def test_of_two_totals_by_themselves_less_is_known() -> None:
    gaussian, laplace = Gaussian(Fraction(98)), Laplace(Fraction(7))
    narrow = Ratio.of(gaussian, gaussian, SURE).interval(500, 1000)
    wide = Ratio.of(laplace, laplace, SURE).interval(500, 1000)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < Fraction(1, 2) < narrow[1] < wide[1]


@pytest.mark.parametrize("exact", [(0, 200), (2, 200), (-200, 200), (900, 300)])
def test_small_integer_noise_is_covered_too(exact: tuple[int, int]) -> None:
    # discrete noise of variance 2, by its definition
    places = np.arange(-12, 13)
    chances = np.exp(-(places**2) / 4)
    chances /= chances.sum()
    ratio = Ratio.of(Gaussian(Fraction(2)), Gaussian(Fraction(2)), SURE)
    held = 0.0
    for one, chance in zip(places, chances, strict=True):
        for two, other in zip(places, chances, strict=True):
            found = ratio.interval(exact[0] + int(one), exact[1] + int(two))
            if found is not None and found[0] <= Fraction(*exact) <= found[1]:
                held += chance * other
    assert held >= 0.95
