"""The contract of an estimator: priced by public settings, fitted by steps that it asks for.

An estimator sees neither ledger nor engine nor data. Its `steps` are a generator: each yields
what an engine is to compute, and is sent the result in a box, which only a mechanism opens, at
the gateway. What it returns is public: it is made of released integers and settings alone. A
session drives it where it drives questions, and ``fit(X, y)`` drives the same over arrays.

A private mean, as an estimator::

    @dataclass(frozen=True)
    class PrivateMean:
        bounds: Bounds  # public settings, in the constructor
        variance: Fraction

        def event(self, training):  # what will be done, from public facts alone
            return Gaussian(self.variance).event(self._moved(training))

        def steps(self, training, gateway):
            axis = Axis.of(training.features[0], self.bounds)
            most = training.max_rows * axis.reach
            there = NotSo(StepsAreNull(axis.steps))
            sums = yield training.plan([KeptTally(axis.steps, -most, most)], there)
            noisy = Gaussian(self.variance).release(sums[0], self._moved(training), gateway)
            return (Parameter.of("sum_", axis.unit * int(noisy[0])),)

Rules:

- ``event(training)`` holds every release that `steps` makes, whatever the data: how many steps
  there are, their plans, draws and sensitivities depend on settings and on earlier releases.
- What one unit moves is bounded for all its rows together: at most ``training.max_rows`` of a
  unit are kept in sums and in rows, and the first column of rows says which belong together.
- Nothing is noised but integers, and their sensitivity holds in the integers really used.
- It never fails, and never stops early, for a reason that depends on the data. What it computes
  of releases is total, too: a failure after the first draw of noise locks the population.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit.core.event import Event
from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedPlan
from tacit.plan.tally import KeptTally
from tacit.plan.training import Training

Opener_contra = TypeVar("Opener_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class RowsOf:
    """The rows that ``plan`` keeps, and not their sums: for what no sum can tell.

    Its tallies are all `KeptTally`, and each is a column, after a first that numbers the units.
    They are sent as a `Secret` of `tacit.engines.unit_rows.UnitRows`, which are read in blocks
    of whole units, and never leave the process that holds the engine. The rows of a unit are
    ordered by their integers. There is no cap on rows: to fail beyond one would be an exact
    answer about how many there are.
    """

    plan: BoundedPlan

    def __post_init__(self) -> None:
        if self.plan.keys or not all(isinstance(t, KeptTally) for t in self.plan.tallies):
            raise InvalidValue("Rows are kept numbers of one group, and no other tallies.")


Step = BoundedPlan | RowsOf
"""What an estimator asks for: sums, sent as a `Secret` of integers for each tally, or rows,
sent as one `Secret` of blocks."""

Steps = Generator[Step, Any, tuple[Parameter, ...]]


class Estimator(Protocol[Opener_contra]):
    """Public in the constructor, private in its steps."""

    def event(self, training: Training) -> Event:
        """All that fitting will release, from public facts alone."""
        ...

    def steps(self, training: Training, gateway: Opener_contra) -> Steps:
        """The steps of a fit, and at their end the parameters."""
        ...
