"""Two tiny estimators of a mean, by sums and by rows: how an estimator is written."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.domain import Bounds
from tacit.core.event import Event
from tacit.core.release import Parameter
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.engines.unit_rows import UnitRows
from tacit.mechanisms.additive_noise import Gaussian
from tacit.mechanisms.gateway import Gateway, inside, together
from tacit.noise.integers import Integers
from tacit.plan.estimator import RowsOf, Training, TrainingSteps
from tacit.plan.model_columns import Axis
from tacit.plan.steps import Negation, StepsAreNull, WholeSteps
from tacit.plan.tally import RowSumTally


@dataclass(frozen=True)
class PrivateMean:
    """The mean of a column from its noisy sum and the noisy number of rows."""

    bounds: Bounds
    variance: Fraction = Fraction(10**14)

    def event(self, training: Training) -> Event:
        return Gaussian(self.variance).event(self.moved(training))

    def moved(self, training: Training) -> Sensitivity:
        axis = self.axis(training)
        one = training.max_rows**2 * (axis.reach**2 + axis.reach**2)
        both = training.neighbours.additions**2 * one
        return Sensitivity(Fraction(both), Norm.L2, Rule("a unit keeps at most max_rows rows"))

    def axis(self, training: Training) -> Axis:
        return Axis.of(training.features[0], self.bounds)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        axis = self.axis(training)
        most = training.max_rows * axis.reach
        there = Negation(StepsAreNull(axis.steps))
        # a row counts as much as its number can: both get one noise
        tallies = (
            RowSumTally(axis.steps, -most, most),
            RowSumTally(WholeSteps(axis.reach), 0, most),
        )
        secrets = yield training.plan(tallies, there)
        noisy = self._released(together(secrets), training, gateway)
        rows = max(1, round(Fraction(int(noisy[1]), axis.reach)))
        return (Parameter.of("mean_", float(axis.value(0) + axis.unit * int(noisy[0]) / rows)),)

    def _released(self, secret: object, training: Training, gateway: Gateway) -> Integers:
        mechanism = Gaussian(self.variance)
        return mechanism.release(secret, self.moved(training), gateway)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ClippedMean(PrivateMean):
    """The same by rows: what a *unit's* rows add up to is clipped to that of one row."""

    per_unit: bool = True

    def moved(self, training: Training) -> Sensitivity:
        one = 2 * self.axis(training).reach ** 2
        both = training.neighbours.additions**2 * one
        return Sensitivity(Fraction(both), Norm.L2, Rule("a unit's sum is clipped to reach"))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        axis = self.axis(training)
        plan = training.plan(
            [RowSumTally(axis.steps, -axis.reach, axis.reach)],
            Negation(StepsAreNull(axis.steps)),
        )
        rows = yield RowsOf(plan)

        def clipped(found: UnitRows) -> Integers:
            blocks = list(found.blocks())
            rows = np.concatenate([np.zeros((0, 2), dtype=np.int64), *blocks])
            units, values = rows[:, 0], rows[:, 1]
            if not self.per_unit:
                units = np.arange(len(values))
            sums = np.zeros(1 + units.max(initial=-1), dtype=np.int64)
            np.add.at(sums, units, values)
            total = np.clip(sums, -axis.reach, axis.reach).sum()
            return np.array([total, len(sums) * axis.reach])

        noisy = self._released(inside(rows, clipped), training, gateway)
        units = max(1, round(Fraction(int(noisy[1]), axis.reach)))
        return (
            Parameter.of("mean_", float(axis.value(0) + axis.unit * int(noisy[0]) / units)),
        )
