from itertools import count
from math import exp, expm1, pi, sin, sqrt

import numpy as np
import pytest

from tacit.accounting import curves
from tacit.accounting.curves import _integral, _loss_density, ball_delta, ball_scale
from tacit.errors import InvalidValue

SCALES = {2: 0.9998, 5: 0.9864, 10: 0.9164, 20: 0.7728, 50: 0.5499, 100: 0.4052}


@pytest.mark.parametrize(("dimensions", "scale"), SCALES.items())
def test_the_scale_of_every_dimension_to_four_digits(dimensions: int, scale: float) -> None:
    found = ball_scale(dimensions, 1.0, 1e-6)
    assert round(found, 4) == scale
    assert ball_delta(found, dimensions, 1.0) <= 1e-6
    assert ball_delta(found * 0.999, dimensions, 1.0) > 1e-6


@pytest.mark.parametrize("scale", [0.01, 0.5, 0.9999999])
def test_one_dimension_is_laplace(scale: float) -> None:
    wanted = -expm1((1 - 1 / scale) / 2)
    assert ball_delta(scale, 1, 1.0) == pytest.approx(wanted, rel=1e-8)


def test_delta_falls_with_the_scale_the_epsilon_and_the_dimension() -> None:
    for dimensions in (1, 2, 3, 40, 1000):
        deltas = [ball_delta(scale, dimensions, 0.2) for scale in (0.02, 0.1, 0.5, 2.0, 4.9)]
        assert deltas == sorted(deltas, reverse=True)
        deltas = [ball_delta(0.3, dimensions, epsilon) for epsilon in (0.0, 0.1, 1.0, 3.0)]
        assert deltas == sorted(deltas, reverse=True)
        assert 0 < deltas[-1] < deltas[0] <= 1
    deltas = [ball_delta(0.3, dimensions, 1.0) for dimensions in (1, 2, 3, 4, 10, 1000)]
    assert deltas == sorted(deltas, reverse=True)


def test_a_pure_loss_leaves_no_delta_and_anything_less_does() -> None:
    for dimensions in (1, 2, 7):
        assert ball_delta(0.5, dimensions, 2.0) == 0
        assert ball_delta(np.nextafter(0.5, 0), dimensions, 2.0) > 0
        assert ball_scale(dimensions, 3.0, 0.0) * 3.0 >= 1


@pytest.mark.parametrize("dimensions", [2, 3, 10**4])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e6])
def test_extreme_settings_have_a_delta(scale: float, dimensions: int) -> None:
    assert 0 < ball_delta(scale, dimensions, 1e-7) <= 1


def test_integrals_are_those_of_the_schoolbook() -> None:
    assert _integral(lambda x: x * x, 3.0, points=1) == pytest.approx(9, rel=1e-12)
    assert _integral(sin, pi, points=1) == pytest.approx(2, rel=1e-12)
    assert _integral(sqrt, 4.0, points=100) == pytest.approx(16 / 3, rel=1e-12)
    assert _integral(exp, 1.0, points=1000) == pytest.approx(expm1(1), rel=1e-12)


def test_an_integral_that_never_settles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "MOST_POINTS", 512)
    seen = count()
    with pytest.raises(InvalidValue, match="does not converge"):
        _integral(lambda _: float(next(seen)), 1.0, points=1)
    assert next(seen) == 65 + 129 + 257 + 513


def test_wrong_settings_are_refused() -> None:
    for scale, dimensions, epsilon in ((0.0, 2, 1.0), (1.0, 0, 1.0), (1.0, 2, -1.0)):
        with pytest.raises(InvalidValue, match="Ball noise needs a scale above 0"):
            ball_delta(scale, dimensions, epsilon)
    for epsilon, delta in ((0.0, 0.1), (1.0, -0.1), (1.0, 1.0)):
        with pytest.raises(InvalidValue, match="Ball noise needs an epsilon above 0"):
            ball_scale(2, epsilon, delta)


@pytest.mark.parametrize("dimensions", [2, 3, 10])
def test_the_density_of_the_loss_is_none_at_the_poles(dimensions: int) -> None:
    density = _loss_density(1.0, dimensions)
    assert density(0.0) == 0.0
    assert density(1.0) > 0.0
