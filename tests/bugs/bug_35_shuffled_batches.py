"""TD-10, 35: batches are shuffled, and priced as if drawn by Poisson sampling."""

from collections.abc import Callable, Iterator

import numpy as np

from tacit.lab.dp_sgd import SampledDescent
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

PLACE = "tacit.lab.dp_sgd:SampledDescent.samples"
CAUGHT_BY = (
    "tests/claims/test_sampled_descent.py::"
    "test_t63_a_sample_holds_each_unit_by_a_coin_of_its_own"
)
SHOWN = "bar T63 chi-square of samples' sizes"

Samples = Callable[[SampledDescent, int, Entropy], Iterator[Integers]]


def bug(_: Samples) -> Samples:
    def samples(self: SampledDescent, units: int, entropy: Entropy) -> Iterator[Integers]:
        turn = np.argsort(entropy.words(units))
        size = int(units * self.probability)
        for step in range(self.steps):
            yield np.take(turn, range(step * size, (step + 1) * size), mode="wrap")

    return samples
