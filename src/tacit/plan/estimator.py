"""The interface of estimators, and the training rows that they are fitted to.

An `Estimator` is priced from its public settings and fitted in steps. It never sees the ledger,
an engine or data. Its method `steps` is a generator: it yields the plan that an engine has to
run, and receives the result as a `Secret`, which only a mechanism can open, at the gateway. The
parameters that it returns are public, because they are computed from released integers and
public settings. A session runs the steps in the same way as questions, and ``fit(X, y)`` runs
the same steps over arrays.

A private mean, as an estimator::

    @dataclass(frozen=True)
    class PrivateMean:
        bounds: Bounds  # public settings, in the constructor
        variance: Fraction

        def event(self, training):  # the releases to come, from public facts alone
            return Gaussian(self.variance).event(self._sensitivity(training))

        def steps(self, training, gateway):
            axis = Axis.of(training.features[0], self.bounds)
            most = training.max_rows * axis.reach
            there = Negation(StepsAreNull(axis.steps))
            sums = yield training.plan([RowSumTally(axis.steps, -most, most)], there)
            sensitivity = self._sensitivity(training)
            noisy = Gaussian(self.variance).release(sums[0], sensitivity, gateway)
            return (Parameter.of("sum_", axis.unit * int(noisy[0])),)

Rules for estimators:

- ``event(training)`` must include every release that `steps` makes, for all data. The number of
  steps, their plans, their noise and their sensitivities may depend only on settings and on
  earlier releases.
- Sensitivity must be bounded for all rows of a unit together. At most ``training.max_rows``
  rows of a unit are kept, in sums and in rows; the first column of rows numbers the units.
- Noise is added to integers only, and the sensitivity must hold for exactly these integers.
- An estimator must never fail or stop early for a reason that depends on the data. Computations
  on released values must not fail either: a failure after the first draw of noise locks the
  population.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit.core import Catalog, Column, Event, Neighbours, Parameter, Population
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import BoundedPlan, StepsKey
from tacit.plan.bounding import gather, least_people
from tacit.plan.plan import Relation
from tacit.plan.row_cost import not_too_many_terms
from tacit.plan.source import Fold, Source, assumptions
from tacit.plan.steps import AllOf, Condition
from tacit.plan.tally import RowSumTally, Tally


@dataclass(frozen=True, slots=True)
class Training:
    """The source of a model's training rows, its columns, and the row limits of a unit.

    Rows above ``max_rows`` are dropped. Privacy therefore does not depend on whether the limit
    describes the data correctly.
    """

    source: Source
    condition: AllOf
    features: tuple[Column, ...]
    target: Column | None
    max_rows: int
    max_rows_in_all: int | None
    population: Population
    assumptions: tuple[str, ...]
    fold: Fold | None = None
    """The fold whose units the model is fitted to; None for all units."""

    @property
    def neighbours(self) -> Neighbours:
        """The relation of neighbouring datasets: add or remove a unit, or replace one."""
        return self.population.unit.neighbours

    def plan(
        self, tallies: Sequence[Tally], *conditions: Condition, key: StepsKey | None = None
    ) -> BoundedPlan:
        """Return the plan for ``tallies`` over the rows that also meet ``conditions``.

        A condition depends on one row and on public numbers, so that the rows of a unit that
        remain depend only on the unit's own rows. With a ``key``, tallies are per group, and a
        unit still keeps at most ``max_rows`` rows in all groups together.
        """
        return BoundedPlan(
            source=self.source,
            condition=AllOf((*self.condition.parts, *conditions)),
            keys=() if key is None else (key,),
            max_groups=1 if key is None else self.max_rows,
            max_rows=self.max_rows,
            tallies=tuple(tallies),
            max_rows_in_all=self.max_rows_in_all if key is None else self.max_rows,
            fold=self.fold,
        )


def training_of(
    relation: Relation, features: Sequence[str], target: str | None, catalog: Catalog
) -> Training:
    """Return the training rows of ``relation`` with the columns ``features`` and ``target``.

    Guarantee: the result is a function of the arguments; no data is read.
    """
    not_too_many_terms(relation)
    rows = gather(relation, catalog)
    columns = tuple(rows.scope[name] for name in features)
    aim = None if target is None else rows.scope[target]
    named = [column.name for column in (*columns, *([aim] if aim else []))]
    if not features or len(set(named)) != len(named):
        raise InvalidValue(
            "A model needs at least one feature, and no column may be given twice as feature "
            f"or target; the given columns are: {', '.join(named) or 'none'}."
        )
    if rows.source.unit in named:
        raise InvalidValue(
            f"{rows.source.unit!r} identifies a person and cannot be a column of a model; "
            "leave it out."
        )
    if least_people(rows.source.datasets, catalog):
        raise InvalidValue(
            f"{rows.source.dataset!r} has min_people, a rule about cells of answers. Models "
            "are refused: parameters such as counts of classes can be about fewer people."
        )
    dataset = catalog.dataset(rows.source.dataset)
    most, in_all = rows.limits.max_rows, rows.limits.max_rows_in_all
    return Training(
        source=rows.source,
        condition=rows.condition,
        features=columns,
        target=aim,
        max_rows=most if in_all is None else min(most, in_all),
        max_rows_in_all=in_all,
        population=catalog.population(dataset.population),
        assumptions=assumptions(rows.source, catalog),
    )


Opener_contra = TypeVar("Opener_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class RowsOf:
    """A step that asks for the rows that ``plan`` keeps, and not for their sums.

    All tallies must be `RowSumTally`. Each of them is a column of the rows; an additional first
    column numbers the units. The estimator receives a `Secret` of
    `tacit.engines.unit_rows.UnitRows`, which is read in blocks of whole units and never leaves
    the process of the engine. The rows of a unit are sorted by their integers. There is no cap
    on the number of rows: a failure above a cap would reveal exact information about it.
    """

    plan: BoundedPlan

    def __post_init__(self) -> None:
        if self.plan.keys or not all(isinstance(t, RowSumTally) for t in self.plan.tallies):
            raise InvalidValue(
                "A step that asks for rows must have no group keys, and all of its tallies "
                "must be of the class RowSumTally."
            )


Step = BoundedPlan | RowsOf
"""A request of an estimator to an engine. The answer to a `BoundedPlan` is a `Secret` of
integers for each tally, and the answer to `RowsOf` is one `Secret` of blocks of rows."""

TrainingSteps = Generator[Step, Any, tuple[Parameter, ...]]


class Estimator(Protocol[Opener_contra]):
    """A model that can be fitted privately. Its fields are public settings."""

    def event(self, training: Training) -> Event:
        """Return the event of all releases that a fit will make, from public facts alone."""
        ...

    def steps(self, training: Training, gateway: Opener_contra) -> TrainingSteps:
        """Yield the requests of a fit, and return its parameters at the end."""
        ...
