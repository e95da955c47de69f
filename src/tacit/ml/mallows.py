"""Huber's scores of residuals with Mallows' weights of rows: bounded, whatever a row holds."""

from dataclasses import dataclass

import numpy as np

from tacit.ml.packed import packed_products
from tacit.ml.scaled_rows import ScaledRows, line_at
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers


@dataclass(frozen=True, slots=True)
class MallowsScores:
    """Of a row x with target y: w psi(r) x, r = y - x'weights, w = min(1, (norm / |x|)^2).

    Here psi(r) is r between -turn and turn, and beyond as at the ends, plus a ``shift``. So the
    length of a score is (turn + |shift|) * norm at most, that of its square the square of that,
    and that of its slope norm^2. ``target_unit`` is how much a step of the target is, in scales
    of the residuals.
    """

    rows: ScaledRows
    target_unit: float
    turn: float
    norm: float
    shift: float = 0.0

    @property
    def longest(self) -> float:
        """The most that a score is long."""
        return (self.turn + abs(self.shift)) * self.norm

    def gradients(self, weights: Floats, table: Integers) -> Floats:
        """Of each row its score with the sign turned: the gradient of its loss."""
        features, residuals = self._residuals(weights, table)
        scores = np.clip(residuals, -self.turn, self.turn) + self.shift
        counted = scores * self._weights(features)
        return np.asarray(-counted[:, None] * features)

    def slopes(self, weights: Floats, table: Integers) -> Floats:
        """Of each row w psi'(r) x x', packed."""
        features, residuals = self._residuals(weights, table)
        counted = (abs(residuals) < self.turn) * self._weights(features)
        return packed_products(features) * counted[:, None]

    def steepest(self, weights: Floats, table: Integers) -> Floats:
        """Of each row w x x', packed: what its slope is at most, whatever the weights."""
        del weights
        features = self.rows.features(table)
        return packed_products(features) * self._weights(features)[:, None]

    def squares(self, weights: Floats, table: Integers) -> Floats:
        """Of each row its score times itself, packed."""
        return packed_products(self.gradients(weights, table))

    def _residuals(self, weights: Floats, table: Integers) -> tuple[Floats, Floats]:
        features = self.rows.features(table)
        fitted = line_at(features, weights[None, :])[:, 0]
        return features, np.asarray(table[:, -1] * self.target_unit - fitted)

    def _weights(self, features: Floats) -> Floats:
        # of numpy's floats, whose squares overflow to infinity where Python's raise
        square = np.float64(self.norm) ** 2
        return np.asarray(np.minimum(1.0, square / (features**2).sum(axis=1)))
