from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.noise.vector import LARGEST_TABLE, CubeRadius, DiscreteCube, uniform_below_each
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds
from tacit.testing.entropy import enumerate_law

ENTROPY = SystemEntropy(b"unit")
PRECISION = 80
scales = st.fractions(Fraction(1, 4), 6, max_denominator=9)


@given(scales, st.integers(1, 12))
def test_the_weights_of_the_radius_are_held_up_to_one_factor(
    scale: Fraction, dimensions: int
) -> None:
    weights = CubeRadius(scale, dimensions).weights(PRECISION)
    highest = max(range(len(weights.lower)), key=weights.lower.__getitem__)
    for radius in range(min(len(weights.lower), 40)):
        low, high = exp_bounds((highest - radius) / scale)
        power = Fraction(2 * radius + 1, 2 * highest + 1) ** dimensions
        assert weights.lower[radius] <= power * high * weights.upper[highest]
        assert weights.upper[radius] >= power * low * weights.lower[highest]
        # and tightly: five percent off is outside
        if weights.lower[radius] > 2**PRECISION:
            assert weights.upper[radius] < power * high * weights.upper[highest] * 21 / 20


@given(scales, st.integers(1, 12))
def test_what_is_left_out_is_bounded(scale: Fraction, dimensions: int) -> None:
    short = CubeRadius(scale, dimensions).weights(20)
    long = CubeRadius(scale, dimensions).weights(PRECISION)
    left_out = sum(long.lower[len(short.lower) :])
    assert left_out <= short.rest << PRECISION - 20
    assert short.rest < sum(short.lower) / 2**15


def place(z: tuple[int, ...]) -> int:
    return sum((value + 50) * 100**position for position, value in enumerate(z))


@pytest.mark.parametrize(
    ("scale", "dimensions", "word_bits"), [(Fraction(3, 2), 1, 6), (Fraction(1, 3), 2, 4)]
)
def test_every_script_of_words_adds_up_to_the_law(
    scale: Fraction, dimensions: int, word_bits: int
) -> None:
    def draw(entropy: Entropy) -> int:
        return place(tuple(DiscreteCube(scale, dimensions).draw(entropy, 1)[0].tolist()))

    found = enumerate_law(draw, word_bits, longest=dimensions + 1)
    near = list(product(range(-40, 41), repeat=dimensions))
    total_low = sum(exp_bounds(-max(map(abs, z)) / scale)[0] for z in near)
    total_high = total_low * (1 + Fraction(1, 10**6))
    assert found.undecided < Fraction(1, 2)
    lies = 0
    for z in product(range(-3, 4), repeat=dimensions):
        low, high = exp_bounds(-max(map(abs, z)) / scale)
        assert found.allows(place(z), low / total_high, high / total_low)
        lies += not found.allows(place(z), 2 * low / total_high, 2 * high / total_low)
    assert lies > 0


def test_uniform_places_are_exact_for_every_size() -> None:
    for size in (1, 2, 3, 5, 7, 16, 21):
        found = enumerate_law(
            lambda entropy, size=size: int(uniform_below_each(entropy, np.array([size]))[0]),
            word_bits=4,
            longest=3,
        )
        assert found.undecided <= Fraction(size, 16**3)
        assert set(found.outcomes) == set(range(size))
        for outcome in range(size):
            assert found.allows(outcome, Fraction(1, size), Fraction(1, size))
        assert not found.allows(0, Fraction(2, size), Fraction(2, size))


@pytest.mark.parametrize("dimensions", [1, 3, 200])
def test_squared_size_is_that_of_the_l_infinity_law(dimensions: int) -> None:
    scale = 100
    count = max(3000, 100_000 // dimensions)
    drawn = DiscreteCube(Fraction(scale), dimensions).draw(ENTROPY, count)
    norms = (drawn.astype(float) ** 2).sum(axis=1)
    wanted = scale**2 * dimensions * (dimensions + 1) * (dimensions + 2) / 3
    error = norms.std() / norms.size**0.5
    assert abs(norms.mean() - wanted) < 5 * error + wanted / 5000
    assert abs(norms.mean() - 1.1 * wanted) > 5 * error


def test_as_many_rows_as_asked_for() -> None:
    for count in (0, 1, 5000):
        assert DiscreteCube(Fraction(2), 3).draw(ENTROPY, count).shape == (count, 3)


def test_settings_beyond_the_table_are_refused() -> None:
    with pytest.raises(InvalidValue, match="use a coarser grid"):
        DiscreteCube(Fraction(10**4), 5)
    fits = CubeRadius(Fraction(1000), 5)
    assert len(fits.weights(104).lower) < fits.table_size < LARGEST_TABLE


@pytest.mark.parametrize(("scale", "dimensions"), [(0, 2), (-1, 2), (2, 0)])
def test_wrong_parameters_are_refused(scale: int, dimensions: int) -> None:
    with pytest.raises(InvalidValue, match="a scale above 0 and at least 1 dimension"):
        DiscreteCube(Fraction(scale), dimensions)
