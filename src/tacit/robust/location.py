"""The score functions of M-estimators of location: how much a residual counts."""

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
    """A bounded, odd function of a residual, and its slope."""

    @property
    def turn(self) -> float:
        """Where it stops growing (Huber), or where it is 0 again (Tukey)."""
        ...

    @property
    def bound(self) -> float:
        """The most that it can be."""
        ...

    def __call__(self, residuals: Floats) -> Floats:
        """How much each residual counts."""
        ...

    def slope(self, residuals: Floats) -> Floats:
        """Its derivative."""
        ...


@dataclass(frozen=True, slots=True)
class Huber:
    """A residual counts as it is up to ``turn``, and no more beyond.

    Example:
        >>> Huber(1.345)(np.array([0.5, 100.0])).tolist()
        [0.5, 1.345]
    """

    turn: float = 1.345

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """The turn itself."""
        return self.turn

    def __call__(self, residuals: Floats) -> Floats:
        """Residuals, clamped."""
        return np.clip(residuals, -self.turn, self.turn)

    def slope(self, residuals: Floats) -> Floats:
        """1 between the turns, else 0."""
        return np.asarray(abs(residuals) < self.turn, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tukey:
    """The biweight: a residual counts less again when it grows, and nothing beyond ``turn``.

    Example:
        >>> Tukey(4.685)(np.array([0.0, 4.685, 100.0])).tolist()
        [0.0, 0.0, 0.0]
    """

    turn: float = 4.685

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """Its value at turn / sqrt(5)."""
        return float(self(np.array([self.turn / 5**0.5]))[0])

    def __call__(self, residuals: Floats) -> Floats:
        """Each residual u as u * (1 - (u / turn)**2)**2 inside the turns."""
        inside = np.clip(residuals / self.turn, -1, 1)
        return np.asarray(self.turn * inside * (1 - inside**2) ** 2)

    def slope(self, residuals: Floats) -> Floats:
        """(1 - v**2) * (1 - 5 * v**2) for v = u / turn inside the turns."""
        square = np.clip(residuals / self.turn, -1, 1) ** 2
        return np.asarray((1 - square) * (1 - 5 * square))


def _above_zero(turn: float) -> None:
    if not turn > 0:
        raise InvalidValue(f"The turn of a score function is above 0, and {turn} was given.")


# ------------------------------------------------------------------ inverse sensitivity
# How many units must change before a point is the location: the score of a private choice.
#
# Neighbours move each number here by 1 at most, whether one unit is replaced or comes and
# goes; ``docs/privacy/robust.md`` proves it. All of it is in integers: a rounded sum could
# move a number by one more.

BLOCK = 2**21
"""Residuals that are looked at together: some tens of megabytes."""


def huber_lengths(values: Integers, points: Integers, turn: int) -> Integers:
    """For each point the least number of values to replace so that residuals' scores sum to 0.

    A score is the residual in steps, clamped to ``turn``.

    Example:
        >>> huber_lengths(np.array([0, 1, 2, 90]), np.array([0, 1, 2, 90]), 3).tolist()
        [1, 1, 0, 2]
    """
    ordered = np.sort(values)
    above = _fewest(ordered, points, turn)
    # below the root the same holds for everything with its sign turned
    return np.maximum(above, _fewest(-ordered[::-1], -points, turn))


def _fewest(ordered: Integers, points: Integers, turn: int) -> Integers:
    """How many of the greatest values to lower so that a sum of scores above 0 becomes 0.

    Lowered to the least, a score falls by itself and the turn; the greatest values fall most.
    The sum of so many is a matter of cumulative sums, so the number is found by halving.
    """
    sums = np.concatenate([[0], np.cumsum(ordered)])
    low = np.searchsorted(ordered, points - turn)
    high = np.searchsorted(ordered, points + turn)

    def scores_from(start: Integers) -> Integers:
        """Of the values from place ``start`` on, for each point."""
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
    """The same for scores ``table[abs(residual)]`` that fall to 0 beyond the table's end.

    Where nothing is near, all scores are 0, and a sum of 0 says nothing. So a point is a
    location only where at least half of the values lie within the table.

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
    # so many of what is far must come near anyway; each has a score of 0, and gives ``most``
    left = np.maximum(0, abs(total) - missing * most)
    ahead = missing + _needed(_without(to_reduce, missing, most), left)
    return np.asarray(ahead)


def _without(to_reduce: Integers, missing: Integers, most: int) -> Integers:
    """Rows in falling order, without ``missing`` of their entries that are ``most``."""
    first = (to_reduce > most).sum(axis=1)[:, None]
    places = np.arange(to_reduce.shape[1])
    cut = (places >= first) & (places < first + missing[:, None])
    # at the end of a row an entry of 0 changes nothing
    moved = np.where(cut, -1, to_reduce)
    return np.asarray(np.maximum(np.sort(moved, axis=1)[:, ::-1], 0))


def _needed(to_reduce: Integers, totals: Integers) -> Integers:
    """How many of the first entries of a row add up to its total."""
    summed = np.cumsum(to_reduce, axis=1)
    return np.asarray((summed < totals[:, None]).sum(axis=1) + (totals > 0))


def _blocks(points: Integers, size: int) -> list[Integers]:
    parts = -(-points.size * max(1, size) // BLOCK)
    return np.array_split(points, parts)


# ------------------------------------------------------------------ location
# Huber's and Tukey's location by inverse sensitivity: pure, and as robust as they are.

FINER = 16
"""Steps of values between two points that may be released."""

FINE_SCORES = 2**16
"""What the greatest of Tukey's scores is as an integer."""

ONE = Sensitivity.of(1, Norm.LINF, Rule("a unit changes by one how many must be replaced"))


@dataclass(frozen=True, slots=True)
class RobustLocation:
    """The location of one value for each unit, by the exponential mechanism.

    A point between the ``bounds`` is the likelier the fewer values must be replaced to make it
    the root of ``psi``'s scores, in residuals over a public ``scale``. Values need no bounds:
    beyond the turn they all count the same. `docs/privacy/robust.md` has the proof, for
    neighbours of either kind.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval.
    Reference: Asi, Duchi 2020 (inverse sensitivity).

    Example:
        >>> where = RobustLocation(Bounds.of(-50, 50), Huber(), scale=1.0, loss=Loss.pure(1))
        >>> where.event()
        PermuteAndFlipSelection(epsilon=Fraction(1, 1))
    """

    bounds: Bounds
    psi: Huber | Tukey
    scale: float
    loss: Loss
    points: int = 4001

    def __post_init__(self) -> None:
        if not self.scale > 0 or self.bounds.width == 0 or self.points < 2:  # noqa: PLR2004
            raise InvalidValue(
                "A location needs bounds that differ, a scale above 0 and 2 points or more; "
                f"{self.scale} and {self.points} were given."
            )

    def event(self) -> Event:
        """One selection."""
        return self._mechanism().event(ONE)

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy location of ``values``, one for each unit."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        scores = Secret(-self.lengths(values))
        place = int(self._mechanism().release(scores, ONE, gateway)[0])
        return RobustEstimate(lower + (upper - lower) * place / (self.points - 1))

    def lengths(self, values: ArrayLike) -> Integers:
        """For each point how many values must be replaced: exact, and for the gateway alone."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        step = (upper - lower) / (self.points - 1) / FINER
        turn = max(1, round(self.psi.turn * self.scale / step))
        last = FINER * (self.points - 1)
        # beyond the turn from every point a value counts as if it were there
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
    """Tukey's scores of residuals of 0 to ``turn`` steps, as integers."""
    exact = [Fraction(u, turn) * (1 - Fraction(u, turn) ** 2) ** 2 for u in range(turn + 1)]
    most = max(exact)
    return np.array([round(FINE_SCORES * each / most) for each in exact])


# ------------------------------------------------------------------ descent
# Huber's location by noisy gradient descent, with the lectures' sign and noise put right.

TURN = 2**40
"""Steps up to which a residual counts as it is."""


@dataclass(frozen=True, slots=True)
class DescentLocation:
    """Huber's location of one value for each unit, by so many noisy ``steps``.

    A step adds the mean of the residuals, clamped to ``turn``: against the gradient, which is
    minus that mean. Their sum moves by twice the turn where one value is replaced; the number
    of values is public, and that of the steps is fixed in advance.

    Guarantee: ``event()`` stays within ``loss``, whatever the values.
    Reference: Avella-Medina, Bradshaw, Loh 2023. ``docs/privacy/errata.md`` has the lectures'
    version, E04, whose sign goes up and whose noise is half of what it needs.

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
                "Descent takes one step or more and a turn above 0, and "
                f"{self.steps} and {self.turn} were given."
            )

    def event(self) -> Repeated:
        """So many sums with noise."""
        return Repeated(self._sum().event(), self.steps)

    def release(self, values: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy location of ``values``, one for each unit; it starts in the middle."""
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


# ------------------------------------------------------------------ subsample
# Subsample and aggregate: any estimator at all, on blocks, and a private location of them.

LEAST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class SubsampleAggregate:
    """The private ``location`` of what ``estimator`` says on each of ``blocks`` blocks of rows.

    Row i belongs to block i modulo ``blocks``. Neighbours replace one row, and the number of
    rows is public, so that one row moves one block's estimate. The estimator may be anything:
    what it raises, or says beyond all bounds, counts as no number, which is the lowest.

    Guarantee: that of ``location``, whatever the estimator does, as long as it looks at its own
    block alone and keeps nothing.
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
                f"Rows are cut into {LEAST_BLOCKS} blocks or more, and "
                f"{self.blocks} were asked for."
            )

    def event(self) -> Event:
        """That of the location: one row moves one block."""
        return self.location.event()

    def release(self, rows: ArrayLike, gateway: Gateway) -> RobustEstimate:
        """The noisy location of the blocks' estimates."""
        table = np.asarray(rows, dtype=np.float64)
        found = [self._of(table[place :: self.blocks]) for place in range(self.blocks)]
        return self.location.release(found, gateway)

    def _of(self, block: Floats) -> float:
        """What the estimator says of a block, and no number where it says nothing."""
        try:
            with np.errstate(all="ignore"):
                return float(self.estimator(block.copy()))
        except Exception:  # noqa: BLE001 - that it failed is a secret of the rows
            return nan
