"""A population's budget as the store holds it."""

from typing import NamedTuple

from sqlalchemy import bindparam, select

from tacit.core.measure import Measure
from tacit.core.population import Population
from tacit.errors import (
    BudgetExceeded,
    ChargesFrozen,
    Conflict,
    DeadlineMissed,
    DeclarationsChanged,
    InvalidValue,
    PopulationLocked,
    TacitError,
    UnknownName,
)
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import Record
from tacit.ledger.trouble import Troubles
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
    budgets.c.missed,
    budgets.c.looked,
    budgets.c.failed,
    budgets.c.retried,
    budgets.c.least_share,
    budgets.c.least_amount,
    budgets.c.declared,
    budgets.c.frozen,
).where(budgets.c.population == bindparam("at"), budgets.c.period == ALL_TIME)


class BudgetRow(NamedTuple):
    """What is fixed about a budget, what it allows, and what was spent.

    The row as the database gives it: each charge reads one, and looks at a few of its fields.
    """

    unit: str
    neighbours: str
    kind: str
    conversion_delta: str
    idealised: int
    cap_amount: int
    cap_delta: int
    spent_amount: int
    spent_delta: int
    missed: int
    looked: int
    failed: int
    retried: int
    least_share: str
    least_amount: int
    declared: int
    """The number of the declaration that holds; 0 where there is none."""
    frozen: int
    """1 while an owner has stopped all charges."""

    @property
    def measure(self) -> Measure:
        """In which measure the budget counts."""
        return Measure(self.kind)

    @property
    def cap(self) -> Units:
        """What may be spent."""
        return Units(self.cap_amount, self.cap_delta)

    @property
    def spent(self) -> Units:
        """What was spent."""
        return Units(self.spent_amount, self.spent_delta)

    @property
    def locked(self) -> bool:
        """Whether an answer was late or failed, and no owner has looked since."""
        return self.looked < Troubles(self.missed, self.failed, self.retried).marks

    @property
    def record(self) -> Record:
        """What the guarantee of an answer says about earlier ones."""
        least = self.least_amount
        questions = self.cap_amount // least if least else 0
        return Record(
            self.missed,
            self.failed,
            self.retried,
            str(Units(least, 0).loss(self.measure)) if least else "",
            questions,
        )

    def check_open(self, population: str) -> None:
        """Refuse, where an owner has to look before anything is charged or begun."""
        if not self.locked:
            return
        if self.missed and not self.failed and not self.retried:
            raise DeadlineMissed(
                f"An answer about {population!r} missed its deadline, which can depend on who "
                "is in the data. Nothing more is charged until an owner has looked: "
                f"tacit ledger look {population}"
            )
        raise PopulationLocked(
            f"A question about {population!r} was paid for and failed or was late, which can "
            "depend on who is in the data. Nothing more is charged or begun until an owner has "
            f"looked: tacit ledger look {population}"
        )

    def refusal(self, population: str, cost: Units, declaration: int) -> TacitError:
        """Why ``cost`` could not be spent by a question that ``declaration`` priced.

        It raises where an owner has to look first.
        """
        if self.frozen:
            return ChargesFrozen(
                f"An owner has stopped all charges about {population!r}. Nothing was charged. "
                f"An owner allows them again: tacit thaw {population}"
            )
        if self.declared != declaration:
            return DeclarationsChanged(
                f"The declarations of {population!r} changed, and nothing was charged; ask "
                "again, in a session that was opened since, and it is priced by what is "
                "declared now.",
                population,
            )
        self.check_open(population)
        if cost <= self.cap - self.spent:
            # an owner allowed charges again after the update and before this row was read
            return Conflict("What refused this charge is over; look again.")
        asked, left, cap = (
            units.loss(self.measure) for units in (cost, self.cap - self.spent, self.cap)
        )
        return BudgetExceeded(
            f"{asked} does not fit into the budget of {population!r}: {left} is left of {cap}. "
            "Ask for less, or ask the owners to raise the cap."
        )

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
    return BudgetRow._make(row)
