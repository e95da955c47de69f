"""Exact answers for the owner of the data, to compare with private answers."""

import numpy as np
from numpy.typing import NDArray

from tacit.core import Group, Secret
from tacit.core.unseal import unseal
from tacit.engines import SecretTable, public_groups
from tacit.noise import Integers
from tacit.plan import BoundedPlan

Cell = tuple[int, Group, int]
"""Index of one integer of an answer: the tally, the group, and the index within the group."""


def exactly(plan: BoundedPlan, table: SecretTable) -> dict[Cell, int]:
    """Return all integers that an engine computed, without noise.

    An owner uses this to attack their own table. The result is not private and must stay with
    the owner.
    """
    groups = public_groups(plan)
    if groups is None:
        groups = unseal(table.groups) if table.groups is not None else ()
    found: dict[Cell, int] = {}
    for place, secret in enumerate(table.tallies):
        values = unseal(secret)
        width = values.size // len(groups) if groups else 0
        for number, value in enumerate(values.tolist()):
            found[place, groups[number // width], number % width] = int(value)
    return found


def repeat_secret(secret: Secret[Integers], times: int) -> Secret[Integers]:
    """Return the integers repeated ``times`` times, as a secret, for many answers at once."""
    return Secret(np.tile(unseal(secret), times))


def answers_differ(first: dict[Cell, int], second: dict[Cell, int]) -> bool:
    """Return whether two exact answers differ; a missing group counts as 0.

    Example:
        >>> answers_differ({(0, ("north",), 0): 3}, {(0, ("north",), 0): 2})
        True
    """
    return any(first.get(cell, 0) != second.get(cell, 0) for cell in {*first, *second})


def as_array(seen: dict[Cell, int], cells: list[Cell]) -> NDArray[np.float64]:
    """Return the integers of ``cells``, in their order."""
    return np.array([seen.get(cell, 0) for cell in cells], dtype=np.float64)
