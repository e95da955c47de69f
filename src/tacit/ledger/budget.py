"""A population's budget as the store holds it."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit import errors
from tacit.accounting import promised
from tacit.core import Event, Loss, Measure, Population
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import NO_LIMIT, NO_UNITS, Record, Troubles, Units, price
from tacit.store import Store, Work
from tacit.store.tables import budgets, holders, members

_FIND_BUDGET = select(
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
            raise errors.DeadlineMissed(
                f"An answer about {population!r} missed its deadline, which can depend on who "
                "is in the data. Nothing more is charged until an owner has looked: "
                f"tacit ledger look {population}"
            )
        raise errors.PopulationLocked(
            f"A question about {population!r} was paid for and failed or was late, which can "
            "depend on who is in the data. Nothing more is charged or begun until an owner has "
            f"looked: tacit ledger look {population}"
        )

    def refusal(self, population: str, cost: Units, declaration: int) -> errors.TacitError:
        """Why ``cost`` could not be spent by a question that ``declaration`` priced.

        It raises where an owner has to look first.
        """
        if self.frozen:
            return errors.ChargesFrozen(
                f"An owner has stopped all charges about {population!r}. Nothing was charged. "
                f"An owner allows them again: tacit thaw {population}"
            )
        if self.declared != declaration:
            return errors.DeclarationsChanged(
                f"The declarations of {population!r} changed, and nothing was charged; ask "
                "again, in a session that was opened since, and it is priced by what is "
                "declared now.",
                population,
            )
        self.check_open(population)
        if cost <= self.cap - self.spent:
            # an owner allowed charges again after the update and before this row was read
            return errors.Conflict("What refused this charge is over; look again.")
        asked, left, cap = (
            units.loss(self.measure) for units in (cost, self.cap - self.spent, self.cap)
        )
        return errors.BudgetExceeded(
            f"{asked} does not fit into the budget of {population!r}: {left} is left of {cap}. "
            "Ask for less, or ask the owners to raise the cap."
        )

    def check(self, population: Population) -> None:
        """Refuse a population that protects other people than this budget counts for."""
        unit = population.unit
        if (unit.name, unit.neighbours.value) != (self.unit, self.neighbours):
            raise errors.InvalidValue(
                f"The budget of {population.name!r} protects one {self.unit} "
                f"({self.neighbours}), and the question was priced for one {unit.name} "
                f"({unit.neighbours.value}); declare the population as the ledger holds it."
            )


def find_budget(work: Work, population: str) -> BudgetRow:
    """The budget of ``population``."""
    row = work.one(_FIND_BUDGET, {"at": population})
    if row is None:
        raise errors.UnknownName(
            f"There is no budget for the population {population!r}; open one."
        )
    return BudgetRow._make(row)


# ------------------------------------------------------------------ quota
# What each analyst and each group spends of a budget, counted in the work that charges it.

_GROUPS = select(members.c.holder).where(
    members.c.population == bindparam("at"), members.c.principal == bindparam("principal")
)
_FIND_QUOTA = select(
    holders.c.cap_amount, holders.c.cap_delta, holders.c.spent_amount, holders.c.spent_delta
).where(holders.c.population == bindparam("at"), holders.c.holder == bindparam("holder"))
_OF_GROUPS = select(members.c.holder).where(
    members.c.population == bindparam("at"), members.c.principal == bindparam("holder")
)
_LEFT = select(
    holders.c.cap_amount - holders.c.spent_amount, holders.c.cap_delta - holders.c.spent_delta
).where(
    holders.c.population == bindparam("at"),
    (holders.c.holder == bindparam("holder")) | holders.c.holder.in_(_OF_GROUPS),
)

_new = upsert(holders)
_COUNT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "spent_amount": holders.c.spent_amount + _new.excluded.spent_amount,
        "spent_delta": holders.c.spent_delta + _new.excluded.spent_delta,
    },
    where=(holders.c.spent_amount <= holders.c.cap_amount - _new.excluded.spent_amount)
    & (holders.c.spent_delta <= holders.c.cap_delta - _new.excluded.spent_delta),
)
_LIMIT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "cap_amount": _new.excluded.cap_amount,
        "cap_delta": _new.excluded.cap_delta,
    },
)


def count(work: Work, population: str, holder: str, cost: Units) -> None:
    """Add ``cost`` to what ``holder`` spent, or refuse where it passes their quota."""
    values = {
        "population": population,
        "holder": holder,
        "cap_amount": NO_LIMIT.amount,
        "cap_delta": NO_LIMIT.delta,
        "spent_amount": cost.amount,
        "spent_delta": cost.delta,
    }
    if not work.run(_COUNT, values):
        raise errors.BudgetExceeded(
            f"The quota of {holder} on {population!r} does not hold this question. Ask for "
            "less, or ask an owner to raise the quota."
        )


def limit(work: Work, population: str, holder: str, cap: Units) -> None:
    """Set the quota of ``holder``; what they spent before counts."""
    values = {
        "population": population,
        "holder": holder,
        "cap_amount": cap.amount,
        "cap_delta": cap.delta,
        "spent_amount": 0,
        "spent_delta": 0,
    }
    work.run(_LIMIT, values)


def quota_of(work: Work, population: str, holder: str) -> tuple[Units, Units] | None:
    """What ``holder`` may spend and has spent; None where nothing was set or spent."""
    row = work.one(_FIND_QUOTA, {"at": population, "holder": holder})
    return None if row is None else (Units(row[0], row[1]), Units(row[2], row[3]))


def left_of(work: Work, population: str, principal: str) -> tuple[Units, ...]:
    """What is left of each quota that a charge of ``principal`` counts for.

    It is less than nothing where a quota was lowered below what was spent.
    """
    rows = work.all(_LEFT, {"at": population, "holder": principal})
    return tuple(Units(amount, delta) for amount, delta in rows)


def holders_of(work: Work, population: str, principal: str) -> tuple[str, ...]:
    """For whom a charge of ``principal`` counts: themselves, and each of their groups."""
    rows = work.all(_GROUPS, {"at": population, "principal": principal})
    # sorted here, since databases disagree about the order of letters, and chains must not
    return (principal, *sorted(holder for (holder,) in rows))


# ------------------------------------------------------------------ least
# The least price of a question: a share of the cap, below which nothing is charged.
#
# Whether a paid question fails can depend on one person's row, however well statements are
# made total. If a question may cost next to nothing, somebody can try a billion of them. So
# every charge that is not free is at least a share of the cap, 10^-5 unless the owners say
# otherwise, and no more than 100,000 questions can ever be tried. A question that asks for
# less is answered at the least price, with the smaller noise that this price allows.
#
# Steps of a stream and shares of a holdout were paid for when their horizon was reserved:
# their charges are free, and are no questions.

USUAL_SHARE = Fraction(1, 10**5)
"""The share of the cap that holds where no owner said another."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_FIND_LEAST = select(budgets.c.cap_amount, budgets.c.least_share).where(_here)
_SET_LEAST = (
    update(budgets)
    .where(_here)
    .values(least_share=bindparam("share"), least_amount=bindparam("least"))
)


