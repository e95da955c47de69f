from fractions import Fraction
from math import exp

import pytest

from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.optimal_keys import OptimalKeys, TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys
from tacit.query.selected_count import kept_with, survival

MILLIONTH = Fraction(1, 10**6)
TRUNCATED = TruncatedGeometricKeys(Fraction(1), MILLIONTH, max_keys=2)
LAPLACE = LaplaceKeys(Fraction(1), MILLIONTH, max_keys=2)
GAUSSIAN = GaussianKeys(Fraction(30), MILLIONTH, max_keys=2)


def law(mechanism: TruncatedGeometricKeys | LaplaceKeys | GaussianKeys, units: int) -> float:
    """The probability that so many units pass, by adding up the noise that lets them."""
    match mechanism:
        case TruncatedGeometricKeys():
            ends, threshold = mechanism.reach, mechanism.reach + 1
        case _:
            ends, threshold = 400, mechanism.threshold
    weight = {
        y: exp(-(y**2) / 60) if isinstance(mechanism, GaussianKeys) else exp(-abs(y) / 2)
        for y in range(-ends, ends + 1)
    }
    passing = sum(part for y, part in weight.items() if units + y >= threshold)
    return passing / sum(weight.values()) if units else 0.0


@pytest.mark.parametrize("mechanism", [TRUNCATED, LAPLACE, GAUSSIAN])
def test_the_probability_is_that_of_the_noise(
    mechanism: TruncatedGeometricKeys | LaplaceKeys | GaussianKeys,
) -> None:
    probability = kept_with(mechanism)
    for units in range(120):
        exact = law(mechanism, units)
        assert abs(float(probability(units)) - exact) <= 1e-12 + 1e-6 * exact * (units == 1)


@pytest.mark.parametrize("mechanism", [TRUNCATED, LAPLACE, GAUSSIAN])
def test_the_sizes_are_the_least_that_survive_so_often(
    mechanism: TruncatedGeometricKeys | LaplaceKeys | GaussianKeys,
) -> None:
    found = survival(mechanism)
    assert [float(probability) for probability, _ in found] == [0.05, 0.5, 0.95]
    for probability, units in found:
        assert law(mechanism, units) >= probability > law(mechanism, units - 1)


def test_a_law_with_another_delta_has_other_sizes() -> None:
    assert survival(LAPLACE) != survival(LaplaceKeys(Fraction(1), MILLIONTH / 10, max_keys=2))


def test_the_optimal_law_states_its_own() -> None:
    keys = OptimalKeys(Fraction(1), MILLIONTH, max_keys=1)
    assert kept_with(keys)(14) == keys.probability(14)
    assert [units for _, units in survival(keys)] == [12, 14, 16]


def test_where_nearly_everything_survives_one_unit_is_enough() -> None:
    keys = OptimalKeys(Fraction(1), Fraction(99, 100), max_keys=1)
    assert [units for _, units in survival(keys)] == [1, 1, 1]


def test_what_does_not_select_is_our_mistake() -> None:
    with pytest.raises(InternalError, match="Laplace does not select groups"):
        kept_with(Laplace(Fraction(1)))
