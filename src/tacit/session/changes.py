"""What an owner wrote that may be spent, as the ledger counts it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tacit.accounting import budget_within
from tacit.core import Budget, Loss, Measure
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import (
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


def budget_of(allowed: Allowance) -> Budget:
    """A rho with its delta; an epsilon with the delta of everything; or a pure epsilon.

    Example:
        >>> from fractions import Fraction
        >>> print(budget_of(Allowance(epsilon=Fraction(1))).cap)
        ε = 1
    """
    if allowed.rho is not None:
        cap = Loss(Measure.ZCDP, allowed.rho, allowed.delta)
        return Budget(cap, allowed.conversion_delta)
    if allowed.epsilon is not None and allowed.delta:
        return budget_within(allowed.epsilon, allowed.delta)
    return Budget(Loss.pure(allowed.epsilon or 0))


def quota_of(allowed: Allowance, status: Status) -> Loss:
    """A quota in the measure of the budget; without a delta it has all that the cap has."""
    loss = loss_for(status.terms, allowed.epsilon, allowed.rho, allowed.delta)
    return loss if loss.delta else replace(loss, delta=status.cap.delta)


# ------------------------------------------------------------------ changes
# The difference between a project file and the ledger, act by act, and how it is recorded.

Make = Callable[[Governing], object]
"""Records an act in a ledger, among others of the same owner."""


class LedgerReader(Protocol):
    """What is read of a ledger to tell what it does not hold yet."""

    def populations(self) -> tuple[str, ...]:
        """Whose budgets are here."""
        ...

    def status(self, population: str) -> Status:
        """What is spent and left of a population's budget."""
        ...

    def book(self, population: str) -> Book:
        """All that a population's chain adds up to."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """An act of an owner, in words.

    ``details`` are the facts that it adds and takes away. One that a second owner has yet to
    approve is told of, and not made again: ``make`` is None. A ``declaration`` is recorded
    together with those of all other populations, because tables may move between them.
    """

    population: str
    text: str
    make: Make | None
    details: tuple[str, ...] = ()
    declaration: Declaration | None = None

    def __str__(self) -> str:
        return "\n  ".join((f"{self.population}: {self.text}", *self.details))

    @property
    def waits(self) -> bool:
        """Whether nothing is to be done but by another owner."""
        return self.make is None and self.declaration is None


def record(found: Sequence[Change], project: Project, acts: Governing) -> tuple[Change, ...]:
    """Record all of the changes ``found`` that the signer of ``acts`` may make, and give them.

    Those of populations that the signer does not own wait for their owners. Somebody who owns
    none of them is refused. Declarations come last, and together.
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
            f"nothing was recorded; who does: {', '.join(sorted(owners[others[0]]))}."
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
    """What is missing in ``ledger``, in the order in which it is to be made.

    ``tables`` tell which physical tables the datasets are; without them, declarations are
    compared by their words alone. What no act can change is refused: who is protected, the
    measure, and a cap made lower.
    """
    found: list[Change] = []
    for people in project.people:
        found += changes_of(people, project, ledger, tables)
    if tables is not None:
        found += _given_up(project, ledger, tables)
    return tuple(found)


def changes_of(
    people: PopulationSettings, project: Project, ledger: LedgerReader, tables: Tables | None
) -> Iterator[Change]:
    """What is missing in ``ledger`` about one population."""
    name, budget = people.population.name, budget_of(people.budget)
    try:
        status, book = ledger.status(name), ledger.book(name)
    except UnknownName:
        status, book = _unspent(name, budget), Book(name)
        yield _opening(people, budget, status)
    else:
        yield from _decided(people, budget, status, book)
    yield from _least(people, book)
    yield from _quotas(people, status, book)
    yield from _declared(project, name, book, tables)


def _unspent(name: str, budget: Budget) -> Status:
    cap = Units.limit(budget.cap)
    return Status(name, budget.cap.measure, budget.conversion_delta, cap, NO_UNITS)


def _opening(people: PopulationSettings, budget: Budget, status: Status) -> Change:
    return Change(
        status.population,
        f"open a budget of {status.total} for {people.population.unit}; "
        f"owned by {', '.join(people.owners)}",
        lambda acts: acts.open_budget(people.population, budget, people.owners),
    )


