"""The differences between a project file and the ledger, and how an owner records them.

The first part converts the budgets and quotas of the file into losses that the ledger counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tacit.accounting import budget_within, show_loss, to_approximate_dp
from tacit.core import Budget, Loss, Measure, loss_text
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import (
    EVERYBODY,
    NO_UNITS,
    USUAL_SHARE,
    Book,
    CapRaised,
    Decision,
    Declaration,
    Governing,
    OwnerAdded,
    OwnerRemoved,
    Status,
    Units,
)
from tacit.numeric import plain
from tacit.project import Allowance, PopulationSettings, Project, facts_of
from tacit.session.question import loss_for
from tacit.session.table_checks import Tables, declaration_of, is_recorded, unit_in


def budget_of(allowed: Allowance, status: Status | None = None) -> Budget:
    """Return the budget that an owner wrote: a rho, an epsilon with a delta, or an epsilon.

    A rho has its own delta. A delta next to an epsilon is the delta of all releases together.
    It is divided as in the ledger whose ``status`` is given.

    Example:
        >>> from fractions import Fraction
        >>> print(budget_of(Allowance(epsilon=Fraction(1))).cap)
        ε = 1
    """
    if allowed.rho is not None:
        cap = Loss(Measure.ZCDP, allowed.rho, allowed.delta)
        return Budget(cap, allowed.conversion_delta)
    if allowed.epsilon is not None and allowed.delta:
        recorded = None if status is None else status.conversion_delta
        return budget_within(allowed.epsilon, allowed.delta, recorded)
    return Budget(Loss.pure(allowed.epsilon or 0))


def quota_of(allowed: Allowance, status: Status) -> Loss:
    """Return a quota in the measure of the budget; its delta defaults to that of the cap."""
    loss = loss_for(status.terms, allowed.epsilon, allowed.rho, allowed.delta)
    return loss if loss.delta else replace(loss, delta=status.cap.delta)


# ------------------------------------------------------------------ changes
# The difference between a project file and the ledger, one change for each act of an owner.

OTHER_TABLES = "+ the identity of the tables' file or database"
"""The detail of a change in which the same facts are declared about other physical tables."""

Make = Callable[[Governing], object]
"""A function that records one act of an owner in the ledger, in the owner's unit of work."""


