"""TD-10, 1: noise of a float generator, rounded, instead of the exact integer law."""

from collections.abc import Callable

import numpy as np

from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy

PLACE = "tacit.noise.laplace:DiscreteLaplace.draw"
CAUGHT_BY = "tests/contracts/test_mechanisms.py::test_the_law_is_accepted[laplace]"
SHOWN = "> 1e-06"

Draw = Callable[[DiscreteLaplace, Entropy, int], Integers]


def bug(_: Draw) -> Draw:
    def draw(self: DiscreteLaplace, entropy: Entropy, count: int) -> Integers:
        seed = int(entropy.words(1)[0])
        noise = np.random.default_rng(seed).laplace(scale=float(self.scale), size=count)
        return np.round(noise).astype(np.int64)

    return draw
