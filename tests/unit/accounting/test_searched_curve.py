"""The worst ratio of two smooth scales is found wherever it lies."""

from fractions import Fraction

import pytest

from tacit.accounting.curves import _between, _mass, smooth_laplace_delta

F = Fraction


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (-1.0, 2.0), (3.0, 4.0)])
def test_the_mass_of_an_interval_is_that_of_the_laplace_law(low: float, high: float) -> None:
    def below(x: float) -> float:
        return 0.5 * 2.718281828459045**x if x < 0 else 1 - 0.5 * 2.718281828459045**-x

    assert _mass(low, high, 1.0) == pytest.approx(below(high) - below(low), rel=1e-12)
    assert _mass(2 * low, 2 * high, 2.0) == pytest.approx(_mass(low, high, 1.0), rel=1e-12)


@pytest.mark.parametrize("epsilon", [F(0), F(1, 2), F(1)])
@pytest.mark.parametrize(("factor", "smoothing"), [(F(1), F(1, 10)), (F(2), F(1, 30))])
def test_no_ratio_of_scales_has_a_larger_delta(
    factor: Fraction, smoothing: Fraction, epsilon: Fraction
) -> None:
    found = smooth_laplace_delta(factor, smoothing, epsilon)
    most, scale = float(smoothing), float(factor)
    tried = []
    for place in range(-500, 501):
        ratio = 2.718281828459045 ** (most * place / 500)
        tried.append(_between(min(1.0, ratio), scale, scale * ratio, float(epsilon)))
    assert max(tried) <= found * (1 + 1e-9)
    assert found <= max(tried) * (1 + 1e-3) + 1e-15


def test_equal_laws_have_no_delta() -> None:
    assert _between(0.0, 1.0, 1.0, 0.0) == 0.0
    assert _between(1.0, 1.0, 1.0, 1.0) == pytest.approx(0.0, abs=1e-15)
    assert _between(1.0, 1.0, 1.0, 0.0) == pytest.approx(1 - 2.718281828459045**-0.5, rel=1e-12)
