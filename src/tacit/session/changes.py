"""The differences between a project file and the ledger, and how an owner records them.

The first part converts the budgets and quotas of the file into losses that the ledger counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tacit.accounting import budget_within, show_loss, to_approximate_dp
from tacit.core import Budget, Loss, Measure, loss_text
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import (
    EVERYBODY,
    NO_UNITS,
    USUAL_SHARE,
    AmountTexts,
    Book,
    CapRaised,
    Decision,
    Declaration,
    Governing,
    OwnerAdded,
    OwnerRemoved,
    Proposed,
    Status,
    Units,
    lapse_text,
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

    def current_book(self, population: str) -> Book:
        """Return the current state that the entries of a population's chain add up to."""
        ...

    def waiting_proposals(self, population: str) -> dict[int, Proposed]:
        """Return the proposals that wait for a second owner, by number."""
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
    is_decision: bool = False
    """Whether the act raises the cap or changes the owners, which a second owner approves."""
    raises_cap: bool = False
    """Whether the act raises a cap, for which the ledger keeps a reason."""

    def __str__(self) -> str:
        return "\n  ".join((f"{self.population}: {self.text}", *self.details))

    @property
    def stops_questions(self) -> bool:
        """Whether a session needs this act to be recorded before it answers.

        A quota, a larger cap and other owners change no price and no answer. Until they are
        recorded, questions go on under what the ledger has.
        """
        return not (self.is_quota or self.is_decision)

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
    project: Project, ledger: LedgerReader, tables: Tables | None, reason: str = ""
) -> tuple[Change, ...]:
    """Return the changes that ``ledger`` has not recorded, in the order to record them.

    ``tables`` are the physical tables of the datasets. Without them, only the words of the
    declarations are compared. ``reason`` is recorded with a cap that is raised or lowered. A
    difference that no act can record is refused: another privacy unit, another measure, or a
    cap below what is spent.
    """
    found: list[Change] = []
    for people in project.people:
        found += changes_of(people, project, ledger, tables, reason)
    if tables is not None:
        found += _abandoned_populations(project, ledger, tables)
    return tuple(found)


def changes_of(
    people: PopulationSettings,
    project: Project,
    ledger: LedgerReader,
    tables: Tables | None,
    reason: str = "",
) -> Iterator[Change]:
    """Yield the changes of one population that ``ledger`` has not recorded."""
    name = people.population.name
    try:
        status, book = ledger.status(name), ledger.current_book(name)
    except UnknownName:
        budget = budget_of(people.budget)
        status, book = _unspent(name, budget), Book(name)
        yield _opening(people, budget, status)
    else:
        budget = budget_of(people.budget, status)
        waiting = {  # what nobody can approve any more is proposed again
            seq: each
            for seq, each in ledger.waiting_proposals(name).items()
            if book.can_approve(seq, each)
        }
        _check_fixed(people, budget, status, book)
        yield from _caps(budget, status, waiting, reason)
        yield from _owner_changes(people, book, waiting)
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


def _check_fixed(
    people: PopulationSettings, budget: Budget, status: Status, book: Book
) -> None:
    """Refuse another privacy unit, measure or delta than those of the ledger."""
    unit, opened = people.population.unit, book.opened
    fixed = (budget.cap.measure, budget.conversion_delta)
    held = opened is not None and (opened.unit, opened.neighbours)
    if held != (unit.name, unit.neighbours.value) or fixed != (
        status.measure,
        status.conversion_delta,
    ):
        raise InvalidValue(
            f"The ledger has {status.population!r} with another unit, measure or delta, and "
            f"these never change: {loss_text(status.total)} for one "
            f"{opened.unit if opened else 'unit'}. Write in the project file what the ledger "
            "has."
        )


def _caps(
    budget: Budget, status: Status, proposals: Mapping[int, Proposed], reason: str
) -> Iterator[Change]:
    """Yield a change if the file has a larger or a smaller cap than the ledger."""
    name, wanted = status.population, Units.limit(budget.cap)
    total = loss_text(to_approximate_dp(budget.cap, budget.conversion_delta))
    if wanted == status.cap_units:
        return
    if status.cap_units <= wanted:
        rise = wanted - status.cap_units
        raised = CapRaised(rise.amount, rise.delta, reason)
        unreasoned = CapRaised(rise.amount, rise.delta, "")
        said = AmountTexts.of(status).decision(unreasoned, status.cap_units)
        yield _decision(name, said, raised, proposals)
        return
    if not status.spent_units <= wanted:
        raise InvalidValue(
            f"{loss_text(status.total_so_far)} of the budget of {name!r} is spent, and a cap "
            "cannot be lowered below that: no charge is ever given back. Write a larger budget "
            "in the project file."
        )
    if not wanted <= status.cap_units:
        raise InvalidValue(
            f"The budget of {name!r} is {loss_text(status.total)}. A cap is either raised or "
            "lowered, and not one part of it each: change the amount first, and then the delta."
        )
    lower = wanted.loss(status.measure)
    yield Change(
        name,
        f"lower the cap to {total}",
        lambda acts: acts.lower_cap(name, lower, reason),
    )


def _owner_changes(
    people: PopulationSettings, book: Book, proposals: Mapping[int, Proposed]
) -> Iterator[Change]:
    """Yield the owners whom the file adds or removes."""
    name = people.population.name
    for owner in people.owners:
        if owner not in book.owners:
            yield _decision(name, f"add the owner {owner}", OwnerAdded(owner), proposals)
    for owner in sorted(book.owners - set(people.owners)):
        yield _decision(name, f"remove the owner {owner}", OwnerRemoved(owner), proposals)


def _decision(
    name: str, text: str, decision: Decision, proposals: Mapping[int, Proposed]
) -> Change:
    """Return the change by which a decision is proposed, or on which it waits."""
    for place, each in proposals.items():
        if _effect_of(each.decision) == _effect_of(decision):
            until = lapse_text(each)
            said = f"{text}: proposal {place} waits for a second owner{until}"
            step = _next_step(name, place, each.by)
            return Change(name, said, None, (step,), is_decision=True)
    make = _proposal(name, decision)
    raises = isinstance(decision, CapRaised)
    return Change(name, text, make, is_decision=True, raises_cap=raises)


def _effect_of(decision: Decision) -> Decision:
    """Return a decision without its reason, by which the file and a proposal are compared."""
    return replace(decision, reason="") if isinstance(decision, CapRaised) else decision


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
        book = ledger.current_book(other)
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
