"""Exact answers, for whoever owns the data: what a release without privacy would say."""

import numpy as np
from numpy.typing import NDArray

from tacit.core import Group, Secret
from tacit.core.unseal import unseal
from tacit.engines import SecretTable, public_groups
from tacit.noise import Integers
from tacit.plan import BoundedPlan

Cell = tuple[int, Group, int]
"""Which tally, which group, and which of the group's integers."""


def exactly(plan: BoundedPlan, table: SecretTable) -> dict[Cell, int]:
    """All integers that an engine found, without noise.

    An owner attacks their own table with this, and what comes of it is not for anybody else.
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


def repeated(secret: Secret[Integers], times: int) -> Secret[Integers]:
    """The same integers so many times over, still in a box: for as many answers at once."""
    return Secret(np.tile(unseal(secret), times))


def moved(first: dict[Cell, int], second: dict[Cell, int]) -> bool:
    """Whether two exact answers differ; a group that is not there counts 0.

    Example:
        >>> moved({(0, ("north",), 0): 3}, {(0, ("north",), 0): 2})
        True
    """
    return any(first.get(cell, 0) != second.get(cell, 0) for cell in {*first, *second})


def as_array(seen: dict[Cell, int], cells: list[Cell]) -> NDArray[np.float64]:
    """The integers at ``cells``, in their order."""
    return np.array([seen.get(cell, 0) for cell in cells], dtype=np.float64)
