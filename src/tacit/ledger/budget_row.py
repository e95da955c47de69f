"""A population's budget as the store holds it."""

from dataclasses import dataclass

from sqlalchemy import bindparam, select

from tacit.core.measure import Measure
from tacit.core.population import Population
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.units import Units
from tacit.store.tables import budgets
from tacit.store.work import Work

_FIND = select(
    budgets.c.unit,
    budgets.c.neighbours,
    budgets.c.measure,
    budgets.c.conversion_delta,
    budgets.c.idealised,
    budgets.c.cap_amount,
    budgets.c.cap_delta,
    budgets.c.spent_amount,
    budgets.c.spent_delta,
).where(budgets.c.population == bindparam("at"), budgets.c.period == ALL_TIME)


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """What is fixed about a budget, what it allows, and what was spent."""

    unit: str
    neighbours: str
    measure: Measure
    conversion_delta: str
    idealised: bool
    cap: Units
    spent: Units

    def check(self, population: Population) -> None:
        """Refuse a population that protects other people than this budget counts for."""
        unit = population.unit
        if (unit.name, unit.neighbours.value) != (self.unit, self.neighbours):
            raise InvalidValue(
                f"The budget of {population.name!r} protects one {self.unit} "
                f"({self.neighbours}), and the question was priced for one {unit.name} "
                f"({unit.neighbours.value}); declare the population as the ledger holds it."
            )


def find_budget(work: Work, population: str) -> BudgetRow:
    """The budget of ``population``."""
    row = work.one(_FIND, {"at": population})
    if row is None:
        raise UnknownName(f"There is no budget for the population {population!r}; open one.")
    unit, neighbours, measure, conversion, idealised, *amounts = row
    return BudgetRow(
        unit,
        neighbours,
        Measure(measure),
        conversion,
        bool(idealised),
        Units(*amounts[:2]),
        Units(*amounts[2:]),
    )
