"""The budget of a population: its row in the store, quotas, the least price, and its status.

The row of a budget holds the cap, the loss that was spent, and the conditions under which
nothing is charged: an incident that no owner has reviewed, a freeze, a new declaration. The
conditional update that spends from it is `tacit.ledger.chain.SPEND`. Quotas of analysts and
groups are counted in the same unit of work as the charge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit import errors
from tacit.accounting import show_loss, to_approximate_dp
from tacit.core import Event, Loss, Measure, Population
from tacit.ledger.chain import ALL_TIME
from tacit.ledger.charge import NO_LIMIT, NO_UNITS, IncidentCounts, Record, Units, price
from tacit.ledger.status_text import ReadableStatus
from tacit.store import Store, Work, check_end
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
    """The row of a budget, as the database returns it.

    It is a named tuple of plain values and not a richer object, because each charge reads one
    and needs only a few of its fields.
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
    """Number of the current declaration; 0 if there is none."""
    frozen: int
    """1 while an owner has stopped all charges, otherwise 0."""

    @property
    def measure(self) -> Measure:
        """The privacy measure in which the budget counts."""
        return Measure(self.kind)

    @property
    def cap(self) -> Units:
        """The largest total that may be spent."""
        return Units(self.cap_amount, self.cap_delta)

    @property
    def spent(self) -> Units:
        """The sum of all charges."""
        return Units(self.spent_amount, self.spent_delta)

    @property
    def locked(self) -> bool:
        """Whether there are late or failed answers that no owner has reviewed."""
        return self.looked < IncidentCounts(self.missed, self.failed, self.retried).marks

    @property
    def record(self) -> Record:
        """The incidents among earlier answers, which the guarantee of an answer lists."""
        least, questions = _show_least(
            self.least_amount, self.cap_amount, self.measure, self.conversion_delta
        )
        return Record(self.missed, self.failed, self.retried, least, questions)

    def show(self, units: Units, *, down: bool = False) -> str:
        """Return an amount as text, with its epsilon first; a rest is rounded ``down``."""
        return _show(units, self.measure, self.conversion_delta, down=down)

    def check_open(self, population: str) -> None:
        """Raise an error if an owner must review late or failed answers first."""
        if not self.locked:
            return
        if self.missed and not self.failed and not self.retried:
            raise errors.DeadlineMissed(
                f"An answer about {population!r} missed its deadline, which can depend on who "
                "is in the data. Nothing more is charged until an owner has reviewed it: run "
                f"`tacit ledger look {population}`."
            )
        raise errors.PopulationLocked(
            f"A charged question about {population!r} failed or was late, which can depend on "
            "who is in the data. Nothing more is charged or started until an owner has "
            f"reviewed it: run `tacit ledger look {population}`."
        )

    def refusal(self, population: str, cost: Units, declaration: int) -> errors.TacitError:
        """Return the error for a ``cost`` that `SPEND` did not accept.

        ``declaration`` is the number of the declaration under which the question was priced.
        Raise `PopulationLocked` or `DeadlineMissed` if an owner must review incidents first.
        """
        if self.frozen:
            return errors.ChargesFrozen(
                f"An owner has stopped all charges about {population!r}. Nothing was charged. "
                f"An owner can allow charges again: run `tacit thaw {population}`."
            )
        if self.declared != declaration:
            return errors.DeclarationsChanged(
                f"The declarations of {population!r} have changed, and nothing was charged. "
                "Open a new session and ask again, so that the question is priced under the "
                "current declarations.",
                population,
            )
        self.check_open(population)
        if cost <= self.cap - self.spent:
            # an owner allowed charges again after the update and before this row was read
            return errors.Conflict("The reason to refuse this charge is gone; try again.")
        rest = self.cap - self.spent
        left = self.show(rest, down=True)
        if cost.delta > rest.delta and not rest.delta:
            left += ", delta 0"  # a delta of 0 is not shown otherwise
        return errors.BudgetExceeded(
            f"{self.show(cost)} does not fit into the budget of {population!r}: {left} is left "
            f"of {self.show(self.cap)}. Ask for less, or ask the owners to raise the cap."
        )

    def check(self, population: Population) -> None:
        """Raise `InvalidValue` if ``population`` has another privacy unit than this budget."""
        unit = population.unit
        if (unit.name, unit.neighbours.value) != (self.unit, self.neighbours):
            raise errors.InvalidValue(
                f"The budget of {population.name!r} protects one {self.unit} "
                f"({self.neighbours}), but the question was priced for one {unit.name} "
                f"({unit.neighbours.value}). Declare the population as it is in the ledger."
            )


def _show(units: Units, measure: Measure, delta: str, *, down: bool = False) -> str:
    return show_loss(units.loss(measure), Fraction(delta), down=down)


