from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidValue
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import UniformBelow, uniform_bits
from tacit.noise.laplace import Bernoulli, DiscreteLaplace, Geometric, bernoulli_exp
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy

ENTROPY = SystemEntropy(b"unit")
HUGE = Fraction(2**80, 3)


@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(-1, 2)])
@pytest.mark.parametrize("sampler", [DiscreteLaplace, DiscreteGaussian, Geometric])
def test_a_scale_is_above_zero(sampler: type[DiscreteLaplace], wrong: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"above 0, but {wrong} was given"):
        sampler(wrong)


def test_other_parameters_are_checked() -> None:
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        Bernoulli(Fraction(3, 2))
    with pytest.raises(InvalidValue, match="at least 1 outcome"):
        UniformBelow(0)
    with pytest.raises(InvalidValue, match="below 0"):
        bernoulli_exp(ENTROPY, np.array([-1]), 1)


@pytest.mark.parametrize(
    "sampler",
    [
        DiscreteLaplace(Fraction(3)),
        DiscreteGaussian(Fraction(3)),
        DiscreteGaussian(Fraction(10**6)),
        Geometric(Fraction(100)),
        UniformBelow(7),
        Bernoulli(Fraction(1, 3)),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 17, 5000])
def test_as_many_draws_as_asked_for(sampler: DiscreteLaplace, count: int) -> None:
    drawn = sampler.draw(ENTROPY, count)
    assert drawn.shape == (count,)
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("sampler", [DiscreteLaplace(HUGE), DiscreteGaussian(HUGE**2)])
def test_beyond_64_bits_draws_are_python_integers(sampler: DiscreteLaplace) -> None:
    drawn = sampler.draw(ENTROPY, 400)
    assert drawn.dtype == object
    mean = sum(abs(int(y)) for y in drawn) / 400
    assert 0.6 < mean / float(HUGE) < 1.4


def test_a_huge_draw_of_a_small_scale_is_not_wrapped() -> None:
    # the leading word says that the top digit lies in the last 2**-64 of its law
    scale = Fraction(2**57)
    assert Geometric(scale).draw(ENTROPY, 100).dtype == object or scale < 2**62
    drawn = Geometric(Fraction(2**50)).draw(ScriptedEntropy([2**64 - 1, *[2**64 - 2] * 20]), 1)
    assert int(drawn[0]) > 2**50 * 44


def test_certain_coins() -> None:
    assert Bernoulli(Fraction(1)).draw(ENTROPY, 1000).all()
    assert not Bernoulli(Fraction(0)).draw(ENTROPY, 1000).any()
    assert bernoulli_exp(ENTROPY, np.zeros(1000, dtype=np.int64), 3).all()


def test_uniform_integers_reach_all_and_no_more() -> None:
    assert sorted(set(UniformBelow(5).draw(ENTROPY, 1000).tolist())) == [0, 1, 2, 3, 4]
    assert not UniformBelow(1).draw(ENTROPY, 3).any()
    wide = UniformBelow(2**70 + 1).draw(ENTROPY, 50)
    assert max(wide) > 2**64
    assert max(wide) <= 2**70


def test_uniform_bits_are_put_together_from_narrow_words() -> None:
    script = ScriptedEntropy([0b1010, 0b0110, 0b1100], word_bits=4)
    assert uniform_bits(script, 1, bits=10).tolist() == [0b1010_0110_11]
