"""TD-10, 18: one draw is broadcast, so that 595 groups get the same noise (OpenDP 2344)."""

from collections.abc import Callable

from tacit.mechanisms.additive_noise import AddNoise
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

PLACE = "tacit.mechanisms.additive_noise:AddNoise._noisy"
CAUGHT_BY = "tests/unit/mechanisms/test_add_noise.py::test_equal_values_have_their_own_noise"
SHOWN = "assert [6, 6, 6] == [6, 5, 6]"

Noisy = Callable[[AddNoise, Integers, Entropy], Integers]


def bug(_: Noisy) -> Noisy:
    def noisy(self: AddNoise, values: Integers, entropy: Entropy) -> Integers:
        (noise,) = self.sampler.draw(entropy, 1).tolist()
        return values.astype(object) + noise

    return noisy