@lru_cache(maxsize=1024)
def _show_least(least: int, cap: int, measure: Measure, delta: str) -> tuple[str, int]:
    """Return the least price as text, and how many questions at this price fit into the cap.

    It is cached, because every charge needs it and few budgets have few least prices.
    """
    if not least:
        return "", 0
    return _show(Units(least, 0), measure, delta), cap // least


def find_budget(work: Work, population: str) -> BudgetRow:
    """Return the budget of ``population``."""
    row = work.one(_FIND_BUDGET, {"at": population})
    if row is None:
        check_end(work, population)
        raise errors.UnknownName(
            f"There is no budget for the population {population!r}; an owner opens one with "
            "`tacit apply`."
        )
    return BudgetRow._make(row)


# ------------------------------------------------------------------ quotas
# A *holder* is an analyst, or a group of analysts whose name begins with @. The row of a holder
# has a quota and the sum of charges that count for the holder. Both are checked and updated in
# the unit of work that charges the budget.
#
# Owners may set a default quota, which is that of every analyst who has none of their own. It
# has a row too, under the name `EVERYBODY`, which no analyst or group can have.

EVERYBODY = ""
"""The holder whose quota is the default quota of analysts."""

_GROUPS = (
    select(members.c.holder)
    .where(
        members.c.population == bindparam("at"), members.c.principal == bindparam("principal")
    )
    .union_all(
        select(holders.c.holder).where(
            holders.c.population == bindparam("at"), holders.c.holder == EVERYBODY
        )
    )
)
_FIND_QUOTA = select(
    holders.c.cap_amount, holders.c.cap_delta, holders.c.spent_amount, holders.c.spent_delta
).where(holders.c.population == bindparam("at"), holders.c.holder == bindparam("holder"))
_OF_GROUPS = select(members.c.holder).where(
    members.c.population == bindparam("at"), members.c.principal == bindparam("holder")
)
_LEFT = select(
    holders.c.holder,
    holders.c.cap_amount,
    holders.c.cap_delta,
    holders.c.spent_amount,
    holders.c.spent_delta,
).where(
    holders.c.population == bindparam("at"),
    (holders.c.holder == bindparam("holder"))
    | (holders.c.holder == EVERYBODY)
    | holders.c.holder.in_(_OF_GROUPS),
)

_new = upsert(holders)
COUNT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "spent_amount": holders.c.spent_amount + _new.excluded.spent_amount,
        "spent_delta": holders.c.spent_delta + _new.excluded.spent_delta,
    },
    where=(holders.c.spent_amount <= holders.c.cap_amount - _new.excluded.spent_amount)
    & (holders.c.spent_delta <= holders.c.cap_delta - _new.excluded.spent_delta),
)
"""The conditional statement that counts a cost for a holder, within the quota of the holder."""

_LIMIT = _new.on_conflict_do_update(
    index_elements=[holders.c.population, holders.c.holder],
    set_={
        "cap_amount": _new.excluded.cap_amount,
        "cap_delta": _new.excluded.cap_delta,
    },
)


def count_for_all(
    work: Work, population: str, principal: str, cost: Units, budget: BudgetRow
) -> tuple[str, ...]:
    """Add ``cost`` to the sums of ``principal`` and their groups, and return these holders.

    Raise `BudgetExceeded` if it exceeds one of their quotas. The row of the ``budget`` must be
    locked.
    """
    rows = work.all(_GROUPS, {"at": population, "principal": principal})
    found = sort_holders(principal, rows)
    within = (EVERYBODY,) not in rows or cost <= own_quota(work, population, principal).left
    for holder in found:
        if not within or not count(work, population, holder, cost):
            left = own_quota(work, population, holder).left
            rest = Units(max(left.amount, 0), max(left.delta, 0))
            raise errors.BudgetExceeded(
                f"The quota of {holder} on {population!r} is too small: this question needs "
                f"{budget.show(cost)}, and {budget.show(rest, down=True)} is left. Ask for "
                f"less, or ask for a larger quota: `tacit quota request {population}`."
            )
    return found


def count(work: Work, population: str, holder: str, cost: Units) -> bool:
    """Add ``cost`` to the sum of ``holder``; return False if it exceeds the quota."""
    return bool(work.run(COUNT, count_row(population, holder, cost)))


def count_row(population: str, holder: str, cost: Units) -> dict[str, object]:
    """Return the row with which `COUNT` counts ``cost`` for a holder without a quota."""
    return {
        "population": population,
        "holder": holder,
        "cap_amount": NO_LIMIT.amount,
        "cap_delta": NO_LIMIT.delta,
        "spent_amount": cost.amount,
        "spent_delta": cost.delta,
    }


