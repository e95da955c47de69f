"""What the project file proposes and the ledger does not hold yet, act by act."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tacit.core.budget import Budget
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.act import CapRaised, Decision, OwnerAdded, OwnerRemoved
from tacit.ledger.book import Book
from tacit.ledger.least import USUAL_SHARE
from tacit.ledger.ledger import Ledger
from tacit.ledger.status import Status
from tacit.ledger.units import NO_UNITS, Units
from tacit.numeric.exact import plain
from tacit.project.facts import facts_of
from tacit.project.people import People
from tacit.project.project import Project
from tacit.session.budgets import budget_of, quota_of

Make = Callable[[Ledger, str], object]
"""Records an act in a ledger, in the name of an owner."""


@dataclass(frozen=True, slots=True)
class Change:
    """An act of an owner, in words.

    ``details`` are the facts that it adds and takes away. One that a second owner has yet to
    approve is told of, and not made again: ``make`` is None.
    """

    text: str
    make: Make | None
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n  ".join((self.text, *self.details))


def changes(project: Project, ledger: Ledger) -> tuple[Change, ...]:
    """What is missing in ``ledger``, in the order in which it is to be made.

    What no act can change is refused: who is protected, the measure, and a cap made lower.
    """
    found: list[Change] = []
    for people in project.people:
        name, budget = people.population.name, budget_of(people.budget)
        try:
            status, book = ledger.status(name), ledger.book(name)
        except UnknownName:
            status, book = _unspent(name, budget), Book(name)
            found.append(_opening(people, budget, status))
        else:
            found += _decided(people, budget, status, book)
        found += _least(people, book)
        found += _quotas(people, status, book)
        found += _facts(name, facts_of(project.catalog, name), book.declared)
    return tuple(found)


def _unspent(name: str, budget: Budget) -> Status:
    cap = Units.limit(budget.cap)
    return Status(name, budget.cap.measure, budget.conversion_delta, cap, NO_UNITS)


def _opening(people: People, budget: Budget, status: Status) -> Change:
    return Change(
        f"{status.population}: open a budget of {status.total} for {people.population.unit}; "
        f"owned by {', '.join(people.owners)}",
        lambda ledger, by: ledger.open_budget(people.population, budget, people.owners, by=by),
    )


def _decided(people: People, budget: Budget, status: Status, book: Book) -> Iterator[Change]:
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
            yield Change(f"{name}: {text}: proposal {place} waits for a second owner", None)
        else:
            yield Change(f"{name}: {text}", _proposal(name, decision))


def _proposal(name: str, decision: Decision) -> Make:
    return lambda ledger, by: ledger.propose(name, decision, by=by)


def _least(people: People, book: Book) -> Iterator[Change]:
    """The least price of a question, where the file says another than the ledger holds."""
    name, said = people.population.name, people.budget.least
    share = USUAL_SHARE if said is None else said
    if share != book.least_share:
        text = f"{name}: a question costs at least {plain(share)} of the cap"
        yield Change(text, lambda ledger, by: ledger.set_least(name, share, by=by))


def _quotas(people: People, status: Status, book: Book) -> Iterator[Change]:
    """Quotas that the file names; others stay as they are."""
    for holder, allowed in people.quotas:
        quota = quota_of(allowed, status)
        if Units.limit(quota) != book.quotas.get(holder):
            yield Change(
                f"{status.population}: the quota of {holder} is {quota}",
                lambda ledger, by, holder=holder, quota=quota: ledger.set_quota(  # type: ignore[misc]
                    status.population, holder, quota, by=by
                ),
            )


def _facts(name: str, facts: tuple[str, ...], declared: tuple[str, ...]) -> Iterator[Change]:
    if facts != declared:
        gone = [f"- {fact}" for fact in declared if fact not in facts]
        new = [f"+ {fact}" for fact in facts if fact not in declared]
        yield Change(
            f"{name}: declare",
            lambda ledger, by: ledger.declare(name, facts, by=by),
            tuple(gone + new),
        )
