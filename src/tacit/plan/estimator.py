"""The rows and columns that a model is fitted to, as far as the public knows them.

The contract of an estimator: priced by public settings, fitted by steps that it asks for.

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

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit.core import Catalog, Column, Event, Neighbours, Parameter, Population
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import BoundedPlan, StepsKey
from tacit.plan.bounding import gather
from tacit.plan.plan import Relation
from tacit.plan.row_cost import not_too_many_terms
from tacit.plan.source import Fold, Source, assumptions
from tacit.plan.steps import AllOf, Condition
from tacit.plan.tally import KeptTally, Tally


@dataclass(frozen=True, slots=True)
class Training:
    """Where a model's rows come from, its columns, and how many rows a unit has in it.

    What is above ``max_rows`` is dropped, so that nothing rests on its being true.
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
    """The part of the units that it is about, where that is not all of them."""

    @property
    def neighbours(self) -> Neighbours:
        """Which tables differ by one unit."""
        return self.population.unit.neighbours

    def plan(
        self, tallies: Sequence[Tally], *conditions: Condition, key: StepsKey | None = None
    ) -> BoundedPlan:
        """What an engine counts over the rows where the ``conditions`` hold too, by a ``key``.

        A condition looks at one row and public numbers, so that a unit's rows that are left
        are a function of its own. With a key, too, a unit keeps ``max_rows`` rows in all.
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
    """The ``features`` and the ``target`` of the rows of ``relation``.

    Guarantee: a function of the catalogue alone: no data is read.
    """
    not_too_many_terms(relation)
    rows = gather(relation, catalog)
    columns = tuple(rows.scope[name] for name in features)
    aim = None if target is None else rows.scope[target]
    named = [column.name for column in (*columns, *([aim] if aim else []))]
    if not features or len(set(named)) != len(named):
        raise InvalidValue(
            "A model has at least one feature, and each column once, the target among them; "
            f"these were given: {', '.join(named) or 'none'}."
        )
    if rows.source.unit in named:
        raise InvalidValue(
            f"{rows.source.unit!r} names a person, and no model is fitted to it; leave it out."
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

TrainingSteps = Generator[Step, Any, tuple[Parameter, ...]]


class Estimator(Protocol[Opener_contra]):
    """Public in the constructor, private in its steps."""

    def event(self, training: Training) -> Event:
        """All that fitting will release, from public facts alone."""
        ...

    def steps(self, training: Training, gateway: Opener_contra) -> TrainingSteps:
        """The steps of a fit, and at their end the parameters."""
        ...