class LedgerReader(Protocol):
    """The methods of a ledger that are needed to find what it has not recorded yet."""

    def populations(self) -> tuple[str, ...]:
        """Return the populations that have a budget."""
        ...

    def status(self, population: str) -> Status:
        """Return the status of a population's budget."""
        ...

    def book(self, population: str) -> Book:
        """Return the current state that the entries of a population's chain add up to."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """An act of an owner that the ledger has not recorded yet, described in words.

    ``details`` are the facts that the act adds and removes. If the act is already proposed and
    waits for a second owner, it is reported and not made again: ``make`` is None. A
    ``declaration`` is recorded together with those of all other populations, because tables
    may move between populations.
    """

    population: str
    text: str
    make: Make | None
    details: tuple[str, ...] = ()
    declaration: Declaration | None = None
    is_quota: bool = False
    """Whether the act sets a quota, which owners also set without the project file."""

    def __str__(self) -> str:
        return "\n  ".join((f"{self.population}: {self.text}", *self.details))

    @property
    def waits(self) -> bool:
        """Whether only another owner can act on this change."""
        return self.make is None and self.declaration is None


def record(found: Sequence[Change], project: Project, acts: Governing) -> tuple[Change, ...]:
    """Record the changes ``found`` that the signer of ``acts`` may make, and return them.

    Changes of populations that the signer does not own wait for their owners. A signer who
    owns none of the populations is refused. Declarations are recorded last, all together.
    """
    named = {people.population.name: people.owners for people in project.people}
    owners = {
        name: acts.owners(name) or frozenset(named.get(name, ()))
        for name in {change.population for change in found}
    }
    mine = tuple(change for change in found if acts.signer in owners[change.population])
    if found and not mine:
        others = sorted(owners)
        raise NotPermitted(
            f"{acts.signer} does not own the budget of {', '.join(map(repr, others))}, and "
            "nothing was recorded. Ask an owner to apply the file: "
            f"{', '.join(sorted(owners[others[0]]))}."
        )
    for change in mine:
        if change.make is not None:
            change.make(acts)
    said = {each.population: each.declaration for each in mine if each.declaration}
    if said:
        acts.declare(said)
    return mine


def changes(
    project: Project, ledger: LedgerReader, tables: Tables | None
) -> tuple[Change, ...]:
    """Return the changes that ``ledger`` has not recorded, in the order to record them.

    ``tables`` are the physical tables of the datasets. Without them, only the words of the
    declarations are compared. A difference that no act can record is refused: another privacy
    unit, another measure, or a lower cap.
    """
    found: list[Change] = []
    for people in project.people:
        found += changes_of(people, project, ledger, tables)
    if tables is not None:
        found += _abandoned_populations(project, ledger, tables)
    return tuple(found)


def changes_of(
    people: PopulationSettings, project: Project, ledger: LedgerReader, tables: Tables | None
) -> Iterator[Change]:
    """Yield the changes of one population that ``ledger`` has not recorded."""
    name = people.population.name
    try:
        status, book = ledger.status(name), ledger.book(name)
    except UnknownName:
        budget = budget_of(people.budget)
        status, book = _unspent(name, budget), Book(name)
        yield _opening(people, budget, status)
    else:
        yield from _decisions(people, budget_of(people.budget, status), status, book)
    yield from _least(people, book)
    yield from _quotas(people, status, book)
    yield from _declaration(project, name, book, tables)


def _unspent(name: str, budget: Budget) -> Status:
    cap = Units.limit(budget.cap)
    return Status(name, budget.cap.measure, budget.conversion_delta, cap, NO_UNITS)


def _opening(people: PopulationSettings, budget: Budget, status: Status) -> Change:
    return Change(
        status.population,
        f"open a budget of {loss_text(status.total)} for {people.population.unit}; "
        f"owned by {', '.join(people.owners)}",
        lambda acts: acts.open_budget(people.population, budget, people.owners),
    )


def _decisions(
    people: PopulationSettings, budget: Budget, status: Status, book: Book
) -> Iterator[Change]:
    """Yield the decisions of owners: a raised cap, and added and removed owners."""
    name, unit, opened = status.population, people.population.unit, book.opened
    fixed = (budget.cap.measure, budget.conversion_delta)
    held = opened is not None and (opened.unit, opened.neighbours)
    if held != (unit.name, unit.neighbours.value) or fixed != (
        status.measure,
        status.conversion_delta,
    ):
        raise InvalidValue(
            f"The ledger has {name!r} with another unit, measure or delta, and these never "
            f"change: {loss_text(status.total)} for one {opened.unit if opened else 'unit'}. "
            "Write in the project file what the ledger has."
        )
    rise = Units.limit(budget.cap) - status.cap_units
    if not rise >= NO_UNITS:
        raise InvalidValue(
            f"The budget of {name!r} is {loss_text(status.total)}. A cap can be raised, and "
            "never lowered: write this budget or a larger one in the project file."
        )
    decisions: list[tuple[str, Decision]] = []
    if rise != NO_UNITS:
        raised = CapRaised(rise.amount, rise.delta, "the project file says so")
        total = to_approximate_dp(budget.cap, budget.conversion_delta)
        more = loss_text(rise.loss(status.measure))
        decisions.append((f"raise the cap to {loss_text(total)}, by {more}", raised))
    decisions += [
        (f"add the owner {owner}", OwnerAdded(owner))
        for owner in people.owners
        if owner not in book.owners
    ]
    decisions += [
        (f"remove the owner {owner}", OwnerRemoved(owner))
        for owner in sorted(book.owners - set(people.owners))
    ]
    waiting = {each.decision: (seq, each.by) for seq, each in book.proposals.items()}
    for text, decision in decisions:
        if decision in waiting:
            place, by = waiting[decision]
            said = f"{text}: proposal {place} waits for a second owner"
            yield Change(name, said, None, (_next_step(name, place, by),))
        else:
            yield Change(name, text, _proposal(name, decision))


def _next_step(population: str, place: int, by: str) -> str:
    return (
        f"Proposed by {by}; not yet in effect. Another owner runs: tacit ledger approve "
        f"{population} {place}"
    )


def _proposal(name: str, decision: Decision) -> Make:
    return lambda acts: acts.propose(name, decision)


def _least(people: PopulationSettings, book: Book) -> Iterator[Change]:
    """Yield a change if the file has another least price of a question than the ledger."""
    name, said = people.population.name, people.budget.least
    share = USUAL_SHARE if said is None else said
    if share != book.least_share:
        text = f"a question costs at least {plain(share)} of the cap"
        yield Change(name, text, lambda acts: acts.set_least(name, share))


def _quotas(people: PopulationSettings, status: Status, book: Book) -> Iterator[Change]:
    """Yield the quotas of the file that differ from the ledger; other quotas stay."""
    if people.default_quota is not None:
        usual = quota_of(people.default_quota, status)
        if Units.limit(usual) != book.quotas.get(EVERYBODY):
            yield Change(
                status.population,
                "the quota of analysts without one of their own is "
                f"{show_loss(usual, status.conversion_delta)}",
                lambda acts: acts.set_default_quota(status.population, usual),
                is_quota=True,
            )
    for holder, allowed in people.quotas:
        quota = quota_of(allowed, status)
        if Units.limit(quota) != book.quotas.get(holder):
            yield Change(
                status.population,
                f"the quota of {holder} is {show_loss(quota, status.conversion_delta)}",
                lambda acts, holder=holder, quota=quota: acts.set_quota(  # type: ignore[misc]
                    status.population, holder, quota
                ),
                is_quota=True,
            )


def _declaration(
    project: Project, name: str, book: Book, tables: Tables | None
) -> Iterator[Change]:
    """Yield a change if the file declares a population's tables differently than the ledger."""
    catalog = project.catalog
    current = tuple(sorted(table for table, now in book.holdings.items() if now))
    before = Declaration(book.declared, current)
    if tables is None:
        said = Declaration(facts_of(catalog, name), current)
        recorded = bool(book.declaration)
    else:
        said = declaration_of(catalog, name, tables, before)
        recorded = bool(book.declaration) and is_recorded(catalog, name, tables, before)
    if said.facts == before.facts and recorded:
        return
    if book.own != NO_UNITS:
        _check_units(project, name, before, said)
    gone = [f"- {fact}" for fact in before.facts if fact not in said.facts]
    new = [f"+ {fact}" for fact in said.facts if fact not in before.facts]
    moved = [] if recorded else [OTHER_TABLES]
    yield Change(name, "declare", None, tuple(gone + new + moved), said)