def limit(work: Work, population: str, holder: str, cap: Units) -> None:
    """Set the quota of ``holder``. Earlier charges count against it."""
    values = {
        "population": population,
        "holder": holder,
        "cap_amount": cap.amount,
        "cap_delta": cap.delta,
        "spent_amount": 0,
        "spent_delta": 0,
    }
    work.run(_LIMIT, values)


class Quota(NamedTuple):
    """A quota, which may be `NO_LIMIT`, and the sum that its holder has spent."""

    cap: Units = NO_LIMIT
    spent: Units = NO_UNITS

    @property
    def left(self) -> Units:
        """The rest, which is negative if the quota was lowered below the spent sum."""
        return self.cap - self.spent


def own_quota(work: Work, population: str, holder: str) -> Quota:
    """Return the quota of ``holder``, or the default quota if they are an analyst without one.

    A group without a quota has no limit.
    """
    quota, usual = (
        read_quota(work.one(_FIND_QUOTA, {"at": population, "holder": each}))
        for each in (holder, EVERYBODY)
    )
    return quota if holder.startswith("@") else with_default(quota, usual)


def read_quota(row: Sequence[int] | None) -> Quota:
    """Return the quota in a row of the table of holders; without a row there is no limit."""
    return Quota() if row is None else Quota(Units(row[0], row[1]), Units(row[2], row[3]))


def with_default(quota: Quota, usual: Quota) -> Quota:
    """Return the quota of an analyst: their own, or else the ``usual`` one of all analysts."""
    return Quota(usual.cap, quota.spent) if quota.cap == NO_LIMIT else quota


def left_of(work: Work, population: str, principal: str) -> tuple[Units, ...]:
    """Return what is left of each quota that a charge of ``principal`` counts for.

    An amount is negative if a quota was lowered below the sum that was already spent.
    """
    rows = work.all(_LEFT, {"at": population, "holder": principal})
    found = {holder: read_quota(amounts) for holder, *amounts in rows}
    usual = found.pop(EVERYBODY, Quota())
    own = with_default(found.pop(principal, Quota()), usual)
    return tuple(each.left for each in (own, *found.values()) if each.cap != NO_LIMIT)


def holders_of(work: Work, population: str, principal: str) -> tuple[str, ...]:
    """Return the holders for whom a charge of ``principal`` counts: them and their groups."""
    return sort_holders(
        principal, work.all(_GROUPS, {"at": population, "principal": principal})
    )