def _decided(
    people: PopulationSettings, budget: Budget, status: Status, book: Book
) -> Iterator[Change]:
    """Decisions: a cap that is raised, owners who come and go."""
    name, unit, opened = status.population, people.population.unit, book.opened
    fixed = (budget.cap.measure, budget.conversion_delta)
    held = opened is not None and (opened.unit, opened.neighbours)
    if held != (unit.name, unit.neighbours.value) or fixed != (
        status.measure,
        status.conversion_delta,
    ):
        raise InvalidValue(
            f"The ledger holds {name!r} with another unit, measure or delta, which never "
            f"change: {status.total} for one {opened.unit if opened else 'unit'}."
        )
    rise = Units.limit(budget.cap) - status.cap_units
    if not rise >= NO_UNITS:
        raise InvalidValue(
            f"The budget of {name!r} is {status.total}; a cap is raised, and never lowered."
        )
    decisions: list[tuple[str, Decision]] = []
    if rise != NO_UNITS:
        raised = CapRaised(rise.amount, rise.delta, "the project file says so")
        decisions.append((f"raise the cap by {rise.loss(status.measure)}", raised))
    decisions += [
        (f"add the owner {owner}", OwnerAdded(owner))
        for owner in people.owners
        if owner not in book.owners
    ]
    decisions += [
        (f"remove the owner {owner}", OwnerRemoved(owner))
        for owner in sorted(book.owners - set(people.owners))
    ]
    waiting = {proposed.decision: seq for seq, proposed in book.proposals.items()}
    for text, decision in decisions:
        if decision in waiting:
            place = waiting[decision]
            yield Change(name, f"{text}: proposal {place} waits for a second owner", None)
        else:
            yield Change(name, text, _proposal(name, decision))


def _proposal(name: str, decision: Decision) -> Make:
    return lambda acts: acts.propose(name, decision)


def _least(people: PopulationSettings, book: Book) -> Iterator[Change]:
    """The least price of a question, where the file says another than the ledger holds."""
    name, said = people.population.name, people.budget.least
    share = USUAL_SHARE if said is None else said
    if share != book.least_share:
        text = f"a question costs at least {plain(share)} of the cap"
        yield Change(name, text, lambda acts: acts.set_least(name, share))


def _quotas(people: PopulationSettings, status: Status, book: Book) -> Iterator[Change]:
    """Quotas that the file names; others stay as they are."""
    for holder, allowed in people.quotas:
        quota = quota_of(allowed, status)
        if Units.limit(quota) != book.quotas.get(holder):
            yield Change(
                status.population,
                f"the quota of {holder} is {quota}",
                lambda acts, holder=holder, quota=quota: acts.set_quota(  # type: ignore[misc]
                    status.population, holder, quota
                ),
            )


def _declared(
    project: Project, name: str, book: Book, tables: Tables | None
) -> Iterator[Change]:
    """What the file declares of a population's tables and the ledger does not hold."""
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
    moved = [] if recorded else ["+ which physical tables these are"]
    yield Change(name, "declare", None, tuple(gone + new + moved), said)


def _check_units(
    project: Project, population: str, before: Declaration, said: Declaration
) -> None:
    """Refuse to say of a table that was charged for that its rows are somebody else's."""
    for dataset in project.catalog.datasets:
        was, is_now = (unit_in(dataset.name, each.facts) for each in (before, said))
        if dataset.population == population and None is not was != is_now is not None:
            raise InvalidValue(
                f"Questions about {population!r} were charged while {was!r} was declared, and "
                f"now {is_now!r} is. The answers before protect another unit, so that no sum "
                "says what they cost one of these. Declare it as it was; or begin another "
                "ledger for the unit that you mean, and say of both what they protect."
            )


def _given_up(project: Project, ledger: LedgerReader, tables: Tables) -> Iterator[Change]:
    """Populations that the file no longer names, and whose tables it declares under others."""
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
                f"{min(taken & public)!r} is declared to be about nobody, and is a table of "
                f"the population {other!r}; take it out."
            )
        if taken:
            names = ", ".join(sorted(taken))
            text = f"give up its tables, of which this file declares {names} under another name"
            yield Change(other, text, None, (), Declaration())