def _check_units(
    project: Project, population: str, before: Declaration, said: Declaration
) -> None:
    """Refuse to change the privacy unit of a table after questions about it were charged."""
    for dataset in project.catalog.datasets:
        was, is_now = (unit_in(dataset.name, each.facts) for each in (before, said))
        if dataset.population == population and None is not was != is_now is not None:
            raise InvalidValue(
                f"Questions about {population!r} were charged while {was!r} was declared, and "
                f"now {is_now!r} is declared. The earlier answers protect another unit, so "
                "their losses do not bound the loss of the new unit. Declare the unit as it "
                "was, or start another ledger for the new unit and state for both ledgers "
                "what they protect."
            )


def _abandoned_populations(
    project: Project, ledger: LedgerReader, tables: Tables
) -> Iterator[Change]:
    """Yield changes for populations whose tables the file now declares for another one."""
    named = {people.population.name for people in project.people}
    wanted = {
        each: table.name for table in project.catalog.tables for each in tables[table.name].all
    }
    public = {table.name for table in project.catalog.public}
    for other in ledger.populations():
        if other in named:
            continue
        book = ledger.book(other)
        taken = {wanted[each] for each, now in book.holdings.items() if now and each in wanted}
        if taken & public:
            raise InvalidValue(
                f"{min(taken & public)!r} is declared as a public table, but it is a table of "
                f"the population {other!r} in the ledger. Remove it from the project file, or "
                "declare it as a dataset of that population."
            )
        if taken:
            names = ", ".join(sorted(taken))
            text = f"give up its tables, of which this file declares {names} under another name"
            yield Change(other, text, None, (), Declaration())
