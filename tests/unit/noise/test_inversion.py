from fractions import Fraction

import pytest

from tacit.noise.inversion import Categorical, Decay, Inversion, thresholds
from tacit.testing.entropy import ScriptedEntropy, ScriptEnded

LAW = Decay(Fraction(3))


def test_a_word_beside_a_threshold_decides_at_once() -> None:
    third = thresholds(LAW, 64)[2]
    script = ScriptedEntropy([third - 1, third + 1])
    assert Inversion(LAW).draw(script, 2).tolist() == [2, 3]
    assert script.used == 2


def test_a_word_on_a_threshold_is_decided_by_the_next() -> None:
    third, finer = thresholds(LAW, 64)[2], thresholds(LAW, 128)[2]
    assert finer >> 64 == third
    below, above = finer - 1 & 2**64 - 1, finer + 1 & 2**64 - 1
    assert Inversion(LAW).draw(ScriptedEntropy([third, below]), 1).tolist() == [2]
    assert Inversion(LAW).draw(ScriptedEntropy([third, above]), 1).tolist() == [3]


def test_two_words_on_a_threshold_are_decided_by_a_third() -> None:
    second = thresholds(LAW, 128)[2] & 2**64 - 1
    script = [thresholds(LAW, 64)[2], second]
    with pytest.raises(ScriptEnded):
        Inversion(LAW).draw(ScriptedEntropy(script), 1)
    third = thresholds(LAW, 192)[2] & 2**64 - 1
    assert Inversion(LAW).draw(ScriptedEntropy([*script, third + 1]), 1).tolist() == [3]


def test_the_last_word_reaches_beyond_the_table() -> None:
    end = len(thresholds(LAW, 64))
    drawn = Inversion(LAW).draw(ScriptedEntropy([2**64 - 1, 2**64 // 2, 5]), 1)
    assert end < int(drawn[0]) <= len(thresholds(LAW, 128))


def test_all_zeros_can_come_before_the_first_outcome() -> None:
    rare = Categorical((1, 2**100 - 1))
    assert thresholds(rare, 64) == (0,)
    assert Inversion(rare).draw(ScriptedEntropy([0, 0]), 1).tolist() == [0]
    assert Inversion(rare).draw(ScriptedEntropy([0, 2**63]), 1).tolist() == [1]
