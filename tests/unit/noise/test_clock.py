from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.gaussian import (
    HIGH_BITS,
    TICK_BITS,
    _read_on,
    _ticks,
    accepted_candidates,
    outlives,
)
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy

ENTROPY = SystemEntropy(b"unit")
variances = st.builds(
    lambda bits, rest, part: Fraction(4**bits * (1024 + rest)) + part,
    st.integers(1, 47),
    st.integers(0, 3 * 1024 - 1),
    st.fractions(0, 1),
)


@given(variances, st.data())
def test_estimated_ticks_hold_the_exact_moment(variance: Fraction, data: st.DataObject) -> None:
    low_bits = (int(variance) // 1024).bit_length() + 1 >> 1
    low = data.draw(st.integers(0, 2**low_bits - 1))
    other = 2 ** (low_bits + 1) * data.draw(st.integers(0, 2**HIGH_BITS - 1)) + low
    least, most = _ticks(np.array([low]), np.array([other]), variance, low_bits)
    moment = low * other / (2 * variance) * 2**TICK_BITS
    assert int(least[0]) <= moment <= int(most[0])
    assert (
        int(most[0]) - int(least[0]) <= 2**14  # of 2**40: few clocks are read on
    )  # of 2**40: one clock in a hundred million is read on
    wide_least, wide_most = _ticks(
        np.array([low], dtype=object), np.array([other], dtype=object), variance, low_bits
    )
    assert wide_least[0] <= moment < wide_most[0]


@pytest.mark.parametrize(("shift", "alive"), [(Fraction(-1, 2), True), (Fraction(3, 2), False)])
def test_a_reading_beyond_the_moment_decides(shift: Fraction, alive: bool) -> None:  # noqa: FBT001
    assert _read_on(ScriptedEntropy([]), 1000, (1000 + shift) / 2**TICK_BITS) is alive


@pytest.mark.parametrize(("word", "alive"), [(0, False), (2**64 - 1, True)])
def test_a_reading_within_the_tick_reads_on(word: int, alive: bool) -> None:  # noqa: FBT001
    moment = Fraction(2 * 1000 + 1, 2 ** (TICK_BITS + 1))
    script = ScriptedEntropy([word, 1, 1])
    assert _read_on(script, 1000, moment) is alive
    assert script.used > 0


def test_clocks_that_cannot_be_told_at_first_are_read_on() -> None:
    count = 20_000
    least = np.zeros(count, dtype=np.int64)
    most = np.full(count, 2**60)
    alive = outlives(ENTROPY, least, most, lambda _: Fraction(1))
    # exp(-1) within five standard errors, and not exp(-1.1)
    assert abs(alive.mean() - 0.36788) < 5 * (0.2325 / count) ** 0.5
    assert abs(alive.mean() - 0.33287) > 5 * (0.2325 / count) ** 0.5


def test_a_rare_high_part_goes_to_python_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.noise.gaussian.HIGH_BITS", 1)
    drawn = accepted_candidates(ENTROPY, Fraction(10**6), low_bits=5, candidates=1000)
    assert drawn.dtype == object
    assert 850 < sum(int(y) ** 2 for y in drawn) ** 0.5 / len(drawn) ** 0.5 < 1150
