"""The ball mechanism: its event, its release and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.core.event import BallNoiseV2, Numerics
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.vector_noise import GREATEST_CONFIDENCE, Ball
from tacit.noise.vector import RoundedBall
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy
from tacit.testing.mechanism_contract import l1, l2

GATEWAY = LiveGateway(SystemEntropy(b"unit"))


def test_small_scales_and_confidences_have_errors_too() -> None:
    assert Ball(Fraction(1, 100), 3).error(Fraction("0.99")) == 0
    assert Ball(Fraction(5), 3).error(Fraction(0)) == 0
    # of one coordinate alone, exp(-(t + 1/2) / 10) <= 1e-12 from t = 275.8
    assert Ball(Fraction(10), 1).error(GREATEST_CONFIDENCE) == 276
    assert Ball(Fraction(1), 10**6).error(Fraction("0.95")) == pytest.approx(1960, abs=2)


def test_a_release_is_the_secret_with_one_draw_of_noise() -> None:
    words = [2**61 + 2**57 * place for place in range(9)]
    noise = RoundedBall(Fraction(900), 3).draw(ScriptedEntropy(words), 1)[0]
    released = Ball(Fraction(900), 3).release(
        Secret(np.array([40, 2, -7])), l2(1), LiveGateway(ScriptedEntropy(words))
    )
    assert released.tolist() == (np.array([40, 2, -7]) + noise).tolist()


def test_the_event_is_idealised_and_keeps_the_square() -> None:
    root = Sensitivity(Fraction(2), Norm.L2, Rule("one person moves two groups by 1"))
    event = Ball(Fraction(9), 3).event(root)
    assert event == BallNoiseV2(Fraction(2), Fraction(9), 3)
    assert event.numerics is Numerics.IDEALISED


def test_another_norm_length_or_confidence_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Ball(Fraction(9), 2).event(l1(1))
    with pytest.raises(InvalidValue, match="L2 is needed"):
        Ball(Fraction(9), 2).release(Secret(np.array([1, 2])), l1(1), GATEWAY)
    with pytest.raises(
        InvalidValue, match="This noise needs a vector of 2 integers, but a batch of shape"
    ):
        Ball(Fraction(9), 2).release(Secret(np.array([1])), l2(1), GATEWAY)
    for wrong in (Fraction(1), Fraction(-1, 9), Fraction(2)):
        with pytest.raises(
            InvalidValue,
            match=r"A confidence must be in \[0, 1 - 1e-12\] for L2 noise \(Ball\), but",
        ):
            Ball(Fraction(9), 2).error(wrong)
