"""Ball noise on integers: any word, and settings that are refused."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidValue
from tacit.noise.vector import RoundedBall
from tacit.testing.entropy import ScriptedEntropy


@pytest.mark.parametrize("word", [0, 2**64 - 1, 2**63, 2**62])
def test_no_word_gives_anything_but_integers(word: int) -> None:
    noise = RoundedBall(Fraction(3), 2).draw(ScriptedEntropy([word] * 6), 1)
    assert noise.dtype == np.int64
    assert np.linalg.norm(noise) <= 37 * 3 * 2 + 1


def test_wrong_or_too_fine_settings_are_refused() -> None:
    for scale, dimensions in ((0, 2), (-1, 2), (1, 0)):
        with pytest.raises(InvalidValue, match="a scale above 0 and at least 1 dimension"):
            RoundedBall(Fraction(scale), dimensions)
    with pytest.raises(InvalidValue, match="use a coarser grid"):
        RoundedBall(Fraction(2**48), 2)
