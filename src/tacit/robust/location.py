"""Robust location estimates: M-estimators by inverse sensitivity and by gradient descent.

`Huber` and `Tukey` are the score functions of M-estimators. `RobustLocation` selects a location
with the inverse sensitivity mechanism: the score of a point is the number of values that would
have to be replaced to make the point the location. `DescentLocation` finds Huber's location by
noisy gradient descent. `SubsampleAggregate` applies an arbitrary estimator to disjoint blocks
of rows and releases the robust location of the results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import nan
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tacit.core import Bounds, Event, Loss, Norm, Repeated, Rule, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, Mechanism
from tacit.noise import Integers
from tacit.robust.estimate import Floats, NoisySum, RobustEstimate, exact_sum, steps_from
from tacit.robust.selection import choose_selector


class Psi(Protocol):
    """A score function: a bounded, odd function of a residual, and its derivative."""

    @property
    def turn(self) -> float:
        """The residual beyond which the score is constant (Huber) or 0 (Tukey)."""
        ...

    @property
    def bound(self) -> float:
        """The largest score."""
        ...

    def __call__(self, residuals: Floats) -> Floats:
        """Return the score of each residual."""
        ...

    def slope(self, residuals: Floats) -> Floats:
        """Return the derivative at each residual."""
        ...


@dataclass(frozen=True, slots=True)
class Huber:
    """Huber's score function: residuals clamped to ``turn``.

    Example:
        >>> Huber(1.345)(np.array([0.5, 100.0])).tolist()
        [0.5, 1.345]
    """

    turn: float = 1.345

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """The largest score, which is the turn."""
        return self.turn

    def __call__(self, residuals: Floats) -> Floats:
        """Clamp the residuals."""
        return np.clip(residuals, -self.turn, self.turn)

    def slope(self, residuals: Floats) -> Floats:
        """Return 1 for residuals between the turns, and 0 otherwise."""
        return np.asarray(abs(residuals) < self.turn, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tukey:
    """Tukey's biweight: the score decreases for larger residuals, and is 0 beyond ``turn``.

    Example:
        >>> Tukey(4.685)(np.array([0.0, 4.685, 100.0])).tolist()
        [0.0, 0.0, 0.0]
    """

    turn: float = 4.685

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """The largest score, which is at turn / sqrt(5)."""
        return float(self(np.array([self.turn / 5**0.5]))[0])

    def __call__(self, residuals: Floats) -> Floats:
        """Return u * (1 - (u / turn)**2)**2 for each residual u between the turns."""
        inside = np.clip(residuals / self.turn, -1, 1)
        return np.asarray(self.turn * inside * (1 - inside**2) ** 2)

    def slope(self, residuals: Floats) -> Floats:
        """Return (1 - v**2) * (1 - 5 * v**2), where v = u / turn, between the turns."""
        square = np.clip(residuals / self.turn, -1, 1) ** 2
        return np.asarray((1 - square) * (1 - 5 * square))


def _above_zero(turn: float) -> None:
    if not turn > 0:
        raise InvalidValue(
            "The turn of a score function, the residual at which it bends, must be above 0, "
            f"but {turn} was given."
        )


# ------------------------------------------------------------------ inverse sensitivity
# The inverse sensitivity of a point is the number of values that must be replaced so that the
# point becomes the location. One unit changes this number by at most 1, both where units are
# replaced and where they are added or removed; ``docs/privacy/robust.md`` proves it. All sums
# are in integers, since a rounded sum could change the number by more than 1.

BLOCK = 2**21
"""Number of residuals that are computed together, which take some tens of megabytes."""


def huber_lengths(values: Integers, points: Integers, turn: int) -> Integers:
    """Return for each point how many values must be replaced to make Huber's scores sum to 0.

    A score is the residual in grid steps, clamped to ``turn``.

    Example:
        >>> huber_lengths(np.array([0, 1, 2, 90]), np.array([0, 1, 2, 90]), 3).tolist()
        [1, 1, 0, 2]
    """
    ordered = np.sort(values)
    above = _fewest_to_lower(ordered, points, turn)
    # a sum below 0 is the mirror image: change the sign of everything
    return np.maximum(above, _fewest_to_lower(-ordered[::-1], -points, turn))


def _fewest_to_lower(ordered: Integers, points: Integers, turn: int) -> Integers:
    """Return how many of the largest values must be lowered until the sum of scores is 0.

    Replacing a value by a very low one lowers its score s by s + turn, which is most for the
    largest values. The sum of the largest scores follows from cumulative sums, so the number of
    values is found by bisection.
    """
    sums = np.concatenate([[0], np.cumsum(ordered)])
    low = np.searchsorted(ordered, points - turn)
    high = np.searchsorted(ordered, points + turn)

    def scores_from(start: Integers) -> Integers:
        """Return, for each point, the sum of Huber scores of the values from ``start`` on."""
        first, last = np.maximum(low, start), np.maximum(high, start)
        inner = sums[last] - sums[first] - points * (last - first)
        return np.asarray(inner + turn * (ordered.size - last - first + start))

    least = np.zeros(points.size, dtype=np.int64)
    total, most = scores_from(least), np.full(points.size, ordered.size)
    for _ in range(ordered.size.bit_length()):
        middle = (least + most) // 2
        enough = scores_from(ordered.size - middle) + turn * middle >= total
        least = np.where(enough, least, np.minimum(middle + 1, most))
        most = np.where(enough, middle, most)
    return most


def tukey_lengths(values: Integers, points: Integers, table: Integers) -> Integers:
    """Return for each point how many values must be replaced to make Tukey's scores sum to 0.

    The score of a residual is ``table[abs(residual)]``, and 0 beyond the end of the table.
    Where no value is near a point, all scores are 0, and the sum is 0 without meaning. So a
    point counts as a location only if at least half of the values lie within the table.

    Example:
        >>> scores = np.array([0, 2, 3, 2, 0])
        >>> tukey_lengths(np.array([0, 1, 2, 90]), np.array([1, 50]), scores).tolist()
        [0, 2]
    """
    return np.concatenate(
        [_tukey(values, block, table) for block in _blocks(points, values.size)]
    )


def _tukey(values: Integers, points: Integers, table: Integers) -> Integers:
    residuals = values - points[:, None]
    near = abs(residuals) < table.size
    size = np.where(near, abs(residuals), 0)
    scores = np.sign(residuals) * np.where(near, table[size], 0)
    total, most = scores.sum(axis=1), int(table.max())
    missing = np.maximum(0, -(-values.size // 2) - near.sum(axis=1))
    side = np.where(total > 0, 1, -1)[:, None]
    to_reduce = np.sort(side * scores + most, axis=1)[:, ::-1]
    # ``missing`` far values must be moved near the point in any case; each of them has a score
    # of 0 now, so moving it can change the sum by ``most``
    left = np.maximum(0, abs(total) - missing * most)
    ahead = missing + _count_needed(_remove_entries(to_reduce, missing, most), left)
    return np.asarray(ahead)


def _remove_entries(to_reduce: Integers, missing: Integers, most: int) -> Integers:
    """Return rows in descending order, without ``missing`` of the entries equal to ``most``."""
    first = (to_reduce > most).sum(axis=1)[:, None]
    places = np.arange(to_reduce.shape[1])
    cut = (places >= first) & (places < first + missing[:, None])
    # removed entries become 0 at the end of a row, where they change nothing
    moved = np.where(cut, -1, to_reduce)
    return np.asarray(np.maximum(np.sort(moved, axis=1)[:, ::-1], 0))


def _count_needed(to_reduce: Integers, totals: Integers) -> Integers:
    """Return how many leading entries of each row are needed to reach its total."""
    summed = np.cumsum(to_reduce, axis=1)
    return np.asarray((summed < totals[:, None]).sum(axis=1) + (totals > 0))


def _blocks(points: Integers, size: int) -> list[Integers]:
    parts = -(-points.size * max(1, size) // BLOCK)
    return np.array_split(points, parts)


# ------------------------------------------------------------------ private location

FINER = 16
"""Number of grid steps between two points that can be released."""

FINE_SCORES = 2**16
"""The largest of Tukey's scores as an integer."""

