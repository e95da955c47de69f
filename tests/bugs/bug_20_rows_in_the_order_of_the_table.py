"""TD-10, 20: the rows of an answer come in the order in which the table holds them."""

from collections.abc import Callable
from itertools import compress

import numpy as np

from tacit.core.domain import Group
from tacit.core.secret import Secret
from tacit.engines import engine
from tacit.mechanisms.gateway import SelectedGroups
from tacit.noise.integers import Integers

PLACE = "tacit.mechanisms.gateway:select_groups"
CAUGHT_BY = "tests/engines/test_keys.py::test_released_groups_come_in_the_order_of_their_keys"
SHOWN = "== (-3, 9, 40)"

Keep = Callable[[tuple[Group, ...], Integers], SelectedGroups]


def bug(_: Keep) -> Keep:
    engine.sorted = list  # both places that sort, since either is enough

    def select_groups(groups: tuple[Group, ...], released: Integers) -> SelectedGroups:
        places = np.flatnonzero(released > 0)
        found = tuple(compress(groups, (released > 0).tolist()))
        return SelectedGroups(found, released[places], Secret(places))

    return select_groups
