from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.core.event import CubeNoiseV2
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.vector_noise import Cube
from tacit.noise.vector import DiscreteCube
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy
from tacit.testing.mechanism_contract import l1, linf

GATEWAY = LiveGateway(SystemEntropy(b"unit"))


def within(size: int, scale: float, dimensions: int) -> float:
    radii = range(int(scale * (60 + 3 * dimensions)))
    weights = [(2 * radius + 1) ** dimensions * exp(-radius / scale) for radius in radii]
    parts = (min(1, (2 * size + 1) / (2 * radius + 1)) for radius in radii)
    return sum(w * part for w, part in zip(weights, parts, strict=True)) / sum(weights)


@pytest.mark.parametrize(("scale", "dimensions"), [(1, 1), (3, 2), (10, 20), (40, 3)])
@pytest.mark.parametrize("confidence", [Fraction(0), Fraction("0.5"), Fraction("0.999")])
def test_the_error_is_the_least_that_suffices(
    scale: int, dimensions: int, confidence: Fraction
) -> None:
    error = int(Cube(Fraction(scale), dimensions).error(confidence))
    assert within(error, scale, dimensions) >= confidence
    assert error == 0 or within(error - 1, scale, dimensions) < confidence


def test_a_release_is_the_secret_with_one_draw_of_noise() -> None:
    words = [2**62 + 12345 * place for place in range(4)]
    noise = DiscreteCube(Fraction(9), 3).draw(ScriptedEntropy(words), 1)[0]
    released = Cube(Fraction(9), 3).release(
        Secret(np.array([40, 2, -7])), linf(1), LiveGateway(ScriptedEntropy(words))
    )
    assert released.tolist() == (np.array([40, 2, -7]) + noise).tolist()


def test_one_dimension_is_the_laplace_mechanism_in_its_loss_and_error() -> None:
    event = Cube(Fraction(10), 1).event(linf(2))
    assert event == CubeNoiseV2(Fraction(2), Fraction(10), 1)
    assert Cube(Fraction(10), 1).error(Fraction("0.95")) == 30


def test_another_norm_or_length_is_refused() -> None:
    with pytest.raises(InvalidValue, match="LINF is needed"):
        Cube(Fraction(9), 2).event(l1(1))
    with pytest.raises(InvalidValue, match="LINF is needed"):
        Cube(Fraction(9), 2).release(Secret(np.array([1, 2])), l1(1), GATEWAY)
    with pytest.raises(InvalidValue, match="a vector of 2 integers"):
        Cube(Fraction(9), 2).release(Secret(np.array([1, 2, 3])), linf(1), GATEWAY)


def test_settings_beyond_the_table_are_refused_before_any_data() -> None:
    with pytest.raises(InvalidValue, match="use a coarser grid"):
        Cube(Fraction(10**5), 2)
    with pytest.raises(InvalidValue, match="must be in"):
        Cube(Fraction(1), 2).error(Fraction(1))
