"""Which memory to give the noise of a stream: that with the least error at its worst step."""

from collections.abc import Iterator

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.stream.buffered import Buffered
from tacit.stream.factor import Factor
from tacit.stream.toeplitz import Toeplitz
from tacit.stream.tree import Tree
from tacit.stream.window import Window

BRANCHINGS = range(2, 9)
"""Branches of a tree: with more, totals have more nodes, and steps are in fewer."""

LONGEST_MEMORY = 4096
"""Steps up to which all noise is remembered; beyond, buffers are nearly as good, and small."""


def norm_for(loss: Loss) -> Norm:
    """The norm of the noise for a budget: Gaussian noise, or Laplace without a delta."""
    if loss.measure is Measure.ZCDP or loss.delta:
        return Norm.L2
    return Norm.L1


def choose_factor(window: Window, horizon: int, steps: int, norm: Norm) -> Factor:
    """The memory for what is shown, where one unit moves at most ``steps`` steps.

    For a step by itself that is none. For totals it is the square root of sums, or buffers for
    long streams, or a tree where noise is Laplace; but where a unit may be in all steps, fresh
    noise at each is better again.

    Example:
        >>> choose_factor(Window(None), 1000, 1, Norm.L1)
        Tree(horizon=1000, branching=6)
    """
    found = _candidates(window, horizon, norm)
    return min(found, key=lambda factor: worst(factor, window, steps, norm))


def worst(factor: Factor, window: Window, steps: int, norm: Norm) -> float:
    """The deviation at the worst step, where the loss allows a fresh draw one of 1."""
    one = Sensitivity.of(1, norm, Rule("a unit moves a step by 1"))
    return float(factor.moved(one, steps).amount) * float(factor.spread(window).max())


def _candidates(window: Window, horizon: int, norm: Norm) -> Iterator[Factor]:
    yield Toeplitz.independent(horizon)
    if norm is Norm.L1:
        yield from (Tree(horizon, branching) for branching in BRANCHINGS)
    elif horizon <= LONGEST_MEMORY or (window.steps or horizon) <= LONGEST_MEMORY:
        yield Toeplitz.square_root(horizon, window.steps)
    else:
        yield Buffered.square_root(horizon)
