from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.replay import RecordingGateway
from tacit.core.event import Nothing
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.lab.selection import ConstantMechanism
from tacit.testing.entropy import ScriptedEntropy

ANY = Sensitivity.of(10**9, Norm.LINF, Rule("anything"))


@pytest.mark.parametrize("secret", [0, 41])
def test_the_same_is_released_whatever_the_secret_which_stays_shut(secret: int) -> None:
    gateway = RecordingGateway(ScriptedEntropy([]))
    released = ConstantMechanism((4, 2)).release(Secret(np.array([secret])), ANY, gateway)
    assert released.tolist() == [4, 2]
    assert gateway.calls == []


def test_nothing_is_lost_and_nothing_errs() -> None:
    assert ConstantMechanism((4, 2)).event(ANY) == Nothing()
    assert ConstantMechanism((4, 2)).error(Fraction("0.99")) == 0
    with pytest.raises(InvalidValue):
        ConstantMechanism((4, 2)).error(Fraction(1))