def sort_holders(principal: str, rows: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the holders of a charge: the analyst first, then their groups by name."""
    # The order goes into the chain. It is sorted in Python, because databases order text by
    # different collations.
    return (principal, *sorted(holder for (holder,) in rows if holder != EVERYBODY))


# ------------------------------------------------------------------ least price
# The least price of a question is a share of the cap. No charge is smaller, unless it is free.
#
# Whether a charged question fails can depend on one person's row, however carefully statements
# are written so that they cannot fail. If questions could cost almost nothing, an analyst could
# try a billion of them. So every charge that is not free is at least a share of the cap, 10^-5
# unless the owners set another share, and at most 100,000 questions can ever be tried. A
# question that asks for a smaller loss is answered at the least price, with the smaller noise
# that this price allows.
#
# Steps of a stream and shares of a holdout were paid for when their horizon was reserved. Their
# charges are free, and the least price does not apply to them.

USUAL_SHARE = Fraction(1, 10**5)
"""The default least price, as a share of the cap."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_FIND_LEAST = select(budgets.c.cap_amount, budgets.c.least_share).where(_here)
_SET_LEAST = (
    update(budgets)
    .where(_here)
    .values(least_share=bindparam("share"), least_amount=bindparam("least"))
)


def least_amount(cap_amount: int, share: Fraction) -> int:
    """Return the least price in units for a cap of ``cap_amount`` units.

    Example:
        >>> least_amount(10**12, USUAL_SHARE)
        10000000
    """
    return int(cap_amount * share)


def at_least(cost: Units, least: int) -> Units:
    """Return ``cost`` raised to the least price; a cost of zero stays zero.

    Example:
        >>> at_least(Units(3, 7), 10)
        Units(amount=10, delta=7)
        >>> at_least(NO_UNITS, 10) == NO_UNITS
        True
    """
    return cost if cost == NO_UNITS else Units(max(cost.amount, least), cost.delta)


def follow_cap(work: Work, population: str) -> None:
    """Recompute the least price after the cap of ``population`` was raised or lowered."""
    row = work.one(_FIND_LEAST, {"at": population})
    if row is not None:
        write_least(work, population, Fraction(row[1]))


def write_least(work: Work, population: str, share: Fraction) -> None:
    """Store the least price in the budget's row: ``share`` of the current cap."""
    row = work.one(_FIND_LEAST, {"at": population})
    cap = 0 if row is None else row[0]
    values = {"at": population, "share": str(share), "least": least_amount(cap, share)}
    work.run(_SET_LEAST, values)


# ------------------------------------------------------------------ status
# The public facts about a budget that people see, rounded only toward more loss.


@dataclass(frozen=True, slots=True)
class Terms:
    """The measure, the conversion delta and the least price of a budget.

    The measure and the conversion delta never change. The least price may change.
    """

    population: str
    measure: Measure
    conversion_delta: Fraction
    least: Loss | None = None
    """The least price when these terms were read; the ledger checks the current one."""

    def apply_least_price(self, loss: Loss) -> Loss:
        """Return ``loss``, or the least price if that is larger."""
        if self.least is None or self.least.amount <= loss.amount:
            return loss
        return replace(loss, amount=self.least.amount)


@dataclass(frozen=True, slots=True)
class Status(ReadableStatus):
    """The status of a population's budget: its cap, the loss spent, and what is left.

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
    """Number of answers that missed their deadlines."""
    locked: bool = False
    """Whether an owner must review late or failed answers before more is charged."""
    failed: int = 0
    """Number of answers that failed for good."""
    retried: int = 0
    """Number of answers that were retried."""
    least_amount: int = 0
    """The least price of a question, in units."""
    record: Record = field(default_factory=Record, compare=False)
    """The incidents that a guarantee lists."""
    frozen: bool = False
    """Whether an owner has stopped all charges."""
    declaration: int = 0
    """Number of the current declaration; 0 if there is none."""
    quotas_left: tuple[Units, ...] = ()
    """The rest of each quota of the analyst and their groups, if asked for an analyst."""

    @property
    def terms(self) -> Terms:
        """The measure, the conversion delta and the least price."""
        return Terms(self.population, self.measure, self.conversion_delta, self.least)

    @property
    def least(self) -> Loss:
        """The least price of a question."""
        return Units(self.least_amount, 0).loss(self.measure)

    def cost(self, event: Event, price_delta: Fraction = Fraction(0)) -> Units:
        """Return the cost of a question with this event: its price, or the least price."""
        return at_least(price(event, self.measure, price_delta), self.least_amount)

    @property
    def cap(self) -> Loss:
        """The largest total loss that may ever be spent."""
        return self.cap_units.loss(self.measure)

    @property
    def spent(self) -> Loss:
        """The sum of all charges, answered or not."""
        return self.spent_units.loss(self.measure)

    @property
    def left(self) -> Loss:
        """The loss that still fits, exactly and never rounded up.

        Nothing is left of a quota that was lowered below the sum that was already spent.
        """
        left = self.cap_units - self.spent_units
        return Units(max(left.amount, 0), max(left.delta, 0)).loss(self.measure)

    @property
    def quotas(self) -> tuple[Loss, ...]:
        """The rest of each quota of the analyst and their groups, at least 0."""
        rests = (Units(max(each.amount, 0), max(each.delta, 0)) for each in self.quotas_left)
        return tuple(each.loss(self.measure) for each in rests)

    @property
    def total(self) -> Loss:
        """The (epsilon, delta) guaranteed for all releases together, up to the cap."""
        return to_approximate_dp(self.cap, self.conversion_delta)

    @property
    def total_so_far(self) -> Loss:
        """The (epsilon, delta) of all releases so far. Only `total` is a promise."""
        return to_approximate_dp(self.spent, self.conversion_delta)

    def questions_like(self, event: Event, price_delta: Fraction = Fraction(0)) -> int:
        """Return how many more questions with this event fit into the budget and each quota."""
        cost = self.cost(event, price_delta)
        fits = [
            max(0, have // need)
            for left in (self.cap_units - self.spent_units, *self.quotas_left)
            for have, need in ((left.amount, cost.amount), (left.delta, cost.delta))
            if need
        ]
        if not fits:
            raise errors.InvalidValue(
                "A question without a private event is free, so any number of them fits."
            )
        return min(fits)


def status_for(store: Store, population: str, holder: str) -> Status:
    """Return the status of ``holder``'s quota, or of the whole cap if nothing else limits them.

    An analyst without a quota of their own has the default quota, if there is one.
    """
    with store.reading() as work:
        row = find_budget(work, population)
        quota, spent = own_quota(work, population, holder)
    cap = row.cap if quota == NO_LIMIT else quota
    return Status(population, row.measure, Fraction(row.conversion_delta), cap, spent)


def status_of(store: Store, population: str, principal: str | None = None) -> Status:
    """Return the status of a population's budget, with the quotas of ``principal`` if given."""
    with store.looking() as work:
        status = status_within(work, population)
        if principal is None:
            return status
        return replace(status, quotas_left=left_of(work, population, principal))


def status_within(work: Work, population: str) -> Status:
    """Return the status of a population's budget, within a unit of work."""
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
