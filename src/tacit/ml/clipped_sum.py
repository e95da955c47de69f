"""The sum over units of real vectors, each clipped to a norm, with exact integer noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isqrt, sqrt
from typing import Any, Self

import numpy as np

from tacit.choose import choose_noise
from tacit.core import Bounds, Event, Loss, Measure, Neighbours, Norm, Rule, Secret, Sensitivity
from tacit.engines import UnitRows
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Gateway, Gaussian, inside
from tacit.ml.finite_algebra import Floats, finite, float_of, floats_of, root_of
from tacit.noise import Integers
from tacit.plan import Axis, KeptTally, NotSo, RowsOf, Steps, StepsAreNull, Training

STEPS = 2**20
"""Of an integer grid up to the norm that vectors are clipped to."""

MOST_DIMENSIONS = 2**22
"""Numbers of at most `STEPS`, whose squares fit 62 bits together."""


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """What vectors of rows add up to, where each *unit's* own sum is clipped to norm ``clip``.

    Guarantee: a clipped vector becomes integers whose norm, computed in integers, is at most
    `reach`, whatever floats it is made of; see `clipped_steps`. So one unit moves the sum by
    `reach`, in the arithmetic that is really used, and by twice as much where it is replaced.

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
        if not 0 < self.clip < inf or self.loss.measure is not Measure.ZCDP:
            raise InvalidValue(
                "Clipped sums need a finite norm above 0 and a loss in rho, for their noise; "
                f"{self.clip} and {self.loss} were given."
            )
        if self.dimensions > MOST_DIMENSIONS:
            raise InvalidValue(
                f"Clipped sums have at most {MOST_DIMENSIONS} numbers, whose squares fit 64 "
                f"bits together, and {self.dimensions} were asked for; take fewer features."
            )

    @property
    def reach(self) -> int:
        """The most steps that a unit's vector is long."""
        return reach_of(self.dimensions)

    @property
    def deviation(self) -> float:
        """Of the noise of each entry of the sum, in the vectors' own units."""
        return float(finite(root_of(self._mechanism().variance) * self.clip / STEPS))

    def event(self) -> Event:
        """Gaussian noise."""
        return self._mechanism().event(self._moved())

    def release(
        self,
        rows: Secret[UnitRows],
        vectors: Callable[[Integers], Floats],
        gateway: Gateway,
    ) -> Floats:
        """The noisy sum of what ``vectors`` makes of rows, whose first column is the unit."""
        steps = inside(rows, lambda table: self.total(table, vectors))
        noisy = self._mechanism().release(steps, self._moved(), gateway)
        return finite(floats_of(noisy) * (self.clip / STEPS))

    def total(self, rows: UnitRows, vectors: Callable[[Integers], Floats]) -> Integers:
        """The exact sum in steps, block by block: units are whole in each."""
        found = np.zeros(self.dimensions, dtype=np.int64)
        with np.errstate(all="ignore"):  # what is no number counts as nothing
            for block in rows.blocks(self.dimensions):
                found += self._steps(block[:, 0], vectors(block))
        return found

    def _steps(self, units: Integers, vectors: Floats) -> Integers:
        """The sum of some units in steps; rows of a unit stand together."""
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

    Squares leave the floats where numbers do not: that of 1e-170 is 0, and that of 1e170 is
    infinite. A norm made of them would be 0 for a vector that is far too long, which would then
    not be clipped at all. So a vector is multiplied by the power of two that brings its
    greatest entry between 1/2 and 1; this changes no digit of any entry, and the clip is
    multiplied by it too. What is no vector, by an entry that is infinite or no number, counts
    as nothing.

    Guarantee: for every input, no row of integers is longer than `reach_of` its dimensions, and
    each is a function of its own vector. Numbers are clamped before they become integers, their
    squares cannot wrap in 64 bits, and a row that is too long all the same is cut, in integers.
    """
    whole = np.ascontiguousarray(vectors, dtype=np.float64)
    sound = np.asarray(np.isfinite(whole).all(axis=1))
    whole = np.where(sound[:, None], whole, 0.0)
    greatest = np.abs(whole).max(axis=1, initial=0.0)
    exponents = np.frexp(greatest)[1]
    with np.errstate(all="ignore"):  # beside the greatest entry, others may become 0
        near_one = np.ldexp(whole, -exponents[:, None])
        norms = np.sqrt((near_one**2).sum(axis=1))
        longest = np.maximum(norms, np.ldexp(np.float64(clip), -exponents))
    # a vector that is not 0 has an entry of 1/2 or more: no quotient is above 2 * STEPS
    factors = STEPS / np.maximum(longest, 0.5)
    steps = np.clip(np.rint(near_one * factors[:, None]), -STEPS, STEPS).astype(np.int64)
    return _cut(steps)


def _cut(steps: Integers) -> Integers:
    """Rows of integers of at most `STEPS` each, cut where they are longer than their reach.

    Rounding brings none about, and nothing rests on that.
    """
    squares = (steps**2).sum(axis=1)  # at most 2**40 for each of at most 2**22 entries
    beyond = np.flatnonzero(squares > reach_of(steps.shape[1]) ** 2)
    for place in beyond.tolist():
        length = isqrt(int(squares[place])) + 1
        signs = np.sign(steps[place])
        steps[place] = signs * (abs(steps[place]) * STEPS // length)
    return steps


# ------------------------------------------------------------------ scaled rows
# Rows of a training as real numbers of one size: public centres and scales, no data.


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """The features of a row as (x - centre) / scale, after a constant, and its target.

    Centre and scale are public: the middle of the bounds and half their range, or scales that
    are known to be nearer to how far values deviate. Where the ``constant`` is 0 there is none,
    and the centre is 0.
    """

    axes: tuple[Axis, ...]
    scales: tuple[float, ...]
    target: Steps
    target_reach: int
    """How far the target's steps are from 0 at most."""
    constant: float = 1.0
    """What every row has before its features; 0 where a line goes through 0."""

    @classmethod
    def of(
        cls,
        training: Training,
        bounds: Sequence[Bounds],
        scales: Any,
        target: tuple[Steps, int],
        *,
        constant: float = 1.0,
    ) -> Self:
        """For each feature its bounds; one scale for all, one for each, or half the range."""
        known = [float_of(each.width / 2) for each in bounds]
        if scales is not None:
            known = np.broadcast_to(np.asarray(scales, dtype=np.float64), len(known)).tolist()
        if not all(scale > 0 for scale in known):
            raise InvalidValue(f"Scales are above 0, and {scales!r} were given.")
        around = None if constant else Fraction(0)  # a line through 0 has its origin there
        axes = tuple(
            Axis.of(*each, around) for each in zip(training.features, bounds, strict=True)
        )
        return cls(axes, tuple(known), *target, constant)

    def step(self, training: Training) -> RowsOf:
        """All rows without a NULL."""
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((self.target, self.target_reach))
        tallies = [KeptTally(steps, -reach, reach) for steps, reach in columns]
        there = [NotSo(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))

    @property
    def dimensions(self) -> int:
        """Of a row, with its constant."""
        return self._first + len(self.axes)

    @property
    def _first(self) -> int:
        """The place of the first feature."""
        return int(self.constant > 0)

    def features(self, rows: Integers) -> Floats:
        """The scaled features, a row each."""
        units = [float_of(axis.unit) for axis in self.axes]
        found = np.full((len(rows), self.dimensions), self.constant)
        found[:, self._first :] = rows[:, 1:-1] * (np.array(units) / self.scales)
        return found

    def back(self) -> Floats:
        """The matrix that makes intercept and coefficients of weights of scaled features."""
        found = np.zeros((1 + len(self.axes), self.dimensions))
        found[0, 0] = self.constant
        for place, (axis, scale) in enumerate(zip(self.axes, self.scales, strict=True)):
            found[1 + place, self._first + place] = 1 / scale
            found[0, self._first + place] -= float_of(axis.centre) / scale
        return finite(found)


def line_at(features: Floats, weights: Floats) -> Floats:
    """Each row's products with each row of ``weights``, by that row's numbers alone.

    A matrix product of BLAS rounds a row by where it stands among others: a unit that comes
    could then change the last bit of everybody's gradient, and round it to another integer.

    Example:
        >>> line_at(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.5, 0.5]])).tolist()
        [[11.0, 1.5]]
    """
    found = np.zeros((len(features), len(weights)))
    for column, slopes in zip(features.T, weights.T, strict=True):
        found += column[:, None] * slopes
    return found
