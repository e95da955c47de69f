from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from tacit.accounting.curves import lomax_factor
from tacit.core.event import Numerics
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.mechanism import Mechanism
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.smooth_noise import AddLomax, Lomax, SmoothLaplace, Student
from tacit.testing.entropy import ScriptedEntropy
from tacit.testing.mechanism_contract import l1, linf

LOMAX = Lomax(Fraction(1), Fraction(1, 10))
STUDENT = Student(3, Fraction(1, 10), Fraction(1, 2))
LAPLACE = SmoothLaplace(Fraction(2), Fraction(1, 30))
SMOOTH: list[Mechanism] = [LOMAX, STUDENT, LAPLACE]


def errors(mechanism: Mechanism, smooth_sensitivity: int, count: int) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"test"))
    secret = Secret(np.array([7, smooth_sensitivity]))
    released = [mechanism.release(secret, linf(10**6), gateway) for _ in range(count)]
    return np.abs(np.concatenate(released) - 7) / smooth_sensitivity


@pytest.mark.parametrize("mechanism", SMOOTH)
def test_the_error_in_smooth_sensitivities_is_what_is_measured(mechanism: Mechanism) -> None:
    found = errors(mechanism, 1000, 4000)
    for confidence in ("0.5", "0.9"):
        wanted = float(Fraction(confidence))
        covered = float((found <= float(mechanism.error(Fraction(confidence)))).mean())
        assert abs(covered - wanted) < 5 * sqrt(wanted * (1 - wanted) / 4000)
        less = float((found <= 0.8 * float(mechanism.error(Fraction(confidence)))).mean())
        assert less < wanted - 2 * sqrt(wanted * (1 - wanted) / 4000)


@pytest.mark.parametrize("mechanism", SMOOTH)
def test_a_sensitivity_of_nothing_is_one_step(mechanism: Mechanism) -> None:
    assert len(set(errors(mechanism, 1, 50).tolist())) > 2
    gateway = LiveGateway(SystemEntropy(b"test"))
    zero = Secret(np.array([7, 0]))
    released = [int(mechanism.release(zero, linf(1), gateway)[0]) for _ in range(50)]
    assert len(set(released)) > 2


@pytest.mark.parametrize("mechanism", SMOOTH)
def test_only_a_worst_case_in_linf_and_a_confidence_below_1_are_taken(
    mechanism: Mechanism,
) -> None:
    with pytest.raises(InvalidValue, match="LINF is needed"):
        mechanism.event(l1(1))
    with pytest.raises(InvalidValue, match="confidence"):
        mechanism.error(Fraction(1))
    assert mechanism.error(Fraction(0)) == 0
    assert mechanism.event(linf(1)) == mechanism.event(linf(10**6))


def test_only_lomax_is_exact() -> None:
    laws = [mechanism.event(linf(1)).numerics for mechanism in SMOOTH]
    assert laws == [Numerics.EXACT, Numerics.IDEALISED, Numerics.IDEALISED]


def test_the_scale_follows_the_smooth_sensitivity() -> None:
    draw = AddLomax(lomax_factor(Fraction(1), Fraction(1, 10)), Fraction(10))
    median = draw(np.array([0, 1000]), ScriptedEntropy([2**62]))
    assert abs(int(median[0]) - 10_613.4 * (2**0.1 - 1) * 1000 / 1000) < 2
    negative = draw(np.array([5, 1000]), ScriptedEntropy([2**63 + 2**62]))
    assert int(negative[0]) - 5 == -int(median[0])


def test_values_beyond_64_bits_stay_whole() -> None:
    far = 2**70
    for mechanism in SMOOTH:
        gateway = LiveGateway(SystemEntropy(b"test"))
        secret = Secret(np.array([far, 1], dtype=object))
        noisy = int(mechanism.release(secret, linf(far), gateway)[0])
        assert abs(noisy - far) < 10**6


@pytest.mark.parametrize(("epsilon", "smoothing"), [("0", "1"), ("1", "1"), ("1", "0")])
def test_a_smoothing_that_is_not_below_epsilon_is_refused(epsilon: str, smoothing: str) -> None:
    with pytest.raises(InvalidValue):
        Lomax(Fraction(epsilon), Fraction(smoothing))


def test_lomax_has_the_least_noise_of_the_pure_ones() -> None:
    # the same epsilon of 1 at the same smoothing of 1/10
    rate = (1 - Fraction(3, 10)) * Fraction(2 * sqrt(3) / 4)
    student = Student(3, Fraction(1, 10), rate)
    assert LOMAX.error(Fraction("0.95")) < student.error(Fraction("0.95"))
    assert log(float(student.error(Fraction("0.95")))) < log(10)
