"""The mean of values whose bounds nobody knows: clamped to private quantiles."""

from dataclasses import dataclass
from fractions import Fraction
from math import log

from numpy.typing import ArrayLike

from tacit.accounting.calibrate import calibrate
from tacit.core.bounds import Bounds, Provenance
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.quantile import Quantile
from tacit.robust.cells import Cells
from tacit.robust.estimate import Estimate
from tacit.robust.mean import Mean

BOUND_SHARE = Fraction(1, 8)
"""What each of the two quantiles gets of the loss; the mean gets the rest."""

MISSED = Fraction(1, 20)
"""How often a quantile may fall short of its slack in ranks."""


@dataclass(frozen=True, slots=True)
class ClippedMean:
    """The mean of values clamped to two private quantiles, ``tail`` and 1 - ``tail``.

    ``cells`` need to hold the values only roughly; finer ones near 0 are for a range that
    nobody knows. The tail must hold more ranks than a private choice misses by, or the choice
    lands where there is nothing: `tail_for` says how many.

    Guarantee: ``event()`` stays within ``loss``. There is no interval: what clamping takes away
    depends on tails that were not released.

    Example:
        >>> cells = Cells(Bounds.of(0, 10**4), unit=Fraction(1))
        >>> mean = ClippedMean(cells, Loss.zcdp("0.1"), tail=Fraction(1, 50))
        >>> len(mean.event().events)
        3
    """

    cells: Cells
    loss: Loss
    tail: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not 0 < self.tail < Fraction(1, 2):
            raise InvalidValue(f"A tail lies between 0 and 1/2, and {self.tail} does not.")

    def event(self) -> Composed:
        """Two selections, and a mean whose noise follows what they released."""
        moved, ends = self._moved(), self._ends()
        price = Mean(self.cells.bounds, self._rest(), self.neighbours).event()
        return Composed((*(end.event(moved) for end in ends), price))

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy mean of ``values``, one for each unit."""
        counts, moved = self.cells.counts(values), self._moved()
        low, high = sorted(
            int(end.release(Secret(counts), moved, gateway)[0]) for end in self._ends()
        )
        found = Bounds.of(self.cells.edge(low), self.cells.edge(high + 1), Provenance.ESTIMATED)
        clamped = Mean(found, self._rest(), self.neighbours).release(values, gateway)
        return Estimate(clamped.value)

    def _ends(self) -> tuple[Quantile, Quantile]:
        epsilon = _epsilon(self.loss.part(BOUND_SHARE))
        found = []
        for probability in (self.tail, 1 - self.tail):
            one = Quantile(probability, Fraction(1), self.cells.count, self.neighbours)
            rate = epsilon / one.event(self._moved()).epsilon
            found.append(Quantile(probability, rate, self.cells.count, self.neighbours))
        return found[0], found[1]

    def _rest(self) -> Loss:
        return self.loss.part(1 - 2 * BOUND_SHARE)

    def _moved(self) -> Sensitivity:
        times = self.neighbours.additions
        return Sensitivity.of(times, Norm.L1, Rule("a unit's value lies in one cell"))


def tail_for(size: int, cells: Cells, loss: Loss) -> Fraction:
    """The least tail that a private choice among so many units does not miss.

    ``size`` is public knowledge: a guess of the owner's, or the number where it is public.

    Example:
        >>> float(tail_for(5000, Cells(Bounds.of(0, 10**4)), Loss.zcdp("0.1")))
        0.0161
    """
    ranks = 2 * log(cells.count / MISSED) / float(_epsilon(loss.part(BOUND_SHARE)))
    return min(Fraction(round(10_000 * ranks / size), 10_000), Fraction(2, 5))


def _epsilon(loss: Loss) -> Fraction:
    """The bounded range that one selection may have."""
    return 1 / calibrate(lambda x: ExponentialSelection(1 / x), loss)
