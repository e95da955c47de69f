"""What is shown at a step: that step alone, the last few together, or all so far."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.noise import Integers


@dataclass(frozen=True, slots=True)
class Window:
    """The last ``steps`` steps together; None is all of them from the first on.

    Example:
        >>> print(Window(1), Window(4), Window(None), sep=", ")
        each step by itself, the last 4 steps together, all steps so far
    """

    steps: int | None = 1

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise InvalidValue(f"A window has 1 step or more, and {self.steps} were given.")

    def __str__(self) -> str:
        match self.steps:
            case None:
                return "all steps so far"
            case 1:
                return "each step by itself"
        return f"the last {self.steps} steps together"


EACH, ALL = Window(1), Window(None)


# ------------------------------------------------------------------ factor
# How the noise of one step depends on that of the steps before.
#
# A stream of integers x is released as x + v, where v is noise with a memory. Behind it
# stands a matrix C: what is released is computed from C x + z alone, where z is fresh,
# independent noise on integers. The noise that is remembered cancels in sums of steps, so
# that sums err by far less than independent noise would make them.

Numbers = NDArray[np.float64]

Memory = tuple[Integers, ...]
"""What a factor must know of the noise so far; secret for ever."""


class Factor(Protocol):
    """One way to give noise a memory, over a horizon of so many steps.

    Guarantee: the releases of all steps are a function of integers that one unit moves by at
    most `moved`, each with fresh noise of its own. Noise is told in parts of 2**-bits.
    """

    def __hash__(self) -> int: ...

    @property
    def horizon(self) -> int:
        """The number of steps."""
        ...

    @property
    def bits(self) -> int:
        """Noise is a whole number of parts of 2**-bits."""
        ...

    @property
    def grows(self) -> bool:
        """Whether all noise so far is remembered; the memory of others has one size."""
        ...

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """How far a unit moves what is noised, if it moves ``steps`` steps by ``step`` each."""
        ...

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise of the step ``number``, from 0 on, and what is remembered after it.

        An empty memory is that before the first step; a growing one gains the noise itself.
        """
        ...

    def spread(self, window: Window) -> Numbers:
        """For each step, the deviation of what is shown, where a fresh draw has one of 1."""
        ...


# ------------------------------------------------------------------ response
# How fresh noise shows in what is shown: the same at every step, as long as it is there.


def spread(response: Numbers, window: Window) -> Numbers:
    """The deviation of what is shown at each step.

    ``response`` says how far a fresh draw moves the noise of its own step and of those after.

    Example:
        >>> spread(np.array([1.0, 0.0, 0.0, 0.0]), Window(None)).round(2).tolist()
        [1.0, 1.41, 1.73, 2.0]
    """
    summed = np.cumsum(response)
    if window.steps is not None:
        summed[window.steps :] -= np.cumsum(response)[: -window.steps]
    deviations: Numbers = np.sqrt(np.cumsum(summed**2))
    return deviations


# ------------------------------------------------------------------ tree
# Noise on the nodes of a tree over the steps: for budgets in pure epsilon.

Node = tuple[int, int]
"""A level, and the last step that the node counts, from 1 on."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Sums over the nodes of a tree, each with noise once; totals are sums of nodes.

    Step t, from 1 on, completes one node that totals are made of: that of the b**i last steps,
    where b**i divides t, b is the branching, and no greater power does. The total at t has as
    many nodes of b**i steps as its digit in base b says.

    Guarantee: see `tacit.stream.factor.Factor`; a step is in one node of each level.
    Reference: Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011.

    Example:
        >>> Tree(horizon=52).levels, Tree(horizon=52, branching=8).levels
        (6, 2)
    """

    horizon: int
    branching: int = 2

    def __post_init__(self) -> None:
        if self.branching < 2:  # noqa: PLR2004 - of one branch there is no end
            raise InvalidValue(f"A tree has 2 branches or more, not {self.branching}.")

    @property
    def bits(self) -> int:
        """Noise is whole."""
        return 0

    @property
    def grows(self) -> bool:
        """The memory is one sum a level."""
        return False

    @property
    def levels(self) -> int:
        """The nodes that one step is in, at most."""
        levels, width = 0, 1
        while width <= self.horizon:
            levels, width = levels + 1, width * self.branching
        return levels

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """A node of each level moves, for each step."""
        rule = Rule(
            "each step is in one node of each level",
            (f"levels={self.levels}", f"steps={steps}"),
            (step.proof,),
        )
        square = step.in_norm(Norm.L1).square * (self.levels * steps) ** 2
        return Sensitivity(square, Norm.L1, rule)

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise that the total gains at the step ``number``, and that of each level."""
        nothing = np.zeros_like(fresh)
        levels = list(memory or (nothing,) * self.levels)
        done = _completed(number + 1, self.branching)
        gone = sum(levels[:done], nothing)
        levels[: done + 1] = [*(nothing,) * done, levels[done] + fresh]
        return fresh - gone, tuple(levels)

    def spread(self, window: Window) -> Numbers:
        """By the number of nodes in what is shown; those in both of its ends cancel."""
        steps = self.horizon if window.steps is None else window.steps
        return np.sqrt(np.array(_counted(self, steps), dtype=np.float64))


def _completed(time: int, branching: int) -> int:
    """The level of the node that ends at ``time``."""
    level = 0
    while time % branching == 0:
        level, time = level + 1, time // branching
    return level


def nodes_of(time: int, branching: int = 2) -> set[Node]:
    """The nodes that the total after ``time`` steps is made of.

    Example:
        >>> sorted(nodes_of(6)), sorted(nodes_of(6, branching=4))
        ([(1, 6), (2, 4)], [(0, 5), (0, 6), (1, 4)])
    """
    found = set()
    while time:
        level = _completed(time, branching)
        found.add((level, time))
        time -= branching**level
    return found


@lru_cache(maxsize=64)
def _counted(tree: Tree, steps: int) -> tuple[int, ...]:
    wide, times = tree.branching, range(1, tree.horizon + 1)
    return tuple(
        len(nodes_of(time, wide) ^ nodes_of(max(0, time - steps), wide)) for time in times
    )
