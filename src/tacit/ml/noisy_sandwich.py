"""The two matrices of a sandwich, summed over units with noise where a walk has ended."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.core.unit import Neighbours
from tacit.engines.unit_rows import UnitRows
from tacit.mechanisms.gateway import Gateway
from tacit.ml.arrival import Arrival
from tacit.ml.clipped_sum import ClippedSum
from tacit.ml.mallows import MallowsScores
from tacit.ml.packed import unpacked
from tacit.ml.sandwich import Sandwich
from tacit.ml.total_algebra import finite


@dataclass(frozen=True, slots=True)
class NoisySandwich:
    """Slopes of scores, ``steepest`` at most, and squares of scores, ``longest`` at most.

    Each gets one half of the ``loss``.

    Example:
        >>> both = NoisySandwich(4.0, 2.0, 3, Neighbours.ADD_REMOVE, Loss.zcdp("0.1"))
        >>> len(both.event().events)
        2
    """

    steepest: float
    longest: float
    dimensions: int
    neighbours: Neighbours
    loss: Loss

    def event(self) -> Composed:
        """Two matrices."""
        return Composed((self._slope.event(), self._square.event()))

    def release(
        self,
        rows: Secret[UnitRows],
        scores: MallowsScores,
        arrival: Arrival,
        units: float,
        gateway: Gateway,
    ) -> Sandwich:
        """Both, where the walk has arrived."""
        weights = arrival.weights
        slopes = self._slope.release(rows, partial(scores.slopes, weights), gateway)
        squares = self._square.release(rows, partial(scores.squares, weights), gateway)
        return Sandwich(
            slope=finite(unpacked(slopes, self.dimensions) / units),
            square=finite(unpacked(squares, self.dimensions) / units),
            units=units,
            slope_noise=self._slope.deviation / units,
            arrival=arrival,
        )

    @property
    def _slope(self) -> ClippedSum:
        return self._sum(self.steepest)

    @property
    def _square(self) -> ClippedSum:
        return self._sum(self.longest**2)

    def _sum(self, clip: float) -> ClippedSum:
        entries = self.dimensions * (self.dimensions + 1) // 2
        return ClippedSum(clip, entries, self.neighbours, self.loss.part(Fraction(1, 2)))
