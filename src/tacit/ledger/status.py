"""What a budget's screen shows: public facts, rounded only toward more loss."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacit.accounting.promise import promised
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.ledger.budget_row import find_budget
from tacit.ledger.charge import Record
from tacit.ledger.least import at_least
from tacit.ledger.quota import left_of, quota_of
from tacit.ledger.units import NO_LIMIT, NO_UNITS, Units, price
from tacit.store.store import Store
from tacit.store.work import Work


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
            raise InvalidValue("A question about nothing is free: any number of them fits.")
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
