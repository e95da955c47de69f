"""The choice of a classifier by its number of errors: the exponential mechanism on counts."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.column import Column
from tacit.core.event import Event
from tacit.core.keys import Key
from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.engines.unit_rows import UnitRows
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import Gateway, inside
from tacit.ml.linear_rule import LinearRule
from tacit.noise.integers import Integers
from tacit.plan.axis import Axis
from tacit.plan.estimator import RowsOf
from tacit.plan.labels import label_steps
from tacit.plan.steps import NotSo, StepsAreNull
from tacit.plan.tally import KeptTally
from tacit.plan.training import Training

TWO = 2


@dataclass(frozen=True, slots=True)
class Labelled:
    """Rows with numbers on all ``axes`` and a target that is one of the public ``classes``."""

    axes: tuple[Axis, ...]
    target: Column | None
    classes: tuple[Key, ...]

    def __post_init__(self) -> None:
        if self.target is None or len(set(self.classes)) < max(TWO, len(self.classes)):
            raise InvalidValue(
                "Errors are counted beside a target with two public classes or more, each "
                f"once, and {len(self.classes)} were given."
            )

    def step(self, training: Training) -> RowsOf:
        """These rows: their unit, their features in steps, and the place of their class."""
        if self.target is None:
            raise InternalError("Rows without a target were refused.")
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((label_steps(self.target, self.classes), len(self.classes)))
        tallies = [KeptTally(steps, -reach, reach) for steps, reach in columns]
        there = [NotSo(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))


@dataclass(frozen=True, slots=True)
class FewestErrors:
    """One of so many ``candidates``, the likelier the fewer rows it gets wrong.

    Guarantee: one unit moves each count of errors by its rows at most, so that the choice loses
    pure ``epsilon``. Where units are added or removed all counts move one way, and weights are
    exp(-epsilon * errors / rows); where one is replaced they need twice as much noise.

    Example:
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.ADD_REMOVE, 1).rate
        Fraction(1, 2)
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.REPLACE_ONE, 1).rate
        Fraction(1, 4)
    """

    epsilon: Fraction
    candidates: int

    def mechanism(self, neighbours: Neighbours, max_rows: int) -> Exponential:
        """The exponential mechanism, of the rate that loses epsilon."""
        one_way = neighbours is Neighbours.ADD_REMOVE
        rate = self.epsilon / (max_rows if one_way else TWO * max_rows)
        return Exponential(rate, self.candidates, monotone=one_way)

    def event(self, training: Training) -> Event:
        """One selection."""
        return self.mechanism(training.neighbours, training.max_rows).event(_moved(training))

    def chosen(
        self,
        rules: Sequence[LinearRule],
        rows: Labelled,
        training: Training,
        gateway: Gateway,
    ) -> Generator[RowsOf, Any, int]:
        """The place of one of the ``rules``, by one reading; its errors stay secret."""
        table = yield rows.step(training)

        def scores(found: UnitRows) -> Integers:
            missed = [0] * len(rules)
            for block in found.blocks(len(rows.classes)):
                more = [int(rule.missed(block, rows.axes).sum()) for rule in rules]
                missed = [one + other for one, other in zip(missed, more, strict=True)]
            return np.array([-errors for errors in missed])

        mechanism = self.mechanism(training.neighbours, training.max_rows)
        return int(mechanism.release(inside(table, scores), _moved(training), gateway)[0])


def _moved(training: Training) -> Sensitivity:
    rule = Rule("a unit's rows are errors or are not", (f"max_rows={training.max_rows}",))
    return Sensitivity.of(training.max_rows, Norm.LINF, rule)
