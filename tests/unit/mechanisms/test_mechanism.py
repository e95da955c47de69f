"""What mechanisms share: confidences, norms, and errors that are the least that suffice."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from tacit.core.event import GaussianNoise, LaplaceNoiseV2
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.additive_noise import BLOCK, AddNoise, Gaussian, Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy

F = Fraction
SURE = [F(0), F(1, 2), F(9, 10), F(19, 20), F(99, 100), 1 - F(1, 10**9)]


def moved(amount: Fraction | int, norm: Norm) -> Sensitivity:
    return Sensitivity.of(amount, norm, Rule("a unit moves it so far"))


@pytest.mark.parametrize("confidence", [F(1), F(-1, 10), F(3, 2)])
def test_a_confidence_is_a_probability_below_1(confidence: Fraction) -> None:
    with pytest.raises(InvalidValue, match=rf"must be in \[0, 1\), but {confidence} was given"):
        valid_confidence(confidence)
    assert valid_confidence(F(0)) == 0
    assert valid_confidence(1 - F(1, 10**30)) == 1 - F(1, 10**30)


def laplace_beyond(scale: Fraction, size: int) -> Decimal:
    """P(abs(noise) > size) of the discrete Laplace law."""
    q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    return 2 * q ** (size + 1) / (1 + q)


@pytest.mark.parametrize("scale", [F(1, 10), F(1), F(7, 3), F(10), F(1000)])
@pytest.mark.parametrize("confidence", SURE)
def test_the_error_of_laplace_noise_is_the_least_that_suffices(
    scale: Fraction, confidence: Fraction
) -> None:
    error = Laplace(scale).error(confidence)
    assert error.denominator == 1
    with localcontext() as context:
        context.prec = 60
        allowed = Decimal((1 - confidence).numerator) / Decimal((1 - confidence).denominator)
        assert laplace_beyond(scale, int(error)) <= allowed
        if error:
            assert laplace_beyond(scale, int(error) - 1) > allowed


def gaussian_beyond(variance: Fraction, size: int) -> Fraction:
    """P(abs(noise) > size) of the discrete Gaussian law, in floats of 40 digits."""
    with localcontext() as context:
        context.prec = 40
        spread = Decimal(variance.numerator) / Decimal(variance.denominator)
        weights = []
        for y in count():
            weights.append((-Decimal(y * y) / (2 * spread)).exp())
            if weights[-1] < Decimal("1e-35"):
                break
        total = 2 * sum(weights) - weights[0]
        return F(2 * sum(weights[size + 1 :], Decimal(0)) / total)


@pytest.mark.parametrize("variance", [F(1, 4), F(1), F(50), F(1000)])
@pytest.mark.parametrize("confidence", SURE)
def test_the_error_of_gaussian_noise_suffices_and_hardly_more(
    variance: Fraction, confidence: Fraction
) -> None:
    error = Gaussian(variance).error(confidence)
    assert error.denominator == 1
    assert gaussian_beyond(variance, int(error)) <= 1 - confidence
    if error > 1:
        assert gaussian_beyond(variance, int(error) - 2) > 1 - confidence


def test_the_events_of_additive_noise() -> None:
    one, two = moved(3, Norm.L1), moved(3, Norm.L2)
    assert Laplace(F(10)).event(one) == LaplaceNoiseV2(F(3), F(10))
    assert Gaussian(F(10)).event(two) == GaussianNoise(F(9), F(10))


def test_noise_of_another_norm_is_refused() -> None:
    gateway = LiveGateway(SystemEntropy(charge=b"test"))
    for mechanism, wrong in (
        (Laplace(F(10)), moved(3, Norm.L2)),
        (Gaussian(F(10)), moved(3, Norm.LINF)),
    ):
        with pytest.raises(InvalidValue):
            mechanism.event(wrong)
        with pytest.raises(InvalidValue):
            mechanism.release(Secret(np.array([1, 2])), wrong, gateway)


@pytest.mark.parametrize("size", [F(0), F(-1)])
def test_noise_of_no_size_is_refused(size: Fraction) -> None:
    with pytest.raises(InvalidValue, match="above 0"):
        Laplace(size)
    with pytest.raises(InvalidValue):
        Gaussian(size)


class Numbered:
    """Noise that is the place of each draw, from 1 on."""

    def __init__(self) -> None:
        self.drawn = 0

    def draw(self, _: Entropy, count: int) -> Integers:
        start = self.drawn + 1
        self.drawn += count
        return np.arange(start, start + count, dtype=np.int64)


@pytest.mark.parametrize("size", [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_each_value_has_its_own_draw_across_blocks(size: int) -> None:
    found = AddNoise(Numbered())(np.zeros(size, dtype=np.int64), SystemEntropy(b"test"))
    assert found.tolist() == list(range(1, size + 1))


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**63 - 1, -(2**63)], dtype=np.int64),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([2**90, -(2**90)], dtype=object),
        np.array([2**62, -(2**62)], dtype=np.int64),
    ],
)
def test_no_sum_wraps(values: Integers) -> None:
    found = AddNoise(Numbered())(values, SystemEntropy(b"test"))
    assert [int(each) for each in found] == [
        int(each) + place for place, each in enumerate(values.tolist(), 1)
    ]


@pytest.mark.parametrize("values", [np.zeros((2, 2), dtype=np.int64), np.zeros(2)])
def test_noise_is_added_to_one_row_of_integers(values: Integers) -> None:
    with pytest.raises(
        InternalError, match=r"Noise can be added only to a one-dimensional integer array\."
    ):
        AddNoise(Numbered())(values, SystemEntropy(b"test"))