ONE = Sensitivity.of(1, Norm.LINF, Rule("a unit changes by one how many must be replaced"))


@dataclass(frozen=True, slots=True)
class RobustLocation:
    """The robust location of one value per unit, by the inverse sensitivity mechanism.

    A point between the ``bounds`` is more likely, the fewer values must be replaced to make it
    the root of the scores ``psi`` of residuals over a public ``scale``. The values themselves
    need no bounds, because all values beyond the turn have the same score. The proof is in
    `docs/privacy/robust.md`, for both kinds of neighbours.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval.
    Reference: Asi, Duchi 2020 (inverse sensitivity).

    Example:
        >>> where = RobustLocation(Bounds.of(-50, 50), Huber(), scale=1.0, loss=Loss.pure(1))
        >>> where.event()
        PermuteAndFlipSelectionV2(epsilon=Fraction(1, 1))
    """

    bounds: Bounds
    psi: Huber | Tukey
    scale: float
    loss: Loss
    points: int = 4001

    def __post_init__(self) -> None:
        if not self.scale > 0 or self.bounds.width == 0 or self.points < 2:  # noqa: PLR2004
            raise InvalidValue(
                "A location needs two different bounds, a scale above 0 and at least 2 points, "
                f"but the scale {self.scale} and {self.points} points were given."
            )

    def event(self) -> Event:
        """Describe the release for the accountant: one selection."""
        return self._mechanism().event(ONE)

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the location of ``values``, which has one value per unit."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        scores = Secret(-self.lengths(values))
        place = int(self._mechanism().release(scores, ONE, gateway)[0])
        return RobustEstimate(lower + (upper - lower) * place / (self.points - 1))

    def lengths(self, values: ArrayLike) -> Integers:
        """Return for each point how many values must be replaced.

        These numbers are exact and must not be released without the mechanism.
        """
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        step = (upper - lower) / (self.points - 1) / FINER
        turn = max(1, round(self.psi.turn * self.scale / step))
        last = FINER * (self.points - 1)
        # values that are beyond the turn from every point all have the same scores: clamp them
        half = last // 2 + turn + 1
        middle = lower + step * (last // 2)
        steps = steps_from(values, middle, step * half, half) + last // 2
        points = FINER * np.arange(self.points)
        if isinstance(self.psi, Huber):
            return huber_lengths(steps, points, turn)
        return tukey_lengths(steps, points, _biweights(turn))

    def _mechanism(self) -> Mechanism:
        return choose_selector(ONE, self.points, self.loss).mechanism


@lru_cache(maxsize=16)
def _biweights(turn: int) -> Integers:
    """Return Tukey's scores of residuals from 0 to ``turn`` steps, as integers."""
    exact = [Fraction(u, turn) * (1 - Fraction(u, turn) ** 2) ** 2 for u in range(turn + 1)]
    most = max(exact)
    return np.array([round(FINE_SCORES * each / most) for each in exact])


# ------------------------------------------------------------------ noisy gradient descent

TURN = 2**40
"""The residual at which scores are clamped (Huber's turn), in grid steps."""


@dataclass(frozen=True, slots=True)
class DescentLocation:
    """Huber's location of one value per unit, by gradient descent with ``steps`` noisy steps.

    A step adds the mean of the residuals, clamped to ``turn``; this mean is the negative
    gradient. The sum of residuals changes by at most twice the turn where one value is
    replaced. The number of values is public, and the number of steps is fixed in advance.

    Guarantee: ``event()`` stays within ``loss``, whatever the values.
    Reference: Avella-Medina, Bradshaw, Loh 2023. ``docs/privacy/errata.md``, E04, corrects the
    lectures' version, which has the wrong sign and half of the noise that is needed.

    Example:
        >>> where = DescentLocation(Bounds.of(-50, 50), turn=1.345, loss=Loss.zcdp("0.1"))
        >>> where.event().times
        20
    """

    bounds: Bounds
    turn: float
    loss: Loss
    steps: int = 20

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.turn > 0:
            raise InvalidValue(
                "Gradient descent needs at least one step and a turn (the residual at which "
                f"scores are clamped) above 0, but steps={self.steps} and turn={self.turn} "
                "were given."
            )

    def event(self) -> Repeated:
        """Describe the releases for the accountant: one noisy sum per step."""
        return Repeated(self._sum().event(), self.steps)

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the location of ``values``; descent starts in the middle of the bounds."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        units, noisy = max(1, np.size(values)), self._sum()
        where = (lower + upper) / 2
        for _ in range(self.steps):
            total = exact_sum(steps_from(values, where, self.turn, TURN))
            mean = float(noisy.release([total], gateway)[0]) / TURN / units
            where = min(max(where + self.turn * mean, lower), upper)
        return RobustEstimate(where)

    def _sum(self) -> NoisySum:
        each = self.loss.part(Fraction(1, self.steps))
        why = "a residual becomes another, from one turn to the other"
        return NoisySum.within(each, Fraction(2 * TURN) ** 2, why)


# ------------------------------------------------------------------ subsample and aggregate

LEAST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class SubsampleAggregate:
    """Subsample and aggregate: the private ``location`` of an estimator's results on blocks.

    Row i belongs to block i modulo ``blocks``. Neighbours replace one row, and the number of
    rows is public, so that one row changes the estimate of one block. The estimator may be any
    function. If it raises an exception, its result counts as NaN, which is the lowest value.

    Guarantee: the guarantee of ``location``, whatever the estimator does, provided that it
    reads only its own block and keeps no state.
    Reference: Nissim, Raskhodnikova, Smith 2007, section 4.

    Example:
        >>> from tacit.core.domain import Bounds
        >>> from tacit.core.loss import Loss
        >>> from tacit.robust.location import Huber
        >>> where = RobustLocation(Bounds.of(0, 10), Huber(), scale=1.0, loss=Loss.pure(1))
        >>> SubsampleAggregate(np.median, 50, where).event() == where.event()
        True
    """

    estimator: Callable[[Floats], float]
    blocks: int
    location: RobustLocation

    def __post_init__(self) -> None:
        if self.blocks < LEAST_BLOCKS:
            raise InvalidValue(
                f"There must be at least {LEAST_BLOCKS} blocks, but {self.blocks} were given."
            )

    def event(self) -> Event:
        """Describe the release of the location; one row changes one block's estimate."""
        return self.location.event()

    def release(self, rows: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """Release the location of the blocks' estimates."""
        table = np.asarray(rows, dtype=np.float64)
        found = [self._estimate(table[place :: self.blocks]) for place in range(self.blocks)]
        return self.location.release(found, gateway)

    def _estimate(self, block: Floats) -> float:
        """Return the estimate of a block, or NaN if the estimator fails."""
        try:
            with np.errstate(all="ignore"):
                return float(self.estimator(block.copy()))
        except Exception:  # noqa: BLE001 - an error depends on the rows, and must not be seen
            return nan
