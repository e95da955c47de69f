"""The attack that failures allow: a search for what one person earns, by failures alone.

Each question is about one person, and about them only if they earn so much. Where it fails
because their row is reached, a failure is an answer, exact and nearly free.
"""

import random
from collections.abc import Callable, Sequence

MOST_PAY = 131_071
"""Where the search begins: 17 questions find any pay up to here."""


def read_exactly(
    fails: Callable[[str], bool], pay: Sequence[int], people: int, targets: int
) -> tuple[int, int]:
    """How many of the ``targets`` have their pay found exactly, and how many questions failed.

    ``fails`` asks with a condition, and says whether that failed.
    """
    exact = failures = 0
    for target in random.Random(3).sample(range(people), targets):  # noqa: S311 - no noise
        low, high = 0, MOST_PAY
        while low < high:
            middle = (low + high + 1) // 2
            failed = fails(f"person = {target} AND pay >= {middle}")
            low, high = (middle, high) if failed else (low, middle - 1)
            failures += failed
        exact += low == pay[target]
    return exact, failures
