"""The rows and columns that a model is fitted to, as far as the public knows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.population import Population
from tacit.core.unit import Neighbours
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedPlan, StepsKey
from tacit.plan.fold import Fold
from tacit.plan.gather import gather
from tacit.plan.relation import Relation
from tacit.plan.source import Source, assumptions
from tacit.plan.steps import AllOf, Condition
from tacit.plan.tally import Tally
from tacit.plan.term_count import not_too_many_terms


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
