"""TD-10, 12; OpenDP 2937: a sum believed to be wide has 32 bits, and wraps."""

from collections.abc import Callable

import numpy as np

from tacit.noise.integers import Integers

PLACE = "tacit.engines.engine:integer_array"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a sum beyond 31 bits-duckdb]"
)
SHOWN = f"BrokenPromise: Batch 0 changes by the square root of {(2**32 - 1200000120) ** 2}"

Packed = Callable[[list[int]], Integers]


def bug(original: Packed) -> Packed:
    def integer_array(numbers: list[int]) -> Integers:
        return original(numbers).astype(np.int32).astype(np.int64)

    return integer_array
