from fractions import Fraction

import numpy as np
import pytest

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.inversion import Categorical, Inversion
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy, ScriptEnded

ONE = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
COIN = AddNoise(Inversion(Categorical((1, 1))))
HEADS, TAILS = 2**64 - 1, 0


def test_a_gateway_releases_what_the_draw_makes_of_the_secret() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS, TAILS, TAILS, HEADS]))
    secret = Secret(np.array([40, 2]))
    assert gateway.release(secret, ONE, COIN).tolist() == [41, 2]
    assert gateway.release(secret, ONE, COIN).tolist() == [40, 3]


def test_a_gateway_never_uses_a_word_twice() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS]))
    gateway.release(Secret(np.array([40])), ONE, COIN)
    with pytest.raises(ScriptEnded):
        gateway.release(Secret(np.array([40])), ONE, COIN)


def test_a_live_release_is_fresh_each_time() -> None:
    gateway = LiveGateway(SystemEntropy(b"the hash of a charge"))
    wide = AddNoise(DiscreteLaplace(Fraction(2**50)))
    released = [gateway.release(Secret(np.array([40, 2])), ONE, wide) for _ in range(2)]
    assert released[0].shape == (2,)
    assert released[0].tolist() != released[1].tolist()


def test_a_gateway_holds_nothing_but_its_entropy() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS]))
    gateway.release(Secret(np.array([40])), ONE, COIN)
    assert gateway.__slots__ == ("_entropy", "_mark")  # a mark says that a draw begins
    with pytest.raises(AttributeError):
        gateway.last = 40
