"""The curve of Gaussian noise, real and discrete, beside sums of 60 digits."""

from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

import pytest

from tacit.accounting.curves import discrete_gaussian_delta, gaussian_delta, gaussian_scale
from tacit.errors import InvalidValue

F = Fraction
MICRO = F(1, 10**6)


@pytest.mark.parametrize("mu", [0.01, 0.25, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 4.0])
def test_the_delta_of_real_noise_is_rounded_up_and_hardly(epsilon: float, mu: float) -> None:
    normal = NormalDist().cdf
    exact = normal(mu / 2 - epsilon / mu) - 2.718281828459045**epsilon * normal(
        -mu / 2 - epsilon / mu
    )
    found = gaussian_delta(epsilon, mu)
    assert found >= exact - 1e-16
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-14)


def test_no_move_has_no_delta_and_a_far_one_has_all() -> None:
    assert gaussian_delta(0.0, 0.0) == gaussian_delta(1.0, 0.0) == 0.0
    assert gaussian_delta(1.0, 1e6) == 1.0
    assert 0.0 <= gaussian_delta(700.0, 0.1) < 1e-300


@pytest.mark.parametrize(("epsilon", "delta"), [(F(1), MICRO), (F(1, 10), F(1, 100))])
def test_the_least_scale_is_the_least(epsilon: Fraction, delta: Fraction) -> None:
    scale = gaussian_scale(epsilon, delta)
    assert (scale / MICRO).denominator == 1
    assert gaussian_delta(float(epsilon), float(1 / scale)) <= delta
    assert gaussian_delta(float(epsilon), float(1 / (scale - MICRO))) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, F(1, 2)), (1, 0), (1, 1), (1, 2)])
def test_what_no_noise_keeps_is_refused(epsilon: int, delta: Fraction) -> None:
    with pytest.raises(
        InvalidValue, match="an epsilon of at least 0 and a delta between 0 and"
    ):
        gaussian_scale(F(epsilon), F(delta))
    assert gaussian_scale(F(0), F(1, 2)) > 0


def exact_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """The delta of the discrete law, summed far beyond its reach."""
    with localcontext() as context:
        context.prec = 70
        spread = Decimal(variance.numerator) / Decimal(variance.denominator)
        factor = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()

        def weight(y: int) -> Decimal:
            return (-Decimal(y * y) / (2 * spread)).exp()

        far = 60 + int(20 * float(variance) ** 0.5) + abs(shift)
        total = sum(weight(y) for y in range(-far, far + 1))
        over = sum(
            max(Decimal(0), weight(y) - factor * weight(y - shift))
            for y in range(-far, far + 1)
        )
        return F(over / total)


@pytest.mark.parametrize("variance", [F(1, 4), F(1), F(16)])
@pytest.mark.parametrize("shift", [0, 1, 3, -2])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 2), F(2)])
def test_the_delta_of_discrete_noise_is_rounded_up_and_hardly(
    variance: Fraction, shift: int, epsilon: Fraction
) -> None:
    exact = exact_delta(variance, shift, epsilon)
    found = discrete_gaussian_delta(variance, shift, epsilon)
    assert exact <= found
    assert found - exact < F(1, 10**28)
