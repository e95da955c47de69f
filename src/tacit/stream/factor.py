"""Windows of a stream, the interface of noise factors, and the binary tree factor.

A `Window` says which steps are summed in the number that is shown. A `Factor` says how the
noise of one step depends on the noise of the steps before it (the matrix mechanism for
continual release). `Tree` is the factor for budgets in pure epsilon; the factors for Gaussian
noise are in `tacit.stream.toeplitz`.
"""

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
    """The last ``steps`` steps, which are summed; None means all steps since the first.

    Example:
        >>> print(Window(1), Window(4), Window(None), sep=", ")
        each step by itself, the last 4 steps together, all steps so far
    """

    steps: int | None = 1

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise InvalidValue(
                f"A window must have 1 step or more, but {self.steps} were given."
            )

    def __str__(self) -> str:
        match self.steps:
            case None:
                return "all steps so far"
            case 1:
                return "each step by itself"
        return f"the last {self.steps} steps together"


EACH, ALL = Window(1), Window(None)


# ------------------------------------------------------------------ correlated noise
# A stream of integers x is released as x + v, where the noise v of a step depends on the
# noise of earlier steps. The dependence is given by a matrix C: all releases can be computed
# from C x + z alone, where z is fresh and independent integer noise. The privacy loss is
# therefore the loss of adding z to C x. In a sum of steps, most of the noise of earlier steps
# cancels, so that sums have a far smaller error than with independent noise.

Numbers = NDArray[np.float64]

Memory = tuple[Integers, ...]
"""The past noise that a factor needs for the next step. It must stay secret forever."""


class Factor(Protocol):
    """A way to correlate the noise of the steps of a stream, over a fixed horizon.

    Guarantee: the releases of all steps are a function of integers to each of which fresh,
    independent noise is added. `sensitivity` bounds the change of these integers by one unit.
    Noise values are integers in units of 2**-bits.
    """

    def __hash__(self) -> int: ...

    @property
    def horizon(self) -> int:
        """The number of steps."""
        ...

    @property
    def bits(self) -> int:
        """Number of fraction bits: noise values are integers in units of 2**-bits."""
        ...

    @property
    def grows(self) -> bool:
        """Whether the memory grows by one noise vector a step; otherwise its size is fixed."""
        ...

    def sensitivity(self, step: Sensitivity, steps: int) -> Sensitivity:
        """Return the sensitivity of C x to a unit that changes at most ``steps`` steps.

        ``step`` is the sensitivity of one step.
        """
        ...

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """Return the noise of step ``number``, counted from 0, and the memory after it.

        The memory is empty before the first step. A memory that grows gains the noise itself.
        """
        ...

    def spread(self, window: Window) -> Numbers:
        """Return, for each step, the standard deviation of the number that is shown.

        The unit is the standard deviation of one fresh draw.
        """
        ...


# ------------------------------------------------------------------ impulse response
# The matrices of `tacit.stream.toeplitz` are constant along diagonals, so that each fresh draw
# affects the following steps in the same way. One vector, the impulse response, is enough to
# compute the standard deviation at every step.


def spread(response: Numbers, window: Window) -> Numbers:
    """Return the standard deviation of the number that is shown at each step.

    ``response`` is the impulse response: the change of the noise of the same step, and of each
    step after it, per unit of a fresh draw.

    Example:
        >>> spread(np.array([1.0, 0.0, 0.0, 0.0]), Window(None)).round(2).tolist()
        [1.0, 1.41, 1.73, 2.0]
    """
    summed = np.cumsum(response)
    if window.steps is not None:
        summed[window.steps :] -= np.cumsum(response)[: -window.steps]
    deviations: Numbers = np.sqrt(np.cumsum(summed**2))
    return deviations


# ------------------------------------------------------------------ tree mechanism
# For budgets in pure epsilon (Laplace noise). Noise is added to the sums over the nodes of a
# tree whose leaves are the steps. A running total is the sum of few nodes, and one step is in
# one node of each level, so that both the error and the sensitivity grow with the logarithm of
# the horizon.

Node = tuple[int, int]
"""A node of the tree: its level, and the last step that it contains, counted from 1."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree mechanism: each node gets noise once, and running totals are sums of nodes.

    Let b be the branching. Step t, counted from 1, completes one node that running totals use:
    the node of the last b**i steps, where b**i is the largest power of b that divides t. The
    total at t is the sum of d(i) nodes of b**i steps for each i, where d(i) is digit i of t in
    base b.

    Guarantee: see `tacit.stream.factor.Factor`; a step is in one node of each level.
    Reference: Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011.

    Example:
        >>> Tree(horizon=52).levels, Tree(horizon=52, branching=8).levels
        (6, 2)
    """

    horizon: int
    branching: int = 2

    def __post_init__(self) -> None:
        if self.branching < 2:  # noqa: PLR2004 - with one branch, `levels` would not end
            raise InvalidValue(
                f"A tree must have 2 branches or more, but {self.branching} were given."
            )

    @property
    def bits(self) -> int:
        """Number of fraction bits: 0, because the noise is a whole number."""
        return 0

    @property
    def grows(self) -> bool:
        """False: the memory is one sum for each level."""
        return False

    @property
    def levels(self) -> int:
        """The largest number of nodes that contain one step."""
        levels, width = 0, 1
        while width <= self.horizon:
            levels, width = levels + 1, width * self.branching
        return levels

    def sensitivity(self, step: Sensitivity, steps: int) -> Sensitivity:
        """Return the sensitivity: each step changes one node of each level."""
        rule = Rule(
            "each step is in one node of each level",
            (f"levels={self.levels}", f"steps={steps}"),
            (step.proof,),
        )
        square = step.in_norm(Norm.L1).square * (self.levels * steps) ** 2
        return Sensitivity(square, Norm.L1, rule)

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """Return the noise that the total gains at step ``number``, and the noise by level."""
        nothing = np.zeros_like(fresh)
        levels = list(memory or (nothing,) * self.levels)
        done = _level_ending_at(number + 1, self.branching)
        gone = sum(levels[:done], nothing)
        levels[: done + 1] = [*(nothing,) * done, levels[done] + fresh]
        return fresh - gone, tuple(levels)

    def spread(self, window: Window) -> Numbers:
        """Return the standard deviations, from the number of nodes in each shown number.

        A windowed sum is the difference of two totals, and nodes that are in both cancel.
        """
        steps = self.horizon if window.steps is None else window.steps
        return np.sqrt(np.array(_node_counts(self, steps), dtype=np.float64))


def _level_ending_at(time: int, branching: int) -> int:
    """Return the level of the node that ends at ``time``."""
    level = 0
    while time % branching == 0:
        level, time = level + 1, time // branching
    return level


def nodes_of(time: int, branching: int = 2) -> set[Node]:
    """Return the nodes whose sum is the total after ``time`` steps.

    Example:
        >>> sorted(nodes_of(6)), sorted(nodes_of(6, branching=4))
        ([(1, 6), (2, 4)], [(0, 5), (0, 6), (1, 4)])
    """
    found = set()
    while time:
        level = _level_ending_at(time, branching)
        found.add((level, time))
        time -= branching**level
    return found


@lru_cache(maxsize=64)
def _node_counts(tree: Tree, steps: int) -> tuple[int, ...]:
    wide, times = tree.branching, range(1, tree.horizon + 1)
    return tuple(
        len(nodes_of(time, wide) ^ nodes_of(max(0, time - steps), wide)) for time in times
    )
