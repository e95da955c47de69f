"""Noisy sums of real vectors: each privacy unit's vector is clipped to a norm.

Models that are trained on rows (gradient descent, Newton's method, the sandwich estimator)
compute one real vector for each row. `ClippedSum` adds the vectors of each unit, clips the
unit's sum to a norm, rounds it to an integer grid, and adds discrete Gaussian noise to the sum
over all units. Clipping and rounding look at one unit at a time and end in integers, so the
sensitivity holds in the arithmetic that is really executed, and not only for real numbers.

`ScaledRows` reads the rows of a training as real features with public centres and scales.
"""

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
from tacit.plan import Axis, Negation, RowsOf, RowSumTally, Steps, StepsAreNull, Training

STEPS = 2**20
"""Number of grid steps from 0 to the norm to which vectors are clipped."""

MOST_DIMENSIONS = 2**22
"""The largest number of entries, for which the squared norm in grid steps fits into 62 bits."""


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """A noisy sum of the vectors of rows, where the sum of each *unit* is clipped to ``clip``.

    Guarantee: a clipped vector becomes integers whose norm, computed in integers, is at most
    `reach`, whatever floats the vector holds; see `clipped_steps`. So adding or removing one
    unit changes the integer sum by at most `reach`, and replacing one by at most twice that.

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
                "A clipped sum needs a finite clipping norm above 0 and a loss in rho (zCDP), "
                f"but {self.clip} and {self.loss} were given."
            )
        if self.dimensions > MOST_DIMENSIONS:
            raise InvalidValue(
                f"A clipped sum can have at most {MOST_DIMENSIONS} entries, so that its "
                f"squares fit into 64 bits, but {self.dimensions} are needed; use fewer "
                "features."
            )

    @property
    def reach(self) -> int:
        """The largest norm of a unit's clipped vector, in grid steps."""
        return reach_of(self.dimensions)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each entry, in the units of the vectors."""
        return float(finite(root_of(self._mechanism().variance) * self.clip / STEPS))

    def event(self) -> Event:
        """Describe the release for the accountant: Gaussian noise on the sum."""
        return self._mechanism().event(self._sensitivity())

    def release(
        self,
        rows: Secret[UnitRows],
        vectors: Callable[[Integers], Floats],
        gateway: Gateway,
    ) -> Floats:
        """Return the noisy sum of the vectors that ``vectors`` computes from blocks of rows.

        The first column of a block is the privacy unit.
        """
        steps = inside(rows, lambda table: self.total(table, vectors))
        noisy = self._mechanism().release(steps, self._sensitivity(), gateway)
        return finite(floats_of(noisy) * (self.clip / STEPS))

    def total(self, rows: UnitRows, vectors: Callable[[Integers], Floats]) -> Integers:
        """Return the exact sum in grid steps; no unit is split between two blocks."""
        found = np.zeros(self.dimensions, dtype=np.int64)
        with np.errstate(all="ignore"):  # `clipped_steps` replaces NaN and infinity by 0
            for block in rows.blocks(self.dimensions):
                found += self._steps(block[:, 0], vectors(block))
        return found

    def _steps(self, units: Integers, vectors: Floats) -> Integers:
        """Return the sum of one block in grid steps; the rows of a unit are adjacent."""
        starts = np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1]]))
        sums = vectors if starts.size == units.size else np.add.reduceat(vectors, starts)
        return np.asarray(clipped_steps(sums, self.clip).sum(axis=0))

    def _sensitivity(self) -> Sensitivity:
        most = Fraction(self.neighbours.additions * self.reach)
        return Sensitivity(most**2, Norm.L2, Rule("a unit's vector is clipped to reach"))

    def _mechanism(self) -> Gaussian:
        found = choose_noise([self._sensitivity()], self.dimensions, self.loss).mechanism
        if not isinstance(found, Gaussian):
            raise InternalError("Under zCDP, an L2 sensitivity must get Gaussian noise.")
        return found


def reach_of(dimensions: int) -> int:
    """Return the largest norm of a clipped vector in grid steps, with its rounding.

    Rounding changes an entry by at most half a step, and so the norm by sqrt(dimensions) / 2.
    """
    return STEPS + ceil(sqrt(dimensions) / 2) + 1


def clipped_steps(vectors: Floats, clip: float) -> Integers:
    """Clip each vector to norm ``clip`` and round it to a grid with `STEPS` steps up to it.

    Squares underflow and overflow long before the numbers do: the square of 1e-170 is 0, and
    the square of 1e170 is infinite. A norm that is computed from such squares can be 0 for a
    vector that is far too long, and the vector would then not be clipped at all. So a vector is
    first multiplied by the power of two that brings its largest entry between 1/2 and 1, and
    the clip is multiplied by the same power. This is exact, except that entries which are very
    small compared with the largest one can become 0. A vector with an entry that is infinite
    or NaN counts as the zero vector.

    Guarantee: for every input, no row of integers is longer than `reach_of` its dimensions, and
    each row is a function of its own vector. Numbers are clamped before they become integers,
    their squares cannot wrap in 64 bits, and a row that is still too long is shortened in
    integer arithmetic.
    """
    whole = np.ascontiguousarray(vectors, dtype=np.float64)
    sound = np.asarray(np.isfinite(whole).all(axis=1))
    whole = np.where(sound[:, None], whole, 0.0)
    greatest = np.abs(whole).max(axis=1, initial=0.0)
    exponents = np.frexp(greatest)[1]
    with np.errstate(all="ignore"):  # entries far below the largest one may underflow to 0
        near_one = np.ldexp(whole, -exponents[:, None])
        norms = np.sqrt((near_one**2).sum(axis=1))
        longest = np.maximum(norms, np.ldexp(np.float64(clip), -exponents))
    # a vector that is not 0 has an entry of 1/2 or more, so no quotient exceeds 2 * STEPS
    factors = STEPS / np.maximum(longest, 0.5)
    steps = np.clip(np.rint(near_one * factors[:, None]), -STEPS, STEPS).astype(np.int64)
    return _cut(steps)


def _cut(steps: Integers) -> Integers:
    """Scale down the rows of integers whose norm exceeds `reach_of` their dimensions.

    Each integer is at most `STEPS`. Correct rounding never produces a row that is too long; the
    guarantee does not rely on that, because this function checks it in exact arithmetic.
    """
    squares = (steps**2).sum(axis=1)  # at most 2**40 for each of at most 2**22 entries
    beyond = np.flatnonzero(squares > reach_of(steps.shape[1]) ** 2)
    for place in beyond.tolist():
        length = isqrt(int(squares[place])) + 1
        signs = np.sign(steps[place])
        steps[place] = signs * (abs(steps[place]) * STEPS // length)
    return steps


# ------------------------------------------------------------------ scaled rows
# Features that are centred and scaled by public numbers only, never by numbers from the data.


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """A reader of rows: a constant, the features as (x - centre) / scale, and the target.

    Centre and scale are public: the middle of the bounds and half their range, or given scales
    that are known to be closer to the standard deviation of the values. A ``constant`` of 0
    means that rows have no constant, and then the centre is 0.
    """

    axes: tuple[Axis, ...]
    scales: tuple[float, ...]
    target: Steps
    target_reach: int
    """The largest absolute value of the target, in grid steps."""
    constant: float = 1.0
    """The entry of every row before its features; 0 for a line through the origin."""

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
        """Build the reader from the bounds of each feature.

        ``scales`` is one number for all features, one number for each, or None for half the
        range of the bounds.
        """
        known = [float_of(each.width / 2) for each in bounds]
        if scales is not None:
            known = np.broadcast_to(np.asarray(scales, dtype=np.float64), len(known)).tolist()
        if not all(scale > 0 for scale in known):
            raise InvalidValue(f"All scales must be above 0, but {scales!r} were given.")
        around = None if constant else Fraction(0)  # a line through the origin is not centred
        axes = tuple(
            Axis.of(*each, around) for each in zip(training.features, bounds, strict=True)
        )
        return cls(axes, tuple(known), *target, constant)

    def step(self, training: Training) -> RowsOf:
        """Return the step of a fit that reads all rows without a NULL."""
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((self.target, self.target_reach))
        tallies = [RowSumTally(steps, -reach, reach) for steps, reach in columns]
        there = [Negation(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))

    @property
    def dimensions(self) -> int:
        """The number of entries of a row, with its constant."""
        return self._first + len(self.axes)

    @property
    def _first(self) -> int:
        """The index of the first feature in a row."""
        return int(self.constant > 0)

    def features(self, rows: Integers) -> Floats:
        """Return the matrix of scaled features, one row for each row of data."""
        units = [float_of(axis.unit) for axis in self.axes]
        found = np.full((len(rows), self.dimensions), self.constant)
        found[:, self._first :] = rows[:, 1:-1] * (np.array(units) / self.scales)
        return found

    def back(self) -> Floats:
        """Return the matrix that turns weights of scaled features into those of the columns."""
        found = np.zeros((1 + len(self.axes), self.dimensions))
        found[0, 0] = self.constant
        for place, (axis, scale) in enumerate(zip(self.axes, self.scales, strict=True)):
            found[1 + place, self._first + place] = 1 / scale
            found[0, self._first + place] -= float_of(axis.centre) / scale
        return finite(found)


def line_at(features: Floats, weights: Floats) -> Floats:
    """Return the product of each row with each row of ``weights``, independent of other rows.

    The rounding of a matrix product in BLAS depends on the position of a row in the matrix. One
    more unit could then change the last bit of everybody's gradient, and round it to another
    integer, which would break the sensitivity.

    Example:
        >>> line_at(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.5, 0.5]])).tolist()
        [[11.0, 1.5]]
    """
    found = np.zeros((len(features), len(weights)))
    for column, slopes in zip(features.T, weights.T, strict=True):
        found += column[:, None] * slopes
    return found
