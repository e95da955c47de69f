"""F-P20: a decision that lost a race draws its noise anew, which is a choice among draws."""

from collections.abc import Callable

import numpy as np

from tacit.stream.sealed_noise import ReplayableEntropy

PLACE = "tacit.stream.sealed_noise:ReplayableEntropy.rewind"
CAUGHT_BY = (
    "tests/edges/test_parallel_holdout.py::"
    "test_a_decision_that_is_made_again_has_the_noise_that_it_had"
)
SHOWN = "assert len(bodies) == 1"

Rewind = Callable[[ReplayableEntropy], None]


def bug(original: Rewind) -> Rewind:
    def rewind(self: ReplayableEntropy) -> None:
        self._drawn = np.empty(0, dtype=np.uint64)
        original(self)

    return rewind
