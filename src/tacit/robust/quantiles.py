"""Quantiles on public cells, each with an interval; the median is one of them."""

from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import ArrayLike

from tacit.choose.quantile import choose_quantile
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.grid_quantile import GridQuantile
from tacit.robust.cells import Cells
from tacit.robust.estimate import Estimate

MEDIAN = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of one value for each unit, by the exponential mechanism on ranks.

    Each has an equal share of the loss, and its interval a twentieth of that.

    Guarantee: ``event()`` stays within ``loss``. An interval holds the sample's quantile with
    95% at least, whatever the values.
    Reference: Smith 2011; ``docs/privacy/mechanisms/grid_quantile.md`` for the intervals.

    Example:
        >>> from tacit.core.bounds import Bounds
        >>> ages = Cells(Bounds.of(0, 120), 120)
        >>> len(Quantiles(ages, Loss.pure(1), (MEDIAN,)).event().events)
        1
    """

    cells: Cells
    loss: Loss
    probabilities: tuple[Fraction, ...] = (MEDIAN,)
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise InvalidValue("At least one quantile is asked for, and none was given.")
        self._each()

    def event(self) -> Composed:
        """Two selections for each quantile: its cell, and how far around it the interval is."""
        moved = self._moved()
        return Composed(tuple(each.event(moved) for each in self._each()))

    def release(self, values: ArrayLike, gateway: Gateway) -> tuple[Estimate, ...]:
        """The quantiles, each from a release of its own."""
        counts, moved, found = self.cells.counts(values), self._moved(), []
        for each in self._each():
            cell, reach = each.release(Secret(counts), moved, gateway).tolist()
            first, last = each.interval(cell, reach)
            interval = self.cells.edge(first), self.cells.edge(last + 1)
            found.append(Estimate(self.cells.value(cell), interval, "the sample's quantile"))
        return tuple(found)

    def _moved(self) -> Sensitivity:
        times = self.neighbours.additions
        return Sensitivity.of(times, Norm.L1, Rule("a unit's value lies in one cell"))

    def _each(self) -> tuple[GridQuantile, ...]:
        loss = self.loss
        share = Loss(loss.measure, loss.amount / len(self.probabilities))
        return tuple(
            choose_quantile(self._moved(), probability, self.cells.count, 1, share)
            for probability in self.probabilities
        )