def least_amount(cap_amount: int, share: Fraction) -> int:
    """The least price in units, of a budget whose cap is ``cap_amount`` units.

    Example:
        >>> least_amount(10**12, USUAL_SHARE)
        10000000
    """
    return int(cap_amount * share)


def at_least(cost: Units, least: int) -> Units:
    """``cost`` raised to the least price; what is free stays free.

    Example:
        >>> at_least(Units(3, 7), 10)
        Units(amount=10, delta=7)
        >>> at_least(NO_UNITS, 10) == NO_UNITS
        True
    """
    return cost if cost == NO_UNITS else Units(max(cost.amount, least), cost.delta)


def follow_cap(work: Work, population: str) -> None:
    """Compute the least price again, after the cap of ``population`` was raised."""
    row = work.one(_FIND_LEAST, {"at": population})
    if row is not None:
        write_least(work, population, Fraction(row[1]))


def write_least(work: Work, population: str, share: Fraction) -> None:
    """Keep the least price beside the budget: ``share`` of the cap as it is now."""
    row = work.one(_FIND_LEAST, {"at": population})
    cap = 0 if row is None else row[0]
    values = {"at": population, "share": str(share), "least": least_amount(cap, share)}
    work.run(_SET_LEAST, values)


# ------------------------------------------------------------------ status
# What a budget's screen shows: public facts, rounded only toward more loss.


