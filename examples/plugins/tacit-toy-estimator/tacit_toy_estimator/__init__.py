"""The private mean of one column, as an estimator that a session can fit."""

from fractions import Fraction
from typing import Any

from tacit.core import Bounds, Event, Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml import NoisySums, PrivateEstimator, event_of
from tacit.plan import (
    Axis,
    Negation,
    RowSumTally,
    StepsAreNull,
    Training,
    TrainingSteps,
    WholeSteps,
)


class ToyMean(PrivateEstimator):
    """The mean of the first feature, from its noisy sum and the noisy number of rows.

    Guarantee: one Gaussian release of both sums.
    """

    def __init__(
        self, *, epsilon: float = 1.0, delta: float = 1e-6, bounds: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds

    def event(self, training: Training) -> Event:
        """Return what fitting releases, from settings and declared facts alone."""
        return event_of([self._sums(training)], training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Ask for two sums, release them together, and divide."""
        axis, sums = self._axis(training), self._sums(training)
        secrets = yield training.plan(sums.tallies, Negation(StepsAreNull(axis.steps)))
        total, rows = sums.release(secrets, training, self.rho, gateway)
        # a noisy number of rows may be 0 or below: what follows must never fail
        count = max(1, round(Fraction(int(rows), axis.reach)))
        return (Parameter.of("mean_", float(axis.value(0) + axis.unit * int(total) / count)),)

    def _sums(self, training: Training) -> NoisySums:
        axis = self._axis(training)
        most = training.max_rows * axis.reach
        tallies = (
            RowSumTally(axis.steps, -most, most),
            RowSumTally(WholeSteps(axis.reach), 0, most),
        )
        return NoisySums(tallies, row_square=2 * axis.reach**2, share=Fraction(1))

    def _axis(self, training: Training) -> Axis:
        if self.bounds is None:
            raise InvalidValue("Give the public bounds of the column: bounds=(0, 120).")
        return Axis.of(training.features[0], Bounds.of(*self.bounds))
