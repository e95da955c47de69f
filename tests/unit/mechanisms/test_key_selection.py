from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from key_laws import DELTA, LAWS, Keys, counted_once, keys, noise

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.threshold_keys import KeepAbove, LaplaceKeys
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy, SystemEntropy


@dataclass(frozen=True)
class Fixed:
    noise: int

    def draw(self, entropy: Entropy, count: int) -> np.ndarray:
        del entropy
        return np.full(count, self.noise)


def draw_of(mechanism: Keys) -> KeepAbove:
    gateway = RecordingGateway(SystemEntropy(b"test"))
    mechanism.release(Secret(np.array([1])), counted_once(1), gateway)
    draw = gateway.calls[0].draw
    assert isinstance(draw, KeepAbove)
    return draw


@pytest.mark.parametrize("law", ["truncated", "laplace", "gaussian"])
def test_a_count_that_equals_the_threshold_is_released_and_one_below_is_not(law: str) -> None:
    draw = draw_of(keys(law, 1))
    at = replace(draw, sampler=Fixed(draw.threshold - 5))
    released = at(np.array([4, 5, 6]), SystemEntropy(b"test"))
    assert released.tolist() == [0, draw.threshold, draw.threshold + 1]


@pytest.mark.parametrize("epsilon", [1, 0.5, 0.1])
def test_a_real_threshold_cut_to_an_integer_shows_too_many(epsilon: float) -> None:
    delta, ratio = 1e-6, exp(-epsilon)
    cut = int(1 - log(2 * delta) / epsilon)
    sound = LaplaceKeys(Fraction(str(epsilon)), Fraction(1, 10**6), max_keys=1).threshold
    assert ratio ** (sound - 1) / (1 + ratio) <= delta < ratio ** (sound - 2) / (1 + ratio)
    assert ratio ** (cut - 1) / (1 + ratio) > delta


@pytest.mark.parametrize("law", LAWS)
def test_a_key_without_units_is_never_released(law: str) -> None:
    none = np.zeros(10**5, dtype=np.int64)
    gateway = LiveGateway(SystemEntropy(b"test"))
    mechanism = keys(law, 1, delta=Fraction(9, 10))
    assert not mechanism.release(Secret(none), counted_once(1), gateway).any()
    assert mechanism.release(Secret(none + 1), counted_once(1), gateway).any()


def test_noise_alone_would_have_released_one() -> None:
    none = np.zeros(10**5, dtype=np.int64)
    noisy = AddNoise(DiscreteLaplace(Fraction(1)))(none, SystemEntropy(b"test"))
    assert (noisy >= LaplaceKeys(Fraction(1), DELTA, 1).threshold).any()


@pytest.mark.parametrize("law", LAWS)
def test_a_unit_with_more_keys_than_declared_is_caught_by_replay(law: str) -> None:
    mechanism = keys(law, 2)
    gateway = RecordingGateway(SystemEntropy(b"test"))
    mechanism.release(Secret(np.array([9, 1, 1, 4])), counted_once(2), gateway)
    honest, twice, thrice = [8, 0, 1, 4], [7, 1, 1, 4], [8, 0, 0, 4]
    replay = ReplayingGateway(gateway.calls)
    mechanism.release(Secret(np.array(honest)), counted_once(2), replay)
    for lie in (twice, thrice):
        replay = ReplayingGateway(gateway.calls)
        with pytest.raises(BrokenPromise):
            mechanism.release(Secret(np.array(lie)), counted_once(2), replay)


@pytest.mark.parametrize("law", LAWS)
def test_a_sensitivity_of_too_many_keys_or_in_another_norm_is_refused(law: str) -> None:
    mechanism = keys(law, 2)
    mechanism.event(counted_once(2))
    with pytest.raises(InvalidValue):
        mechanism.event(counted_once(3))
    with pytest.raises(InvalidValue):
        mechanism.event(Sensitivity.of(1, Norm.L1, Rule("a test")))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1)])
def test_a_delta_that_is_no_probability_is_refused(law: str, delta: Fraction) -> None:
    with pytest.raises(InvalidValue):
        keys(law, 1, delta)


@pytest.mark.parametrize("law", LAWS)
def test_no_keys_at_all_are_refused(law: str) -> None:
    with pytest.raises(InvalidValue):
        replace(keys(law, 1), max_keys=0)


@pytest.mark.parametrize("law", ["truncated", "laplace", "gaussian"])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction("0.9"), Fraction("0.99")])
def test_the_error_holds_for_the_worst_count_and_one_less_does_not(
    law: str, confidence: Fraction
) -> None:
    mechanism = keys(law, 1)
    mass, threshold = noise(law, 1), draw_of(mechanism).threshold

    def within(error: int, units: int) -> float:
        released = {y: units + y if units + y >= threshold else 0 for y in mass}
        return sum(mass[y] for y in mass if abs(released[y] - units) <= error)

    error = int(mechanism.error(confidence))
    assert all(within(error, units) >= confidence for units in range(1, 100))
    assert min(within(error - 1, units) for units in range(1, 100)) < confidence