@dataclass(frozen=True, slots=True)
class Terms:
    """What a budget counts in, which never changes, and its least price, which may."""

    population: str
    measure: Measure
    conversion_delta: Fraction
    least: Loss | None = None
    """The least price of a question, as far as it is known here; the ledger decides."""

    def raised(self, loss: Loss) -> Loss:
        """``loss`` raised to the least price: what a cheaper question is answered at."""
        if self.least is None or self.least.amount <= loss.amount:
            return loss
        return replace(loss, amount=self.least.amount)


@dataclass(frozen=True, slots=True)
class Status:
    """What was spent of a population's budget, and what is left.

    Example:
        >>> status = Status(
        ...     "patients", Measure.PURE, Fraction(0), Units(10**12, 0), Units(1, 0)
        ... )
        >>> print(status.left)
        ε = 0.999999999999
    """

    population: str
    measure: Measure
    conversion_delta: Fraction
    cap_units: Units
    spent_units: Units
    missed: int = 0
    """How many answers missed their deadlines."""
    locked: bool = False
    """Whether an owner has to look before more is charged."""
    failed: int = 0
    """How many answers failed for good."""
    retried: int = 0
    """How many were run once more."""
    least_amount: int = 0
    """The least price of a question, in units."""
    record: Record = field(default_factory=Record, compare=False)
    """What a guarantee says of all this."""
    frozen: bool = False
    """Whether an owner has stopped all charges."""
    declaration: int = 0
    """The number of the declaration that holds; 0 where there is none."""
    quotas_left: tuple[Units, ...] = ()
    """What is left of the quotas of whoever asks, and of their groups, where one asks."""

    @property
    def terms(self) -> Terms:
        """What it counts in."""
        return Terms(self.population, self.measure, self.conversion_delta, self.least)

    @property
    def least(self) -> Loss:
        """The least price of a question."""
        return Units(self.least_amount, 0).loss(self.measure)

    def cost(self, event: Event, price_delta: Fraction = Fraction(0)) -> Units:
        """What a question with this event is charged."""
        return at_least(price(event, self.measure, price_delta), self.least_amount)

    @property
    def cap(self) -> Loss:
        """The most that may ever be spent."""
        return self.cap_units.loss(self.measure)

    @property
    def spent(self) -> Loss:
        """The sum of all charges, answered or not."""
        return self.spent_units.loss(self.measure)

    @property
    def left(self) -> Loss:
        """What still fits, exactly: never rounded up."""
        return (self.cap_units - self.spent_units).loss(self.measure)

    @property
    def total(self) -> Loss:
        """The (epsilon, delta) promised for everything that ever leaves within the cap."""
        return promised(self.cap, self.conversion_delta)

    @property
    def total_so_far(self) -> Loss:
        """The same at what was spent: information, since only the cap is a promise."""
        return promised(self.spent, self.conversion_delta)

    def questions_like(self, event: Event, price_delta: Fraction = Fraction(0)) -> int:
        """How many more questions with this event fit, into the budget and every quota."""
        cost = self.cost(event, price_delta)
        fits = [
            max(0, have // need)
            for left in (self.cap_units - self.spent_units, *self.quotas_left)
            for have, need in ((left.amount, cost.amount), (left.delta, cost.delta))
            if need
        ]
        if not fits:
            raise errors.InvalidValue(
                "A question about nothing is free: any number of them fits."
            )
        return min(fits)


def status_for(store: Store, population: str, holder: str) -> Status:
    """What ``holder`` spent of the budget; without a quota, of all that the cap allows."""
    with store.reading() as work:
        row = find_budget(work, population)
        quota, spent = quota_of(work, population, holder) or (NO_LIMIT, NO_UNITS)
    cap = row.cap if quota == NO_LIMIT else quota
    return Status(population, row.measure, Fraction(row.conversion_delta), cap, spent)


def status_of(store: Store, population: str, principal: str | None = None) -> Status:
    """The status of one population's budget, and of the quotas of ``principal`` on it."""
    with store.looking() as work:
        status = status_within(work, population)
        if principal is None:
            return status
        return replace(status, quotas_left=left_of(work, population, principal))


def status_within(work: Work, population: str) -> Status:
    """What `status_of` does, as a part of a unit of work."""
    row = find_budget(work, population)
    return Status(
        population,
        row.measure,
        Fraction(row.conversion_delta),
        row.cap,
        row.spent,
        row.missed,
        row.locked,
        row.failed,
        row.retried,
        row.least_amount,
        row.record,
        bool(row.frozen),
        row.declared,
    )
