"""How much a question may lose, in the words of whoever asks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from tacit.accounting import rho_within
from tacit.core import Answer, BudgetSummary, Loss, Measure, ReleasedColumn, round_loss_up
from tacit.engines import describe_execution
from tacit.errors import InvalidValue
from tacit.frame import FrameQuery as Asked
from tacit.ledger import Status, Terms, Units
from tacit.numeric import Number, exact
from tacit.plan import Field, bound, canonical, source_of
from tacit.query import SIZES, Advice, Expected, Quote, advice_on, check_sizes, expected_errors
from tacit.render import cell, html, text
from tacit.session.ask import ask, priced, standing_of
from tacit.session.curator import Curator
from tacit.sql import show

PARTS = 10
"""A quote for no stated amount is one for this part of the cap."""


def loss_for(
    terms: Terms,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number = 0,
) -> Loss:
    """The loss that is asked for, in the measure of the population's budget.

    Under zCDP an epsilon means the rho whose conversion at the budget's delta is that epsilon.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidValue("Say how much to spend, by one of them: epsilon=0.2 or rho=0.001.")
    if terms.measure is Measure.ZCDP:
        amount = (
            exact(rho) if rho is not None else _rho(terms.conversion_delta, exact(epsilon or 0))
        )
        return _asked(Loss(Measure.ZCDP, amount, exact(delta)))
    if epsilon is None:
        raise InvalidValue(
            f"The budget of {terms.population!r} counts in epsilon: ask with epsilon=0.2."
        )
    return _asked(Loss(terms.measure, exact(epsilon), exact(delta)))


def tenth(status: Status) -> Loss:
    """A tenth of the cap, for a quote that names no amount."""
    units = Units(status.cap_units.amount // PARTS, status.cap_units.delta // PARTS)
    return units.loss(status.measure)


@lru_cache(maxsize=256)
def _rho(conversion_delta: Fraction, epsilon: Fraction) -> Fraction:
    """The rho for an epsilon, which is searched for, and asked for again and again."""
    if epsilon <= 0:
        return Fraction(0)  # refused with all others that are nothing
    Units.limit(Loss.pure(epsilon))  # refused beyond what a ledger counts, and floats hold
    return rho_within(epsilon, conversion_delta)


def _asked(loss: Loss) -> Loss:
    if loss.amount <= 0:
        raise InvalidValue("A question costs something: ask with an amount above 0.")
    return loss


# ------------------------------------------------------------------ preview
# What a quote shows: the price, the errors to expect, and what would be cheaper.

SHOWN_PERCENT = "95%"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A quote as it is shown: free, and the same whatever stands in the tables."""

    quote: Quote
    standing: BudgetSummary
    assume_size: tuple[int, ...] = SIZES
    """Rows of a group for which errors are told, where they depend on it."""
    least: bool = False
    """Whether less was asked for than a question costs at least."""

    def __post_init__(self) -> None:
        check_sizes(self.assume_size)

    @property
    def errors(self) -> tuple[Expected, ...]:
        """What each column misses by at most, with 95%; computed columns are not among them."""
        found = {
            Field(each.name): each for each in expected_errors(self.quote, self.assume_size)
        }
        shown = self.quote.question.post.outputs
        return tuple(
            replace(found[output.expression], name=output.name)
            for output in shown
            if output.expression in found
        )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What would answer the same with less noise."""
        return advice_on(self.quote)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        standing, lines = self.standing, []
        fits = f"{standing.more} such questions fit" if standing.more != 1 else "1 such fits"
        spent = f"{round_loss_up(standing.spent)} of {round_loss_up(standing.cap)}"
        lines.append(f"Price: {round_loss_up(standing.cost)}; about {fits}.")
        if self.least:
            lines.append("This is the least price of a question; less noise comes with it.")
        lines.append(f"Spent about {standing.population}: {spent}.")
        if self.quote.survival:
            lines.append(
                "Groups are not public: of "
                + ", ".join(
                    f"{units} {self.quote.population.unit.name}s {_percent(probability)}"
                    for probability, units in self.quote.survival
                )
                + " are shown."
            )
        lines += [f"Cheaper: {each}." for each in self.advice]
        lines += [f"It assumes that {each}." for each in self.quote.assumptions]
        return tuple(lines)

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The table of errors, as it is shown."""
        names = tuple(each.name for each in self.errors)
        misses = tuple(_missed(each) for each in self.errors)
        heading = f"misses by at most, with {SHOWN_PERCENT}"
        return ReleasedColumn("column", names), ReleasedColumn(heading, misses)


def _missed(each: Expected) -> str:
    if each.always is not None:
        return _about(each.always)
    return ", ".join(f"{_about(error)} at {size} rows" for size, error in each.by_size)


def _about(error: Fraction) -> str:
    return cell(error, (Fraction(0), 2 * error))


def _percent(probability: Fraction) -> str:
    return f"{float(100 * probability):.3g}%"


# ------------------------------------------------------------------ question
# A question in a session: what it would cost and miss by, and its answer.


@dataclass(frozen=True, slots=True, repr=False)
class Question(Asked):
    """A plan, and who can answer it. Nothing is read or charged until `ask`."""

    curator: Curator

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        assume_size: Sequence[int] = SIZES,
    ) -> Preview:
        """What answering would cost and miss by: free, and without data.

        Without an amount it is a quote for a tenth of the budget. Errors that depend on how
        many rows a group has are told for groups of ``assume_size``.
        """
        status = self.status()
        named = epsilon is not None or rho is not None
        asked = loss_for(status.terms, epsilon, rho, delta) if named else tenth(status)
        loss = status.terms.apply_least_price(asked)
        quote = priced(self.curator, self.plan, loss)
        return Preview(
            quote, standing_of(status, quote, paid=True), tuple(assume_size), loss != asked
        )

    def explain(self) -> str:
        """How it would be answered, and what would make that faster: free, and without data."""
        plan = bound(canonical(self.plan).plan, self.curator.catalog).plan
        return describe_execution(plan, self.curator.catalog)

    def ask(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        request: str | None = None,
    ) -> Answer:
        """The answer, paid for before any data is touched; the same again is free.

        A ``delta`` is for groups whose keys are not public. Where an answer was lost, the same
        question says so; a ``request`` under a new name pays for a new answer.
        """
        loss = self.loss(epsilon=epsilon, rho=rho, delta=delta)
        return ask(self.curator, self.plan, loss, request)

    def loss(
        self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number = 0
    ) -> Loss:
        """What it may lose, in the measure of the budget of the people that it is about.

        Less than the least price of a question is raised to it.
        """
        terms = self.curator.terms(self._population())
        return terms.apply_least_price(loss_for(terms, epsilon, rho, delta))

    def __repr__(self) -> str:
        return show(self.plan, self.curator.catalog)

    def status(self) -> Status:
        """Where the budget of the people stands that it is about."""
        return self.curator.home.ledger.status(self._population(), self.curator.principal)

    def _population(self) -> str:
        catalog = self.curator.catalog
        return catalog.dataset(source_of(self.plan.source, catalog).dataset).population
