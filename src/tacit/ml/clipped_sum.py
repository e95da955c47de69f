"""The sum over units of real vectors, each clipped to a norm, with exact integer noise."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.choose.noise import choose_noise
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gateway import Gateway, inside
from tacit.mechanisms.gaussian import Gaussian
from tacit.noise.integers import Integers

Floats = NDArray[np.float64]

STEPS = 2**20
"""Of an integer grid up to the norm that vectors are clipped to."""


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """What vectors of rows add up to, where each *unit's* own sum is clipped to norm ``clip``.

    Guarantee: a clipped vector becomes integers whose norm, computed in integers, is at most
    `reach`; one that is beyond, which rounding cannot bring about, counts as nothing. So one
    unit moves the sum by `reach`, in the arithmetic that is really used, and by twice as much
    where it is replaced.

    Example:
        >>> one = ClippedSum(1.0, 3, Neighbours.ADD_REMOVE, Loss.zcdp("0.5"))
        >>> one.event().variance == one.reach**2
        True
    """

    clip: float
    dimensions: int
    neighbours: Neighbours
    loss: Loss

    def __post_init__(self) -> None:
        if not self.clip > 0 or self.loss.measure is not Measure.ZCDP:
            raise InvalidValue(
                "Clipped sums need a norm above 0 and a loss in rho, for Gaussian noise; "
                f"{self.clip} and {self.loss} were given."
            )

    @property
    def reach(self) -> int:
        """The most steps that a unit's vector is long."""
        return reach_of(self.dimensions)

    @property
    def deviation(self) -> float:
        """Of the noise of each entry of the sum, in the vectors' own units."""
        return sqrt(float(self._mechanism().variance)) * self.clip / STEPS

    def event(self) -> Event:
        """Gaussian noise."""
        return self._mechanism().event(self._moved())

    def release(
        self,
        rows: Secret[Integers],
        vectors: Callable[[Integers], Floats],
        gateway: Gateway,
    ) -> Floats:
        """The noisy sum of what ``vectors`` makes of rows, whose first column is the unit."""
        steps = inside(rows, lambda table: self._steps(table[:, 0], vectors(table)))
        noisy = self._mechanism().release(steps, self._moved(), gateway)
        return np.asarray(noisy, dtype=np.float64) * (self.clip / STEPS)

    def _steps(self, units: Integers, vectors: Floats) -> Integers:
        """The exact sum in steps; rows of a unit stand together."""
        if units.size == 0:
            return np.zeros(self.dimensions, dtype=np.int64)
        starts = np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1]]))
        sums = vectors if starts.size == units.size else np.add.reduceat(vectors, starts)
        return np.asarray(clipped_steps(sums, self.clip).sum(axis=0))

    def _moved(self) -> Sensitivity:
        most = Fraction(self.neighbours.additions * self.reach)
        return Sensitivity(most**2, Norm.L2, Rule("a unit's vector is clipped to reach"))

    def _mechanism(self) -> Gaussian:
        found = choose_noise([self._moved()], self.dimensions, self.loss).mechanism
        if not isinstance(found, Gaussian):
            raise InternalError("Under zCDP an L2 sensitivity gets Gaussian noise.")
        return found


def reach_of(dimensions: int) -> int:
    """The most steps that a clipped vector is long; an entry is rounded by half a step."""
    return STEPS + ceil(sqrt(dimensions) / 2) + 1


def clipped_steps(vectors: Floats, clip: float) -> Integers:
    """Each vector clipped to norm ``clip``, in steps of which there are `STEPS` up to it.

    Guarantee: no row of integers is longer than `reach_of` its dimensions; one that would be,
    which rounding cannot bring about, becomes nothing. Each is a function of its own vector.
    """
    with np.errstate(over="ignore"):  # what is too long for floats is shortened to nothing
        norms = np.sqrt((vectors**2).sum(axis=1))
    factors = STEPS / np.maximum(norms, clip)
    steps = np.rint(np.nan_to_num(vectors * factors[:, None])).astype(np.int64)
    sure = np.einsum("ij,ij->i", steps, steps) <= reach_of(vectors.shape[1]) ** 2
    return np.asarray(steps * sure[:, None])
