"""The draws of the sparse vector technique have their law."""

from fractions import Fraction

import numpy as np
from threshold_law import draw_of, law

from tacit.mechanisms.sparse_vector import SparseVector
from tacit.numeric.entropy import SystemEntropy


def test_the_draws_have_the_law() -> None:
    draw = draw_of(SparseVector(Fraction(2), Fraction(4), passes=2, monotone=False))
    answers = (0, 1, -1)
    entropy = SystemEntropy(b"test")
    drawn = [tuple(draw(np.array(answers), entropy).tolist()) for _ in range(4000)]
    wanted = law(answers, 0.5, 1.0, passes=2)
    for release, mass in wanted.items():
        found = drawn.count(release) / len(drawn)
        assert abs(found - mass) <= 5 * (mass * (1 - mass) / len(drawn)) ** 0.5
    assert wanted[1, 1, 1] == 0
    assert wanted[1, 0, 1] > 0
