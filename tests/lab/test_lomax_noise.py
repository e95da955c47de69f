from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.accounting.curves import lomax_factor
from tacit.errors import InvalidValue
from tacit.noise.integers import integer_array
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.smooth_noise import RoundedLomax
from tacit.testing.entropy import ScriptedEntropy, enumerate_law

DRAWS = 15_000
ODD = 1e-6


def beyond(size: float, tail: float, scale: float) -> float:
    """P(abs(rounded) >= size), for a size of at least 1."""
    return (1 + (size - 0.5) / scale) ** -tail


def pmf(value: int, tail: float, scale: float) -> float:
    if value == 0:
        return 1 - beyond(1, tail, scale)
    size = abs(value)
    return (beyond(size, tail, scale) - beyond(size + 1, tail, scale)) / 2


def p_value(drawn: np.ndarray, tail: float, scale: float) -> float:
    kept = [v for v in range(-60, 61) if pmf(v, tail, scale) * drawn.size > 50]
    seen = np.array([(drawn == v).sum() for v in kept])
    wanted = np.array([pmf(v, tail, scale) for v in kept]) * drawn.size
    rest = (drawn.size - seen.sum(), drawn.size - wanted.sum())
    return float(chisquare(np.append(seen, rest[0]), np.append(wanted, rest[1])).pvalue)


def test_the_law_is_accepted_and_fifteen_percent_off_is_rejected() -> None:
    # five percent off is rejected at more draws, in tests/contracts
    law = RoundedLomax(Fraction(4))
    drawn = law.draw(SystemEntropy(b"test"), Fraction(3, 2), DRAWS).astype(float)
    assert p_value(drawn, 4, 1.5) > ODD
    assert p_value(drawn, 4, 1.5 * 1.15) < ODD
    assert p_value(drawn, 4 * 1.15, 1.5) < ODD


@pytest.mark.parametrize(("tail", "scale"), [(3, 1.0), (6, 2.5), (1, 0.75)])
def test_every_script_of_narrow_words_is_accounted_for(tail: int, scale: float) -> None:
    law = RoundedLomax(Fraction(tail))
    found = enumerate_law(
        lambda entropy: int(law.draw(entropy, Fraction(scale), 1)[0]), word_bits=4, longest=4
    )
    assert found.undecided < 0.02
    for value in range(-12, 13):
        true = Fraction(pmf(value, tail, scale))
        slack = Fraction(1, 10**12)
        assert found.allows(value, true - slack, true + slack)
    off = Fraction(pmf(0, tail, scale * 1.05))
    assert not found.allows(0, off, off)


def test_the_draw_is_the_inverse_of_the_law() -> None:
    words = [2**40, 2**61, 2**62, 2**63 - 1]
    drawn = RoundedLomax(Fraction(5)).draw(ScriptedEntropy(words), Fraction(1000), 4)
    wanted = [round(1000 * ((2**63 / word) ** 0.2 - 1)) for word in words]
    assert drawn.tolist() == wanted


def test_a_word_at_a_boundary_asks_for_more_bits() -> None:
    # V**-1 - 1 = 1/2 at V = 2/3, between two words whose size is 1 and 0
    law, place = RoundedLomax(Fraction(1)), 2**64 // 3
    entropy = ScriptedEntropy([place, 0])
    assert law.draw(entropy, Fraction(1), 1).tolist() == [1]
    assert entropy.used == 2
    assert law.draw(ScriptedEntropy([place, 2**64 - 1]), Fraction(1), 1).tolist() == [0]


def test_zeros_have_no_size_until_a_bit_is_set() -> None:
    entropy = ScriptedEntropy([2**63, 0, 2**63, 0])
    size = -int(RoundedLomax(Fraction(10)).draw(entropy, Fraction(1), 1)[0])
    assert size == round(2 ** (128 / 10) - 1)


def test_a_large_scale_goes_beyond_64_bits() -> None:
    drawn = RoundedLomax(Fraction(2)).draw(SystemEntropy(b"test"), Fraction(2**80), 5)
    assert drawn.dtype == object
    assert integer_array([3]).dtype == np.int64


def test_the_factor_is_rounded_up_and_by_less_than_a_billionth() -> None:
    exact = max(1 / (exp(1 / 7) - 1), exp(-1 / 6) / (exp((5 / 6) / 7) - 1))
    found = float(lomax_factor(Fraction(1), Fraction(1, 6)))
    assert exact - 1e-13 <= found <= exact + 1e-9


def test_a_tail_of_zero_is_refused() -> None:
    with pytest.raises(InvalidValue, match="above 0, but 0 was given"):
        RoundedLomax(Fraction(0))
